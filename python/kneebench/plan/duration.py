"""How long a plan will take, roughly: for `check` and for the time left, never for results.

Rates are those of a small machine: a loaded warehouse is about 100 MB; two loading streams make
about 65 warehouses a minute (50 warehouses by binary COPY, two connections, keys and ANALYZE
included, on 2 cores); a parallel copy restores about 1 GB/s from memory to a local disk.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kneebench.plan.cells import cells
from kneebench.plan.ladder import ROUND_RAMP_S, Ladder
from kneebench.plan.plan import Plan
from kneebench.records import Host

_LOAD_S = 0.95
"""To load one warehouse on two cores."""
_RESTORE_BYTES_PER_S = 800e6
_START_S = 3.0
"""To start and stop a server, and to drop its files from the page cache."""
_RUNG_S = 1.0
"""To open connections and to let transactions end."""
_OF_ITS_LIMIT = 0.45
"""What an automatic warm-up takes, cold or warm: from a drive nearly all of it, from memory the
shortest there is."""
_RAW_PROFILE_S = 25.0
"""Six rows of fio, and its file."""
_KNEE_USERS_PER_CORE = 5.0
"""Where a climb is guessed to reach its knee, when the plan leaves it open."""


class Expected(NamedTuple):
    """Parts of a plan's duration. `drives_s`: to precondition and load the drives of volumes."""

    load_s: float
    climbs_s: float
    final_runs_s: float
    drives_s: float = 0.0

    @property
    def total_s(self) -> float:
        """All of it."""
        return sum(self)


def expected(plan: Plan, host: Host) -> Expected:
    """The parts of the duration: loading (once for each database), the climbs, the final runs;
    right within a factor of about two.
    """
    databases = [*plan.by_database.values()]
    count = len(cells(plan)) // len(databases)
    parts = [_expected(one, host, count) for one in databases]
    return Expected(*map(sum, zip(*parts, strict=True)))


def _expected(plan: Plan, host: Host, count: int) -> Expected:
    """The parts of one database with so many cells."""
    if not plan.engine.measures_real_hardware:
        return Expected(0.0, 1.0 * count, 1.0 * count)
    ladder, cores = plan.ladder, len(plan.database.cores) or host.cores
    load_s = _load_s(plan, cores)
    warm_s = _warm_s(plan, cores)
    warmer_s = (rungs(ladder, cores) - 1) * (_warm_up_s(ladder) + ladder.window + _RUNG_S)
    climb_s = warm_s + min(ladder.window + _RUNG_S + warmer_s, ladder.budget)
    climb_s += _RAW_PROFILE_S if plan.raw_profile else 0.0
    final_s = _rounds_s if ladder.rounds == "short" else _long_runs_s
    return Expected(load_s, count * climb_s, final_s(ladder, count, warm_s, _final_s(plan)))


def _load_s(plan: Plan, cores: int = 2) -> float:
    """To load the database once; one that is there already takes nothing."""
    if plan.database.has_schema:
        return 0.0
    return 5 + plan.workload.warehouses * _LOAD_S * 2 / min(max(cores, 1), 8)


def restored_run_s(plan: Plan) -> float:
    """One final run on its own restore."""
    return _warm_s(plan) + _final_s(plan)


def _warm_s(plan: Plan, cores: int = 2) -> float:
    """To restore and warm up one database."""
    restore_s = _START_S + (_load_s(plan, cores) if plan.restore == "load" else 0.0)
    if plan.restore in ("copy", "template", "backup"):
        copied_bytes = plan.workload.warehouses * plan.engine.footprint.WAREHOUSE_BYTES
        restore_s += copied_bytes / _RESTORE_BYTES_PER_S
    return restore_s + _warm_up_s(plan.ladder, cold=plan.database.restored_cold)


def _final_s(plan: Plan) -> float:
    """One final window."""
    cycle_s = plan.engine.checkpoint_cycle_s(())
    return max(plan.ladder.final_window, plan.ladder.checkpoints * cycle_s) + _RUNG_S


def _rounds_s(ladder: Ladder, count: int, warm_s: float, rung_s: float) -> float:
    """Short rounds: `warm_s` to restore and warm up one database, `rung_s` a window."""
    rung_s += ROUND_RAMP_S
    return count * ((ladder.most_restores - 1) * (warm_s + _RUNG_S) + ladder.final_rungs * rung_s)


def _long_runs_s(ladder: Ladder, count: int, warm_s: float, rung_s: float) -> float:
    """Long runs, each on its own restore. All but one cell need one more for the fixed rate, if it
    is a share of the knee.
    """
    fixed_rate = ladder.at_fixed_rate(1)
    knee_s, latency_s = warm_s + rung_s, (_warm_up_s(ladder) + rung_s) * fixed_rate
    again = count - 1 if fixed_rate and not ladder.latency_rate else 0
    return count * ladder.most_repeats * (knee_s + latency_s) + again * knee_s


def rungs(ladder: Ladder, cores: int) -> int:
    """Rungs of one climb: one to warm up, up to a guessed knee, two flat steps, two that narrow it
    down, the first rung again. Noise or a first rung beyond the knee takes more.
    """
    if ladder.fixed:
        return 1
    first = max(ladder.first or cores, 1)
    knee = min(max(_KNEE_USERS_PER_CORE * cores, 2 * first), ladder.last)
    return (
        math.ceil(math.log(max(knee / first, 1)) / math.log(ladder.step))
        + 1
        + ladder.stops.plateau.steps
        + 4
    )


def _warm_up_s(ladder: Ladder, cold: bool = False) -> float:
    if ladder.warm_up != "auto":
        return ladder.warm_up
    return _OF_ITS_LIMIT * (ladder.cold_warm_up_limit if cold else ladder.warm_up_limit)
