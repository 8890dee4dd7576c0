"""The wheel as a user has it: in an environment of its own, without Rust, with the network off."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench.errors import PlanError
from kneebench.plan.preset import presets

ROOT = Path(__file__).parent.parent
PIP = ROOT / ".tools/bin/pip"
OFFLINE = ["unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]
PLAN = """
[workload]
warehouses = 1
[storages]
disk = { path = "disk" }
"""
NOTEBOOK_PACKAGES = ("ipykernel", "nbclient", "nbformat", "pandas", "polars")
NOTEBOOK = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, kernel_name="python3", timeout=600).execute()
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can switch the network off"),
    pytest.mark.skipif(not PIP.exists(), reason="make has not set up its tools here"),
]


def run(words: list[str], place: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=place, env={**os.environ, **variables}, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this machine, as `make dist` builds it from the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    machine = platform.machine()
    built = run(["make", "dist", f"DIST={folder}", f"ARCHITECTURES={machine}"], ROOT)
    assert built.returncode == 0, built.stderr
    [found] = folder.glob(f"*-abi3-manylinux_2_28_{machine}.whl")
    return found


@pytest.fixture(scope="module")
def wheelhouse(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and all that it needs, in the versions of the lock file."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    pinned = re.findall(r"^[a-z][^ ]+==[^\\\n]+", (ROOT / "requirements.lock").read_text(), re.M)
    (folder / "constraints.txt").write_text("\n".join(pinned))
    wanted = [f"{wheel}[live,pdf]", *NOTEBOOK_PACKAGES]
    words = [PIP, "download", "--quiet", "--only-binary=:all:", "-c", "constraints.txt", *wanted]
    got = run(list(map(str, words)), folder)
    if "Could not fetch" in got.stderr or "Failed to establish" in got.stderr:
        pytest.skip("no index of packages can be reached")
    assert got.returncode == 0, got.stderr
    return folder


class Installation:
    """An environment in a directory that every account can read, and commands in it."""

    def __init__(self, place: Path, wheelhouse: Path) -> None:
        self.place, self.binaries = place, place / "environment" / "bin"
        subprocess.run([sys.executable, "-m", "venv", place / "environment"], check=True)
        self._variables = {
            "PATH": f"{self.binaries}:/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONPATH": "",
            "PIP_NO_INDEX": "1",
            "PIP_ONLY_BINARY": ":all:",
            "PIP_FIND_LINKS": str(wheelhouse),
            "XDG_STATE_HOME": str(place / "state"),
        }

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command with the network off."""
        return run([*OFFLINE, *words], self.place, **self._variables)

    def printed(self, *words: str) -> str:
        """What a command prints that succeeds."""
        done = self.call(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(wheelhouse: Path) -> Iterator[Installation]:
    with tempfile.TemporaryDirectory(prefix="kneebench-installed-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        made = Installation(place, wheelhouse)
        made.printed("python", "-m", "pip", "install", "--quiet", "kneebench")
        yield made


def test_the_command_starts_and_prints_its_version_and_presets(installed: Installation) -> None:
    assert re.fullmatch(r"kneebench \d+\.\d+\.\d+\n", installed.printed("kneebench", "--version"))
    for name in presets():
        assert "[" in installed.printed("kneebench", "plan", "preset", name)


def test_a_simulated_campaign_ends_with_its_brief(installed: Installation) -> None:
    plan = installed.printed("kneebench", "plan", "preset", "simulated")
    (installed.place / "simulated.toml").write_text(plan)
    shown = installed.printed("kneebench", "run", "simulated.toml")
    [brief] = installed.place.glob("kneebench-results/*/brief.html")
    assert brief.name in shown and "<svg" in brief.read_text()


def test_the_embedded_server_is_checked_and_measured(installed: Installation) -> None:
    (installed.place / "disk").mkdir()
    (installed.place / "plan.toml").write_text(PLAN)
    assert "Ready: 0 errors" in installed.printed("kneebench", "check", "plan.toml")
    short = installed.printed(
        "kneebench", "run", "plan.toml", "--users", "2", "--for", "2s", "--out", "real"
    )
    assert "NOPM" in short
    assert list(installed.place.glob("real/*/brief.html"))


def test_a_missing_extra_is_installed_by_the_command_that_is_printed(
    installed: Installation,
) -> None:
    refused = installed.call("kneebench", "brief", "latest", "--pdf")
    assert refused.returncode == PlanError.exit_code
    installed.printed("sh", "-c", refused.stderr.partition("install it with: ")[2])
    path = installed.printed("kneebench", "brief", "latest", "--pdf").strip()
    assert (installed.place / path).read_bytes().startswith(b"%PDF")


def test_the_man_page_is_found_beside_the_command(installed: Installation) -> None:
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    assert "KNEEBENCH(1)" in installed.printed("man", "kneebench")


@pytest.mark.parametrize("notebook", sorted((ROOT / "docs").rglob("*.ipynb")), ids=str)
def test_a_notebook_of_the_documentation_runs(installed: Installation, notebook: Path) -> None:
    installed.printed("python", "-m", "pip", "install", "--quiet", *NOTEBOOK_PACKAGES)
    shutil.copy(notebook, installed.place)
    installed.printed("python", "-c", NOTEBOOK, notebook.name)
