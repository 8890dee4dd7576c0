"""The controller's end: a program on a host, started by the system's ssh, or here."""

from __future__ import annotations

import contextlib
import itertools
import platform
import re
import shlex
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import IO, Any, Self

from kneebench.errors import KneebenchError, PlanError
from kneebench.hosts.host_program import PROTOCOL
from kneebench.hosts.package import Package, program_text
from kneebench.hosts.pipe import Message, Pipe
from kneebench.units import size

CONNECT_S = 15.0
"""For a host to answer."""
SEND_S = 120.0
"""For kneebench's files to arrive and to be unpacked."""
ANSWER_S = 4.0
"""For the answer to an order, beyond what the order itself takes."""
BEAT_S = 1.0
"""Between two signs of life."""
END_S = 5.0
OLDEST_PYTHON = (3, 11)
SAME = 'name a Python {} there with python = "...", or run kneebench here with that of the host'
SSH = (
    "ssh",
    "-T",
    *("-o", "BatchMode=yes"),
    *("-o", f"ConnectTimeout={CONNECT_S:.0f}"),
    *("-o", "ServerAliveInterval=1"),
)
"""With the user's own configuration, agent and known hosts. It asks for nothing."""
SILENT_S = 3
"""So long a load host may be silent, before ssh ends the connection within a second."""


class HostLost(KneebenchError):
    """A host no longer answers."""

    exit_code = 3

    def __init__(self, name: str, seen: str, doing: str = "") -> None:
        self.name = name
        what = f"host {name} was lost{f' {doing}' if doing else ''}"
        do = "see whether it is up and reachable; the same command resumes there"
        super().__init__(what, seen=seen, do=do)


