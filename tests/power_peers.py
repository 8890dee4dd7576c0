"""Peers of power meters, on loopback: a BMC by IPMI and one by Redfish, a PDU by SNMP, a RAPL tree,
a double of PTDaemon, a program and a document by HTTP. All play one secret curve of power.

`python -m tests.power_peers SEED FOLDER` prints its ports as JSON when all are there. Each line it
reads begins a disturbance: "gap" (no answers for 30 s), "frozen" (the same answer for 60 s),
"sentinel" (2^32 for 3 s). At the end of its input it writes `truth.json`: its own energy, by the
clock of the machine, and the disturbances.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import math
import os
import random
import shutil
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import threading
import time
from bisect import bisect_right
from pathlib import Path
from types import SimpleNamespace

SECONDS = 900
STEP_S = 0.5
RISE = 4
"""Steps from one level to the next, as a power supply smoothes them."""
MOVES_W = 10
"""So much that meters of whole watts hardly ever show one value for 2 s."""
LASTS_S = {"gap": 30.0, "frozen": 60.0, "sentinel": 3.0}
SENTINEL = 2**32
SNMPD = Path(__file__).parent.parent / ".tools/hosts/usr/sbin/snmpd"
OUTLETS = (3, 4)
OUTLET = ".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7"
COMMUNITY, USER, SECRET = "lantern-7", "meter", "orchard-bridge-9"
WRAP_S = 3.0
TICK_S = 0.02


class Curve:
    """Power over time: an idle level, then steps to levels of some seconds each, with what no
    machine is without, a little movement.
    """

    def __init__(self, seed: int, began: float) -> None:
        chance, watts = random.Random(seed), list[float]()
        idle = chance.uniform(80, 130)
        level = idle
        while len(watts) < SECONDS / STEP_S:
            before, level = level, idle + chance.choice([0, 60, 110, 160]) * chance.uniform(0.9, 1)
            for n in range(round(chance.uniform(7, 16) / STEP_S)):
                share = min(1.0, (n + 1) / RISE)
                watts.append(before + share * (level - before) + chance.uniform(-MOVES_W, MOVES_W))
        self.began, self._watts, self._joules = began, watts, [0.0]
        for one in watts:
            self._joules.append(self._joules[-1] + one * STEP_S)

    def watts(self, at: float) -> float:
        """The power at a moment."""
        return self._watts[max(0, int((at - self.began) / STEP_S))]

    def joules(self, at: float) -> float:
        """The energy up to a moment, as the peer itself counts it."""
        steps = max(0.0, (at - self.began) / STEP_S)
        return self._joules[int(steps)] + (steps % 1) * STEP_S * self._watts[int(steps)]


class Player:
    """The curve as meters show it, with its disturbances."""

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        self.disturbed: list[tuple[str, float, float]] = []

    def disturb(self, kind: str) -> None:
        now = time.time()
        self.disturbed.append((kind, now, now + LASTS_S[kind]))

    def now(self) -> tuple[str, float]:
        """What a meter does, and the moment that it shows."""
        at = time.time()
        for kind, begin, end in self.disturbed:
            if begin <= at < end:
                return kind, begin if kind == "frozen" else at
        return "", at

    def shown(self) -> float | None:
        """Watts; None for no answer."""
        kind, at = self.now()
        return None if kind == "gap" else SENTINEL if kind == "sentinel" else self.curve.watts(at)


def free_port(kind: int = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def in_thread(work) -> None:
    threading.Thread(target=work, daemon=True).start()


# --- the BMC --------------------------------------------------------------------------------------


def bmc(player: Player) -> int:
    """A BMC that answers DCMI's power reading; its average is nonsense, as many a BMC's is."""
    from pyghmi.ipmi.bmc import Bmc

    class Answering(Bmc):
        def handle_raw_request(self, request, session) -> None:
            if request["netfn"] != 0x2C or not request["data"] or request["data"][0] != 0xDC:
                session.send_ipmi_response(code=0xC1)
                return
            watts = player.shown()
            if watts is None:
                session.send_ipmi_response(code=0xC0)  # the node is busy
                return
            now = 0xFFFF if watts == SENTINEL else round(watts)
            reading = struct.pack("<B4HIIB", 0xDC, now, 11, 999, 13, 0, 0, 0)
            session.send_ipmi_response(data=reading)

    port = free_port(socket.SOCK_DGRAM)
    made = Answering({USER: SECRET}, port=port, address="127.0.0.1")
    in_thread(made.listen)
    return port


# --- HTTP: Redfish, and a document ----------------------------------------------------------------


def redfish_documents(watts: float) -> dict[str, object]:
    """Three places that say three things, as in the mock-ups of the standard's authors."""
    chassis = "/redfish/v1/Chassis/1"
    supplies = {"@odata.id": f"{chassis}/PowerSubsystem/PowerSupplies"}
    return {
        "/redfish/v1/Chassis": {"Members": [{"@odata.id": chassis}]},
        chassis: {
            "Power": {"@odata.id": f"{chassis}/Power"},
            "PowerSubsystem": {"@odata.id": f"{chassis}/PowerSubsystem"},
            "EnvironmentMetrics": {"@odata.id": f"{chassis}/EnvironmentMetrics"},
        },
        f"{chassis}/Power": {"PowerControl": [{"PowerConsumedWatts": 0.8 * watts}]},
        f"{chassis}/EnvironmentMetrics": {"PowerWatts": {"Reading": 0.9 * watts}},
        f"{chassis}/PowerSubsystem": {"PowerSupplies": supplies},
        supplies["@odata.id"]: {
            "Members": [{"@odata.id": f"{supplies['@odata.id']}/{bay}"} for bay in (1, 2)]
        },
        **{
            f"{supplies['@odata.id']}/{bay}": {
                "Metrics": {"@odata.id": f"{supplies['@odata.id']}/{bay}/Metrics"}
            }
            for bay in (1, 2)
        },
        **{
            f"{supplies['@odata.id']}/{bay}/Metrics": {
                "InputPowerWatts": {"Reading": watts if watts == SENTINEL else watts * share}
            }
            for bay, share in ((1, 0.45), (2, 0.55))
        },
    }


