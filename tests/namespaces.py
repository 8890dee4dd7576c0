"""Several hosts on this machine: network namespaces on a bridge, each with a real sshd.

Everything is within one network and one mount namespace, and vanishes with their first process:
nothing can reach it, and it can reach nothing. A directory `small` has room for 1 MB.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kneebench.errors import InvalidMeasurement
from tests import leftovers

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / ".tools" / "hosts"
SSHD = TOOLS / "usr" / "sbin" / "sshd"
LIBRARIES = TOOLS / "usr" / "lib" / f"{os.uname().machine}-linux-gnu"
FAKETIME = LIBRARIES / "faketime" / "libfaketime.so.1"
CONTROLLER = "192.0.2.254"
SETTINGS = """
Port 22
ListenAddress {address}
HostKey {key}
AuthorizedKeysFile {allowed}
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
SetEnv XDG_CACHE_HOME={cache} {environment}
"""


def missing() -> str:
    """Why there can be no hosts here; empty if they can."""
    if os.geteuid() != 0:
        return "needs root"
    if not SSHD.exists() or not FAKETIME.exists():
        return "needs sshd and libfaketime in .tools/hosts (make debian)"
    done = subprocess.run(["unshare", "-n", "-m", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "needs the right to make namespaces"


class Hosts:
    """Hosts by name, at 192.0.2.1 and so on; the controller is at `CONTROLLER`."""

    def __init__(self, folder: Path, names: Sequence[str], pid: int) -> None:
        self.folder, self.pid = folder, pid
        self.addresses = {name: f"192.0.2.{number}" for number, name in enumerate(names, 1)}
        self._servers: list[subprocess.Popen[bytes]] = []

    def command(self, *words: str | Path, on: str = "") -> list[str]:
        """The words as a command of the controller, or of a host."""
        inside = ["ip", "netns", "exec", on] if on else []
        return ["nsenter", "-t", str(self.pid), "-n", "-m", *inside, *map(str, words)]

    def run(self, *words: str | Path, on: str = "", **given: Any) -> str:
        """Run a command there; its output."""
        done = subprocess.run(
            self.command(*words, on=on), capture_output=True, text=True, check=False, **given
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def start(self, *words: str | Path, on: str = "", **given: Any) -> subprocess.Popen[bytes]:
        """Start a process there; it is ended with the hosts."""
        process = subprocess.Popen(self.command(*words, on=on), **given)
        self._servers.append(process)
        return process

    def sshd(
        self, name: str, environment: Mapping[str, str] = {}, before: Sequence[str] = ()
    ) -> None:
        """Start a host's sshd; `environment` of its sessions, `before`: what starts it."""
        own = self.folder / name
        own.mkdir(exist_ok=True)
        key = own / "host_key"
        if not key.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        settings = SETTINGS.format(
            address=self.addresses[name],
            key=key,
            allowed=self.folder / "key.pub",
            cache=own / "cache",
            environment=" ".join(f"{one}={value}" for one, value in environment.items()),
        )
        (own / "sshd_config").write_text(settings)
        self.start(
            *before,
            SSHD,
            "-D",
            "-e",
            "-f",
            own / "sshd_config",
            on=name,
            env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES)},
            stderr=subprocess.DEVNULL,
        )

    def link(self, name: str, state: str) -> None:
        """Take a host's cable out ("down"), or put it in ("up")."""
        self.run("ip", "link", "set", f"v-{name}", state)

    def slow(self, name: str, rate: str) -> None:
        """Limit a host's cable to a rate, such as "2mbit", both ways."""
        limit = ("root", "tbf", "rate", rate, "burst", "16kb", "latency", "50ms")
        self.run("tc", "qdisc", "replace", "dev", f"v-{name}", *limit)
        self.run("tc", "qdisc", "replace", "dev", "eth0", *limit, on=name)

    def fast(self, name: str) -> None:
        """Lift that limit."""
        self.run("tc", "qdisc", "del", "dev", f"v-{name}", "root")
        self.run("tc", "qdisc", "del", "dev", "eth0", "root", on=name)

    def processes(self, name: str) -> list[int]:
        """The processes of a host."""
        return [int(one) for one in self.run("ip", "netns", "pids", name).split()]

    def close(self) -> None:
        """End every process of every host and of the controller, then the namespaces."""
        own = [one for one in self._of_the_controller() if one != self.pid]
        for one in [*(pid for name in self.addresses for pid in self.processes(name)), *own]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        for server in self._servers:
            server.kill()
            server.wait()

    def _of_the_controller(self) -> Iterator[int]:
        """The processes in the namespace that only ours are in."""
        namespace = Path(f"/proc/{self.pid}/ns/net").readlink()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (folder / "ns" / "net").readlink() == namespace:
                    yield int(folder.name)

    def known_hosts(self) -> str:
        """The hosts' keys, as the controller knows them."""
        keys = {name: self.folder / name / "host_key.pub" for name in self.addresses}
        there = {name: key.read_text() for name, key in keys.items() if key.exists()}
        return "".join(f"{self.addresses[name]} {key}" for name, key in there.items())