class HostLine(ABC):
    """A load agent on another machine, however it is reached. It ends with the block."""

    name: str
    facts: dict[str, Any]

    @abstractmethod
    def begin(self, do: str, **values: object) -> int:
        """Order something; `result` has what comes of it, by this number. Raises HostLost."""

    @abstractmethod
    def result(self, number: int, limit_s: float = 0.0) -> Message:
        """What came of an order; `limit_s`: what the order itself may take. Raises HostLost."""

    @abstractmethod
    def close(self) -> None:
        """End it."""

    def ask(self, do: str, limit_s: float = 0.0, **values: object) -> Message:
        """Order something and wait for what comes of it. Raises HostLost."""
        return self.result(self.begin(do, **values), limit_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


BOOT = (
    "import sys;sys.path[:]=sys.path[1:];"
    "exec(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())))"
)
"""What Python is started with: it runs the program that follows on its input, and imports nothing
from the directory it is started in."""


def by_ssh(destination: str, python: str, silent_s: int = SILENT_S) -> list[str]:
    """The command that runs the program on another host, which is given up after so long."""
    patience = ("-o", f"ServerAliveCountMax={silent_s}")
    program = f"{shlex.quote(python)} -u -c {shlex.quote(BOOT)}"
    return [*SSH, *patience, "--", destination, program]


def here() -> list[str]:
    """The command that runs it on this machine."""
    return [sys.executable, "-u", "-c", BOOT]


class Connection(HostLine):
    """A program on a host that answers orders in turn. To be used with `with`: it ends with it."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        program: str,
        package: Package,
        end_s: float = END_S,
    ) -> None:
        """Start it; `end_s`: for it to end with its input. Raises PlanError for a host that cannot
        be reached, or cannot run it.
        """
        self.name, self._command, self._end_s = name, command, end_s
        self._numbers = itertools.count(1)
        self._words: list[str] = []
        self._over = threading.Event()
        self._process = process = _started(name, command)
        if not (process.stdin and process.stdout and process.stderr):
            raise AssertionError("the process has pipes")
        self._hearing = threading.Thread(target=self._hear, args=(process.stderr,), daemon=True)
        self._hearing.start()
        self._pipe = Pipe(process.stdout, process.stdin)
        try:
            self.facts = self._greeted(program, package)
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._beat, daemon=True).start()

    def _greeted(self, program: str, package: Package) -> dict[str, Any]:
        """What the host is, once the program runs there."""
        to_one_that_ended = contextlib.suppress(BrokenPipeError)  # why is read next
        with to_one_that_ended:
            self._pipe.send_text(program_text())
        facts = self._said(CONNECT_S)
        require_fit(self.name, facts, package)
        with to_one_that_ended:
            self._pipe.send({"package": package.name, "program": program})
        if not self._said(CONNECT_S)["there"]:
            with to_one_that_ended:
                self._pipe.send({"files": package.packed()})
        began = self._said(SEND_S)
        if words := began.get("failed"):
            room = size(package.size_bytes)
            do = f"make room for {room} below ~/.cache of that account on {self.name}, or see why"
            raise PlanError(f"cannot run kneebench on host {self.name}", seen=words, do=do)
        return facts

    def _said(self, limit_s: float) -> Message:
        try:
            return self._pipe.receive(limit_s)
        except (EOFError, TimeoutError, OSError) as error:
            self._hearing.join(BEAT_S)
            require_known_key(self.name, self._words)
            words = " ".join(self._words[-3:]) or str(error) or "it ended at once"
            do = f"make this answer first: {shlex.join(self._command[:-1])} true"
            python = re.escape(shlex.split(self._command[-1])[0])
            if re.search(rf"{python}: (No such file|command not found|not found)", words):
                do = 'name a Python there with python = "...", by its path'
            raise PlanError(f"cannot reach host {self.name}", seen=words, do=do) from None

    def begin(self, do: str, **values: object) -> int:
        """Order something; `result` has what comes of it, by this number. Raises HostLost."""
        number = next(self._numbers)
        try:
            self._pipe.send({"do": do, "id": number, **values})
        except OSError as error:
            raise HostLost(self.name, self._why_lost(error)) from None
        return number

    def result(
        self, number: int, limit_s: float = 0.0, hear: Callable[[Message], None] | None = None
    ) -> Message:
        """What came of an order; answers to orders before it are dropped. `limit_s`: what the order
        itself may take; `hear`: is given what the host says before the answer. Raises HostLost.
        """
        until = time.monotonic() + limit_s + ANSWER_S
        while True:
            try:
                answer = self._pipe.receive(until - time.monotonic())
            except (EOFError, TimeoutError, OSError) as error:
                raise HostLost(self.name, self._why_lost(error)) from None
            if answer["id"] == number and "event" not in answer:
                return answer
            if answer["id"] == number and hear:
                hear(answer["event"])

    def _why_lost(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {ANSWER_S:g} s"
        return " ".join(self._words[-2:]) or "the connection ended"

    def _beat(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while not self._over.wait(BEAT_S):
                self._pipe.send({"do": "beat"})

    def _hear(self, errors: IO[bytes]) -> None:
        """Keep what ssh and the program say on their errors."""
        for line in errors:
            self._words.append(line.decode(errors="replace").strip())

    def close(self) -> None:
        """End it: the program ends when its input does."""
        self._over.set()
        with contextlib.suppress(OSError):
            self._pipe.close()
        try:
            self._process.wait(self._end_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _started(name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Keys of the terminal are ours to answer: it has its own session."""
    piped = subprocess.PIPE
    try:
        return subprocess.Popen(
            command, stdin=piped, stdout=piped, stderr=piped, start_new_session=True
        )
    except OSError as error:
        do = f"install {command[0]}"
        raise PlanError(f"cannot reach host {name}", seen=str(error), do=do) from error


def require_known_key(name: str, said: Sequence[str]) -> None:
    """Raises PlanError where ssh refused a changed host key: the warning first, and no command that
    would accept the key unseen.
    """
    whole = " ".join(said)
    if "REMOTE HOST IDENTIFICATION HAS CHANGED" not in whole:
        return
    key = re.search(r"SHA256:[A-Za-z0-9+/]+", whole)
    remove = re.search(r"ssh-keygen (-f \S+ )?-R \S+", whole)
    seen = (
        "its ssh host key has changed: another host may answer in its place, or it was reinstalled"
        f" (new key: {key.group() if key else 'unknown'}). Host key verification failed"
    )
    do = "compare it with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the host itself"
    if remove:
        do += f"; only if they are equal: {remove.group()}"
    raise PlanError(f"cannot reach host {name}", seen=seen, do=do)


def require_fit(name: str, facts: Message, package: Package) -> None:
    """Raises PlanError for a host that cannot run what is sent."""
    what, python = f"cannot run kneebench on host {name}", tuple(facts["python"])
    has = f"it has Python {'.'.join(map(str, python))}"
    if facts["protocol"] != PROTOCOL:
        raise PlanError(what, seen="it speaks another protocol", do="use the same kneebench")
    if python < OLDEST_PYTHON:
        raise PlanError(what, seen=has, do='name one of 3.11 or later with python = "..."')
    if package.python and python[:2] != package.python:
        ours = ".".join(map(str, package.python))
        raise PlanError(what, seen=f"{has}, and kneebench here {ours}", do=SAME.format(ours))
    if facts["machine"] != platform.machine():
        seen = f"it is {facts['machine']}, and this machine {platform.machine()}"
        raise PlanError(what, seen=seen, do="use hosts of this machine's architecture")
