"""Trace of a server's log writes: bpftrace(8) beside the server, which times the system calls of
each flush in the kernel.

It runs as long as the server, because it needs one to three seconds and most of a CPU second to
attach: a database warms up meanwhile. Its counts are cumulative and printed four times per second,
so the edges of a window are off by an eighth of a second on average. Only files in the log's
directory count, and only calls of the server's first process and that one's children: other servers
write to logs of their own. A killed kneebench leaves nothing behind, because bpftrace ends when
nobody reads what it prints.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kneebench.databases.engine import LogCalls, Server, WritesLogHere
from kneebench.lab.drives import IN_MEMORY, visible_mounts
from kneebench.lab.own_devices import OWN_MOUNTS, without_volumes
from kneebench.lab.programs import environment, found

PROGRAM_NAME = "bpftrace"
TYPES = Path("/sys/kernel/btf/vmlinux")
"""The kernel's own types, by which a program finds the file of a call."""
TRACEFS = Path("/sys/kernel/tracing")
MACHINES_PIDS = 0xEFFFFFFC
"""The inode of the first PID namespace (PROC_PID_INIT_INO): the kernel reports its process ids."""
ELSEWHERE = "the server's files and processes are not this machine's to see"
TOO_FAST = "the log is in memory, where timing a flush takes as long as the flush"
NO_TRACE = "none was started beside the server"
BEGIN = """
tracepoint:syscalls:sys_enter_{call}
/pid == $1 || ((struct task_struct *)curtask)->real_parent->tgid == $1/ {{
  $files = ((struct task_struct *)curtask)->files->fdt->fd;
  $file = *(uint64 *)((uint64)$files + 8 * args->fd);
  if (((struct file *)$file)->f_path.dentry->d_parent->d_inode->i_ino == $2) {{
    @began[tid] = nsecs;
  }}
}}"""
WRITTEN = """
tracepoint:syscalls:sys_exit_{call} /@began[tid]/ {{
  @written += nsecs - @began[tid];
  delete(@began[tid]);
}}"""
FLUSHED = """
tracepoint:syscalls:sys_exit_{call} /@began[tid]/ {{
  $ns = nsecs - @began[tid] + @written;
  delete(@began[tid]);
  @written = 0;
  @all = stats($ns);
  $shift = (uint64)0; $top = $ns;
  if ($top >> 37) {{ $top = $top >> 32; $shift = $shift + 32; }}
  if ($top >> 21) {{ $top = $top >> 16; $shift = $shift + 16; }}
  if ($top >> 13) {{ $top = $top >> 8; $shift = $shift + 8; }}
  if ($top >> 9) {{ $top = $top >> 4; $shift = $shift + 4; }}
  if ($top >> 7) {{ $top = $top >> 2; $shift = $shift + 2; }}
  if ($top >> 6) {{ $top = $top >> 1; $shift = $shift + 1; }}
  @buckets[32 * $shift + $top] = count();
}}"""
"""The buckets are those of analysis/log_histogram.py."""
PRINTED = """
interval:ms:250 { print(@all); print(@buckets); printf("%lu\\n", nsecs); }"""


class Missing(NamedTuple):
    """What prevents a trace on this machine, and what to do about it."""

    seen: str
    do: str

    def __str__(self) -> str:
        return f"{self.seen}; {self.do}"


def missing() -> Missing | None:
    """The first thing that is missing for a trace; None where one should be possible."""
    if os.geteuid() != 0:
        return Missing("only root may trace system calls", "run kneebench as root")
    if not found(PROGRAM_NAME):
        return Missing(f"{PROGRAM_NAME} is missing", f"install {PROGRAM_NAME} (package of Debian)")
    if not TYPES.exists():
        return Missing(
            f"the kernel has no {TYPES}", "use a kernel with BTF (CONFIG_DEBUG_INFO_BTF)"
        )
    if Path("/proc/self/ns/pid").stat().st_ino != MACHINES_PIDS:
        return Missing("the container has process ids of its own", "run kneebench outside of it")
    return None