def web(player: Player, certificate: Path | None = None, version: str = "HTTP/1.1") -> int:
    """A server of Redfish's documents and of /meter, which has the joules so far."""

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = version

        def do_GET(self) -> None:
            watts = player.shown()
            if watts is None:
                self._answer(503, {})
            elif self.path == "/meter":
                kind, at = player.now()
                kilojoules = SENTINEL if kind == "sentinel" else player.curve.joules(at) / 1000
                self._answer(200, {"meter": [{"total_kJ": kilojoules}]})
            else:
                found = redfish_documents(watts).get(self.path)
                self._answer(200 if found else 404, found or {})

        def _answer(self, status: int, found: object) -> None:
            body = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    in_thread(server.serve_forever)
    return int(server.server_address[1])


def certificate(folder: Path) -> Path:
    """A key and its own certificate, in one file."""
    file, key = folder / "bmc.pem", folder / "bmc.key"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    made += ["-nodes", "-days", "2", "-subj", "/CN=bmc", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*made, "-keyout", key, "-out", file], check=True, capture_output=True)
    file.write_text(file.read_text() + key.read_text())
    return file


# --- the PDU --------------------------------------------------------------------------------------

RESPONDER = """#!/bin/sh
# pass_persist: PING, then get or getnext with the object in the next line
while read -r asked; do
  case "$asked" in
    PING) echo PONG ;;
    get) read -r oid; f="$(dirname "$0")/outlet.${oid##*.}"
      if [ -s "$f" ]; then echo "$oid"; echo gauge; cat "$f"; else echo NONE; fi ;;
    *) read -r oid; echo NONE ;;
  esac
done
"""


