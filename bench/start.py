"""How long kneebench takes to start: its import, its help and an answer to the Tab key, beside a
Python that does nothing.

All find their modules compiled and in the page cache, as from the second start on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from bench.ratio import Ratio, Size, alone, at_most, medians, told
from bench.turn import in_turn
from kneebench.commands.completing import VARIABLE

NAME = "start"
ABOUT = "import, help and completion, beside a Python that does nothing"
NOTHING = ("-c", "pass")
COMPLETED = {VARIABLE: "complete_bash", "COMP_WORDS": "kneebench pl", "COMP_CWORD": "1"}


def measure(size: Size) -> list[Ratio]:
    """Milliseconds of each, and how many times those of nothing."""
    sides = {
        "nothing": _started(NOTHING),
        "`import kneebench`": _started(("-c", "import kneebench")),
        "`kneebench --help`": _started(("-m", "kneebench", "--help")),
        "an answer to the Tab key": _started(("-m", "kneebench"), COMPLETED),
    }
    aims = {"`import kneebench`": 100.0, "`kneebench --help`": 150.0}
    for start in sides.values():
        start()
    measured = in_turn(size.count(20, 2), *sides.values())
    nothing, *others = measured
    rows = []
    for name, taken in zip(list(sides)[1:], others, strict=True):
        if aim := aims.get(name):
            rows.append(at_most(f"{name}: time", alone(taken), aim, unit="ms"))
        ratio = medians(taken, nothing)
        ms, ms_of_nothing = median(taken), median(nothing)
        over = f"{name} over `python -c pass`"
        rows.append(told(over, ratio, ms=ms, ms_of_nothing=ms_of_nothing))
    return rows


def _started(words: Sequence[str], variables: Mapping[str, str] = {}) -> Callable[[], float]:
    """A process from its start to its end, in milliseconds."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def start() -> float:
        began_s = time.perf_counter()
        subprocess.run(
            [sys.executable, *words],
            env={**inherited, **variables},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return 1000 * (time.perf_counter() - began_s)

    return start
