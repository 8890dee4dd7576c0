"""A Linux of our own, as an ordinary process (Debian: user-mode-linux): it has md and the device
mapper where the host's kernel has none.

Its root is the host's, read only. Its drives are files in the test's directory.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MODULES = next(iter(sorted(Path("/usr/lib/uml/modules").glob("*/kernel/drivers"))), Path("/none"))
LIMIT_S = 240
ANSWER = "kneebench-answers "
INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
for module in {modules}; do insmod $module; done
if test -w {script}; then echo "the host's files are not read only"
else {variables} {python} {script} 2>&1; fi
echo o > /proc/sysrq-trigger
sleep 60
"""
needs_uml = pytest.mark.skipif(
    not (Path("/usr/bin/linux").exists() and MODULES.exists()), reason="needs user-mode-linux"
)


def answers(place: Path, script: Path, drives: list[int], modules: list[str]) -> dict[str, Any]:
    """What the Python script printed in it, line by line: ANSWER, a name, JSON. `drives`: the bytes
    of /dev/ubda, /dev/ubdb, ...; `modules` of the kernel, below drivers.
    """
    images = []
    for letter, size in zip("abcdefgh", drives, strict=False):
        image = place / f"{letter}.img"
        with image.open("wb") as file:
            file.truncate(size)
        images.append(f"ubd{letter}={image}")
    init = place / "init"
    init.write_text(_init(script, modules))
    init.chmod(0o755)
    consoles = ("con=null", "con0=null,fd:1", "con1=null")
    root = ("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", f"init={init}")
    printed = _printed(["/usr/bin/linux", "mem=384M", *root, *consoles, *images], place)
    lines = [line.strip() for line in printed.splitlines()]
    found = [line.removeprefix(ANSWER) for line in lines if line.startswith(ANSWER)]
    assert found, printed
    named = (line.partition(" ") for line in found)
    return {name: json.loads(text) for name, _, text in named} | {"printed": printed}


def _init(script: Path, modules: list[str]) -> str:
    variables = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_STATE_HOME": "/run/state",
        "HOME": "/run",
        "TMPDIR": "/run",
    }
    return INIT.format(
        modules=" ".join(str(MODULES / f"{name}.ko") for name in modules),
        variables=" ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items()),
        python=shlex.quote(sys.executable),
        script=shlex.quote(str(script)),
    )


def _printed(command: list[str], place: Path) -> str:
    """What its console shows until it powers off; it is killed where it does not."""
    environment = {**os.environ, "HOME": str(place), "TMPDIR": str(place)}
    with (place / "console").open("w+b") as console:
        running = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            running.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        console.seek(0)
        return console.read().decode(errors="replace")
