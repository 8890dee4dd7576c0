"""The program that ssh starts on a host: it says what the host is, has kneebench's own files sent
where they are not there yet, and then does what its controller orders until that is gone.

It is sent as text, after pipe.py, and imports the standard library alone. It writes below the
account's cache directory only.
"""

import base64
import contextlib
import importlib
import io
import os
import pathlib
import platform
import shutil
import sys
import tarfile
import time
from typing import Any

PROTOCOL = 1
"""Of the messages; another one is refused."""
WAIT_S = 60.0
"""For the controller's first messages."""
KEEP_S = 30 * 86_400.0
"""So long files of another kneebench stay."""


def facts() -> dict[str, Any]:
    """What a controller must know before it sends anything."""
    return {
        "protocol": PROTOCOL,
        "python": list(sys.version_info[:3]),
        "machine": platform.machine(),
        "host": platform.node(),
        "kernel": platform.release(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "root": os.geteuid() == 0,
        "pid": os.getpid(),
    }


def cache() -> pathlib.Path:
    """Where kneebench's files are kept on a host."""
    given = os.environ.get("XDG_CACHE_HOME")
    return pathlib.Path(given or pathlib.Path.home() / ".cache") / "kneebench" / "agents"


def require_ours(folder: pathlib.Path) -> None:
    """Raises OSError where another user could put programs into the cache, for us to run."""
    for one in (folder.parent, *folder.parent.parents):
        if not os.path.lexists(one):
            continue
        if one.lstat().st_uid not in (0, os.geteuid(), pathlib.Path("/").stat().st_uid):
            raise PermissionError(f"{one} belongs to another user; set HOME or XDG_CACHE_HOME")


def unpack(package: str, folder: pathlib.Path) -> None:
    """Make the folder of a package: whole, or not at all."""
    partly = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        partly.mkdir(parents=True, mode=0o700)
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(package))) as files:
            files.extractall(partly)  # noqa: S202 (by ssh, from whoever may run anything here)
        partly.rename(folder)
    except OSError:
        if not folder.is_dir():  # another one made it meanwhile
            raise
    finally:
        shutil.rmtree(partly, ignore_errors=True)


def forget_old(folder: pathlib.Path) -> None:
    """Remove what other kneebenches left a month ago."""
    os.utime(folder)
    for other in folder.parent.iterdir():
        if other != folder and other.stat().st_mtime < time.time() - KEEP_S:
            shutil.rmtree(other, ignore_errors=True)


def begin(pipe: Any) -> None:
    """Agree with the controller on what runs, and run it."""
    pipe.send(facts())
    order = pipe.receive(WAIT_S)
    folder = cache() / order["package"] if order["package"] else None
    there = folder is None or folder.is_dir()
    pipe.send({"there": there})
    try:
        files = "" if there else pipe.receive(WAIT_S)["files"]
        if folder:
            require_ours(folder)
            if not there:
                unpack(files, folder)
            forget_old(folder)
            sys.path.insert(0, str(folder))
        program = importlib.import_module(order["program"])
    except (OSError, ImportError) as error:
        pipe.send({"failed": f"{type(error).__name__}: {error}"})
        return
    pipe.send({"ready": order["program"]})
    program.serve(pipe)


def main(pipe_class: Any) -> None:
    """Messages come in by the standard input and go out by what was the standard output; whatever
    else is printed goes to the errors.
    """
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    pipe = pipe_class(sys.stdin.buffer, out)
    with contextlib.suppress(EOFError, TimeoutError, OSError):  # the controller is no longer there
        begin(pipe)
    sys.stderr.flush()
    os._exit(0)