class Flushes(NamedTuple):
    """Flushes since the trace began: how many, their time together, and how many by bucket."""

    n: int
    sum_ns: int
    counts: Mapping[int, int]


class LogTrace:
    """A running trace. `seen` is None until it is attached, and after it ended too early."""

    def __init__(self, calls: LogCalls, first: int) -> None:
        """Start it; raises OSError where the log's directory is not there."""
        arguments = [program(calls), str(first), str(calls.directory.stat().st_ino)]
        self.seen: Flushes | None = None
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the trace)
        self._process = subprocess.Popen(
            [*_program(), "-q", "-f", "json", "-B", "line", "-e", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment(),
            process_group=0,
        )
        self._thread = threading.Thread(target=self._follow, name="log trace", daemon=True)
        self._thread.start()

    @property
    def why_not(self) -> str:
        """The last line that it printed if it ended too early; empty while it runs."""
        if self._process.poll() is None:
            return ""
        self._errors.seek(0)
        lines = self._errors.read().split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{PROGRAM_NAME} ended: {said or f'exit code {self._process.returncode}'}"

    def close(self) -> None:
        """End it; the kernel removes its programs with the process."""
        self._process.kill()
        self._process.wait()
        self._thread.join()
        self._errors.close()

    def _follow(self) -> None:
        """Read what it prints, in its order: the sums, the buckets, the time. Its end may cut off
        the last line.
        """
        assert self._process.stdout
        printed: dict[str, Any] = {}
        with self._process.stdout as lines, contextlib.suppress(json.JSONDecodeError):
            for line in lines:
                one = json.loads(line)
                if one["type"] != "printf":
                    printed |= one["data"]
                    continue
                sums = printed.get("@all") or {"count": 0, "total": 0}
                counts = {int(key): n for key, n in (printed.get("@buckets") or {}).items()}
                self.seen = Flushes(sums["count"], sums["total"], counts)
        self.seen = None


def program(calls: LogCalls) -> str:
    """The program for these calls: arguments are the first process and the directory's inode."""
    parts = [BEGIN.format(call=call) for call in dict.fromkeys((calls.write, calls.sync))]
    if calls.write != calls.sync:
        parts.append(WRITTEN.format(call=calls.write))
    return "".join((*parts, FLUSHED.format(call=calls.sync), PRINTED))


def _program() -> Sequence[str]:
    """The command; where tracefs is not mounted, bpftrace gets it in mounts of its own."""
    if any(TRACEFS.iterdir()):
        return (PROGRAM_NAME,)
    mounting = f'{without_volumes()}mount -t tracefs tracefs {TRACEFS} && exec "$@"'
    return (*OWN_MOUNTS, "sh", "-c", mounting, "sh", PROGRAM_NAME)


@contextlib.contextmanager
def log_trace(server: Server) -> Iterator[LogTrace | str]:
    """A trace of this server until the end of the block; or why there is none."""
    trace = _start(server)
    try:
        yield trace
    finally:
        if isinstance(trace, LogTrace):
            trace.close()


def _start(server: Server) -> LogTrace | str:
    calls = server.log_calls() if isinstance(server, WritesLogHere) else ELSEWHERE
    if isinstance(calls, str):
        return calls
    if lacking := missing():
        return str(lacking)
    try:
        first = server.processes()[0]
        return TOO_FAST if _in_memory(calls.directory, first) else LogTrace(calls, first)
    except (OSError, IndexError) as error:  # such as a server that has just ended
        return str(error)


def _in_memory(directory: Path, first: int) -> bool:
    """Whether the log is memory-backed, by the mounts of the server."""
    device = directory.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    seen = visible_mounts(Path(f"/proc/{first}"))
    return any(one.device == number and one.type in IN_MEMORY for one in seen)