def pdu(player: Player, folder: Path) -> tuple[int, subprocess.Popen[bytes]]:
    """snmpd with two outlets of an APC PDU, for v2c and v3."""
    port = free_port(socket.SOCK_DGRAM)
    script = folder / "responder"
    script.write_text(RESPONDER)
    script.chmod(0o755)
    (folder / "snmpd.conf").write_text(
        f"agentAddress udp:127.0.0.1:{port}\n"
        f"rocommunity {COMMUNITY} 127.0.0.1\n"
        f'createUser {USER} SHA-256 "{SECRET}" AES "{SECRET}"\n'
        f"rouser {USER} authPriv {OUTLET}\n"
        f"pass_persist {OUTLET} {script}\n"
    )

    def write() -> None:
        while True:
            watts = player.shown()
            for outlet, share in zip(OUTLETS, (0.4, 0.6), strict=True):
                whole = "" if watts is None else watts if watts == SENTINEL else watts * share
                text = f"{min(whole, 2**32 - 1):.0f}\n" if whole != "" else ""
                partial = folder / f"outlet.{outlet}.new"
                partial.write_text(text)
                partial.replace(folder / f"outlet.{outlet}")
            time.sleep(TICK_S)

    in_thread(write)
    # without -I -smux it listens on every address, port 199
    configured, said = folder / "snmpd.conf", folder / "snmpd.log"
    arguments = ["-f", "-C", "-c", str(configured), "-I", "-smux", "-Lf", str(said)]
    environment = {**os.environ, "SNMP_PERSISTENT_DIR": str(folder), "MIBS": ""}
    return port, subprocess.Popen(
        [SNMPD, *arguments], env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


PROGRAM = """import time, pathlib
file = pathlib.Path(__file__).with_name("watts")
while True:
    if text := file.read_text().strip():
        print(text, flush=True)
    time.sleep(0.25)
"""


def program(player: Player, folder: Path) -> None:
    """A program that prints watts, and nothing in a gap."""
    (folder / "program.py").write_text(PROGRAM)

    def write() -> None:
        while True:
            watts = player.shown()
            partial = folder / "watts.new"
            partial.write_text("" if watts is None else f"{watts:.2f}")
            partial.replace(folder / "watts")
            time.sleep(TICK_S)

    in_thread(write)


# --- RAPL -----------------------------------------------------------------------------------------


def rapl(player: Player, sysfs: Path) -> None:
    """One package and its memory, whose counters wrap about every 3 s."""
    tree = sysfs / "class/powercap"
    package = tree / "intel-rapl:0"
    shares = {package: ("package-0", 0.8), package / "intel-rapl:0:0": ("core", 0.5)}
    shares |= {package / "intel-rapl:0:1": ("dram", 0.2), tree / "intel-rapl:1": ("psys", 1.3)}
    ranges = {folder: round(WRAP_S * 150 * share * 1e6) for folder, (_, share) in shares.items()}
    for folder, (name, _) in shares.items():
        folder.mkdir(parents=True)
        (folder / "name").write_text(f"{name}\n")
        (folder / "max_energy_range_uj").write_text(f"{ranges[folder]}\n")
        limit = 30 if name == "dram" else 120
        (folder / "constraint_0_max_power_uw").write_text(f"{limit}000000\n")
        (folder / "energy_uj").write_text("0\n")
    files = {folder: os.open(folder / "energy_uj", os.O_WRONLY) for folder in shares}

    def write() -> None:
        while True:
            kind, at = player.now()
            joules = player.curve.joules(at)
            for folder, (_, share) in shares.items():
                counted = math.floor(joules * share * 1e6) % (ranges[folder] + 1)
                shown = SENTINEL * 1000 if kind == "sentinel" else counted
                text = b"\n" if kind == "gap" else f"{shown}\n".encode()
                os.pwrite(files[folder], text.ljust(24), 0)
            time.sleep(TICK_S)

    in_thread(write)


# --- PTDaemon, and a program ----------------------------------------------------------------------


def ptd(player: Player) -> int:
    """The words that MLPerf's client exchanges with PTDaemon."""

    class Session(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            began = time.time()
            for line in self.rfile:
                words = line.decode().removesuffix("\r\n")
                if player.shown() is None:
                    return  # it hangs up
                answer = {"Hello": "Hello, PTDaemon here!", "Identify": "Yokogawa,WT310,1,Mode,AC"}
                if words.startswith("Go,1000,0,"):
                    self._say("Starting untimed measurement, maximum 500 samples at 1000ms")
                elif words == "RL":
                    began = self._unread(began)
                else:
                    self._say(answer.get(words, "OK" if words == "Stop" else "Unknown command"))

        def _unread(self, since: float) -> float:
            kind, at = player.now()
            samples = int(time.time() - since)
            self._say(f"Last {samples} samples")
            for n in range(samples):
                end = at if kind == "frozen" else since + n + 1
                mean = player.curve.joules(end) - player.curve.joules(end - 1)
                watts = SENTINEL if kind == "sentinel" else round(mean, 2)
                self._say(
                    f"Time,11-27-2026 10:00:00.000,Watts,{watts},Volts,230,Amps,1,PF,1,Mark,x"
                )
            return since + samples

        def _say(self, words: str) -> None:
            self.wfile.write(f"{words}\r\n".encode())

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session)
    server.daemon_threads = True
    in_thread(server.serve_forever)
    return int(server.server_address[1])


def main(seed: int, folder: Path) -> None:
    player = Player(Curve(seed, time.time() - STEP_S))
    file = certificate(folder)
    rapl(player, folder / "sys")
    program(player, folder)
    agent: subprocess.Popen[bytes] | None = None
    ports = SimpleNamespace(ipmi=bmc(player), ptd=ptd(player), http=web(player))
    ports.redfish, ports.snmp = web(player, file), 0
    if SNMPD.exists() and shutil.which("openssl"):
        ports.snmp, agent = pdu(player, folder)
    print(json.dumps(vars(ports)), flush=True)
    try:
        for line in sys.stdin:
            if (words := line.split()) and words[0] in LASTS_S:
                player.disturb(words[0])
    finally:
        if agent:
            agent.terminate()
            agent.wait()
        ended = time.time()
        count = int((ended - player.curve.began) / STEP_S)
        times = [player.curve.began + STEP_S * n for n in range(count)]
        truth = {
            "at": times,
            "joules": [player.curve.joules(at) for at in times],
            "disturbed": player.disturbed,
        }
        (folder / "truth.json").write_text(json.dumps(truth))


class Truth:
    """What the peers wrote after the run."""

    def __init__(self, folder: Path) -> None:
        found = json.loads((folder / "truth.json").read_text())
        self.at, self._joules = found["at"], found["joules"]
        self.disturbed = [(kind, begin, end) for kind, begin, end in found["disturbed"]]

    def joules(self, begin: float, end: float) -> float:
        return self._until(end) - self._until(begin)

    def _until(self, at: float) -> float:
        before = bisect_right(self.at, at) - 1
        share = (at - self.at[before]) / STEP_S
        return self._joules[before] + share * (self._joules[before + 1] - self._joules[before])


class Peers:
    """The program, running."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.power_peers", str(seed), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
        )
        assert self._program.stdout
        self.ports = SimpleNamespace(**json.loads(self._program.stdout.readline()))

    def disturb(self, kind: str) -> None:
        assert self._program.stdin
        self._program.stdin.write(f"{kind}\n")
        self._program.stdin.flush()

    def truth(self) -> Truth:
        """End the program; what it wrote."""
        self.close()
        return Truth(self.folder)

    def close(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._program.communicate(timeout=60)

    def __enter__(self) -> Peers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
