"""A machine with meters of power, on a clock that a test moves.

`python -m tests.stepped_power SEED FOLDER` prints its port. `/on` and `/off` let a second pass with
or without a load; any other path is a meter, which answers its watts. When its input ends, it
writes its own count of joules.
"""

from __future__ import annotations

import json
import math
import random
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

SHORT_S, LONG_S = 2, (8, 30)
"""How long a meter may be disturbed unnoticed, and how long it must not be."""
FINE = 4
"""Steps of a second in which the peer counts."""


class Machine:
    """A machine's power, and what its meters show of it."""

    def __init__(self, seed: int) -> None:
        self._chance = chance = random.Random(seed)
        self._idle_w, self._waves = chance.uniform(80, 130), chance.uniform(0, 6)
        self._false = chance.uniform(0.6, 0.75) ** chance.choice([-1, 1])
        self._turn, self._on, self._level_w = chance.randrange(3), False, 0.0
        self.joules, self._watts, self._shown_w = [0.0], self._idle_w, self._idle_w
        self._disturbed, self._low = (0.0, 0.0), 0.0

    def advance(self, *, on: bool) -> None:
        """A second passes."""
        at_s = len(self.joules) // FINE
        if on and not self._on:
            self._begin(at_s)
        self._on = on
        for _ in range(FINE):
            wave = 1 + 0.03 * math.sin(len(self.joules) / FINE / 7 + self._waves)
            moved = self._chance.uniform(-2, 2)
            self._watts = (self._idle_w + self._level_w * on) * wave + moved
            self.joules.append(self.joules[-1] + self._watts / FINE)
        if not self._is_disturbed():
            self._shown_w = self._watts

    def _begin(self, at_s: float) -> None:
        """A load of its own height, and the next disturbance in turn: none, short, long."""
        self._level_w = self._chance.uniform(60, 160)
        self._turn = (self._turn + 1) % 3
        lasts_s = (0, SHORT_S, self._chance.uniform(*LONG_S))[self._turn]
        begin_s = at_s + self._chance.uniform(8, 12)
        self._disturbed = begin_s, begin_s + lasts_s
        self._low = self._chance.choice([0.0, 0.05 * self._idle_w])

    def _is_disturbed(self) -> bool:
        begin_s, end_s = self._disturbed
        return self._on and begin_s <= len(self.joules) / FINE < end_s

    def shown_w(self, meter: str) -> float:
        """What a meter answers now."""
        if meter == "elsewhere":
            return 150 + 30 * math.sin(len(self.joules) / 60) + self._chance.uniform(-3, 3)
        if meter == "zero" and self._is_disturbed():
            return self._low
        if meter == "frozen":
            return self._shown_w
        return self._watts * (self._false if meter == "contradicted" else 1.0)


def serve(seed: int, folder: Path) -> None:
    machine = Machine(seed)

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            name = self.path[1:]
            if name in ("on", "off"):
                machine.advance(on=name == "on")
            body = json.dumps({"w": round(machine.shown_w(name), 1)}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    (folder / "truth.json").write_text(json.dumps(machine.joules))


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]))