KNEEBENCH = Path(sys.executable).with_name("kneebench")
DONE = (0, InvalidMeasurement.exit_code)
"""Of a campaign that is done: a busy machine may make a rung invalid."""
SHORT_LADDER = """
[ladder]
window = "4s"
final_window = "4s"
repeats = 1
rounds = "long"
checkpoints = 0
warm_up = "1s"
latency_rate = "20/s"
"""
"""The end of a plan; the number of users comes next."""


class Controller:
    """What a user has beside the hosts: a folder, an environment, and the command."""

    def __init__(self, net: Hosts, environment: Mapping[str, str] = {}) -> None:
        self.net, self.folder = net, net.folder
        state = str(self.folder / "state")
        self.environment = {**os.environ, "XDG_STATE_HOME": state, **environment}

    def kneebench(self, *words: str | Path, **environment: str) -> subprocess.Popen[str]:
        """The command, in the folder."""
        return subprocess.Popen(
            self.net.command(KNEEBENCH, *words),
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
        )

    def done(self, *words: str | Path) -> tuple[int, str]:
        """The command's exit code, and what it said."""
        process = self.kneebench(*words)
        said, _ = process.communicate(timeout=180)
        return process.returncode, said


def rungs_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The kept rungs of the campaigns in a folder, by file name."""
    found = {}
    for file in sorted(folder.glob("*/rungs/*.json")):
        kept = json.loads(file.read_text())
        found[file.stem] = kept.get("rung", kept)
    return found


NETWORK = """
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/sshd
mount -t tmpfs tmpfs /etc/ssh
mkdir {folder}/small
mount -t tmpfs -o size=1m tmpfs {folder}/small
ip link set lo up
ip link add br0 type bridge
ip link set br0 up
ip addr add {controller}/24 dev br0
"""
HOST = """
ip netns add {name}
ip link add v-{name} type veth peer name eth0 netns {name}
ip link set v-{name} master br0 up
ip -n {name} addr add {address}/24 dev eth0
ip -n {name} link set eth0 up
ip -n {name} link set lo up
"""
CLIENT = """
Host *
    IdentityFile {key}
    UserKnownHostsFile {known}
    StrictHostKeyChecking yes
"""


@contextlib.contextmanager
def hosts(*names: str) -> Iterator[Hosts]:
    """The hosts, joined by a bridge; their sshds are to be started."""
    folder = Path(leftovers.folder("hosts"))
    folder.chmod(0o755)
    apart = ["unshare", "-n", "-m", "--propagation", "private"]
    first = subprocess.Popen(
        [*apart, "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE
    )
    try:
        assert first.stdout
        first.stdout.readline()
        found = Hosts(folder, names, first.pid)
        script = NETWORK.format(controller=CONTROLLER, folder=folder)
        for name, address in found.addresses.items():
            script += HOST.format(name=name, address=address)
        found.run("sh", "-c", script)
        key = folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        _with_sshd_account(found)
        client = folder / "ssh_config"
        client.write_text(CLIENT.format(key=key, known=folder / "known_hosts"))
        found.run("cp", client, "/etc/ssh/ssh_config")
        try:
            yield found
        finally:
            found.close()
    finally:
        first.kill()
        first.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _with_sshd_account(found: Hosts) -> None:
    """The account that sshd confines its first half to; only within the namespace."""
    accounts = Path("/etc/passwd").read_text()
    if "\nsshd:" not in accounts:
        with_it = found.folder / "passwd"
        with_it.write_text(f"{accounts}sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n")
        found.run("mount", "--bind", with_it, "/etc/passwd")
