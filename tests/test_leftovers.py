"""What a killed suite left is found and removed by the next, and nothing of one that runs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from kneebench.lab.programs import wait_until
from tests import leftovers

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices")
SUITE = """
import subprocess, sys, tempfile, time
from pathlib import Path
from tests import leftovers

folder = Path(leftovers.folder("kills"))
image = folder / "drive"
image.touch()
subprocess.run(["truncate", "--size=16M", image], check=True)
subprocess.run(["mkfs.ext4", "-q", image], check=True)
(folder / "mounted").mkdir()
found = subprocess.run(
    ["losetup", "--find", "--show", image], check=True, capture_output=True, text=True
)
device = found.stdout.strip()
subprocess.run(["mount", device, folder / "mounted"], check=True)
up = ["sh", "-c", "echo up; kill -STOP $$"]
server = subprocess.Popen(up, cwd="/", start_new_session=True, stdout=subprocess.PIPE)
server.stdout.readline()
print(folder, device, server.pid, flush=True)
time.sleep(600)
"""


@needs_root
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "running"])
def test_the_next_suite_removes_what_a_killed_one_left(killed: bool) -> None:
    """A server of its own session, a mounted file system, its loop device, the folder."""
    ours = {name: value for name, value in os.environ.items() if name != leftovers.NAME}
    suite = subprocess.Popen([sys.executable, "-c", SUITE], env=ours, stdout=subprocess.PIPE)
    assert suite.stdout is not None
    folder, device, server = suite.stdout.readline().decode().split()
    file = Path("/sys/block") / Path(device).name / "loop" / "backing_file"

    def there() -> list[bool]:
        mounted = folder in Path("/proc/self/mounts").read_text()
        return [Path(folder).exists(), file.exists(), mounted, _runs(int(server))]

    try:
        assert there() == [True] * 4
        if killed:
            suite.kill()
            suite.wait()
        leftovers.remove()
        assert wait_until(lambda: there() == [not killed] * 4, 5), there()
    finally:
        suite.kill()
        suite.wait()
        leftovers.remove()
    assert wait_until(lambda: there() == [False] * 4, 5), there()


def _runs(process: int) -> bool:
    """Not where it only waits for init to take note of its end."""
    with contextlib.suppress(psutil.Error):
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    return False
