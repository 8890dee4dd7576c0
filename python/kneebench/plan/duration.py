"""How long a plan will take, roughly: for `check` and for the time left, never for results.

Rates are those of a small machine: a loaded warehouse is about 100 MB; two loading streams make
about 65 warehouses per minute (50 warehouses by binary COPY, two connections, keys and ANALYZE
included, on 2 cores); a parallel copy restores about 1 GB/s from memory to a local disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.ladder import ROUND_RAMP_S, Ladder
from kneebench.records import Configuration, Host

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
_ALIGNED = 2.0
"""Times its limit that the warm-up before an aligned window takes, on average over a sweep."""
_CLOSING_S = 3.0
"""The consistency conditions, and the end of the server."""
_RAW_PROFILE_S = 25.0
"""Six rows of fio, and its file."""
_CANDIDATES = 4
"""Rungs of candidates for the knee in a usual climb (docs/method/climb.md: 0 to 9 on average, by
curve and noise; 13 at most)."""
_KNEE_USERS_PER_CORE = 5.0
"""Where a climb is guessed to reach its knee, when the plan leaves it open."""


class Expected(NamedTuple):
    """Parts of a plan's duration. `drives_s`: to precondition and load the drives of volumes;
    `proofs_s`, `cuts_s`: to relieve what limits knees, and to cut servers off, if the plan says so;
    `final_runs`: number of final runs, those at the fixed rate included; 0: unknown. `climb_rungs`:
    about how many rungs a climb has.
    """

    load_s: float
    climbs_s: float
    final_runs_s: float
    drives_s: float = 0.0
    final_runs: float = 0.0
    climb_rungs: int = 1
    proofs_s: float = 0.0
    cuts_s: float = 0.0

    @property
    def total_s(self) -> float:
        """All of it."""
        measured_s = self.load_s + self.climbs_s + self.final_runs_s
        return measured_s + self.drives_s + self.proofs_s + self.cuts_s


class Steps(NamedTuple):
    """How long the steps of one configuration take, and how many there are.

    A climb: `first_s` until its first rung has ended, the restore included; `rung_s` of each other
    one; `closing_s` for what follows. Final runs: `opening_s` for each of its `restores`, until the
    first of them begins; `run_s` of each of its `runs`.
    """

    first_s: float
    rungs: float
    rung_s: float
    closing_s: float
    restores: float
    opening_s: float
    runs: float
    run_s: float

    def climb_s(self, budget_s: float) -> float:
        """The whole climb, with a budget for what follows its first rung."""
        rungs_s = (self.rungs - 1) * self.rung_s
        return self.first_s + min(rungs_s, budget_s) + self.closing_s

    @property
    def final_runs_s(self) -> float:
        """All final runs."""
        return self.restores * self.opening_s + self.runs * self.run_s


Adjust = Callable[[Configuration, Steps], Steps]
"""The steps of a configuration as they were here before, for those that a plan's constants give."""


def unadjusted(configuration: Configuration, steps: Steps) -> Steps:
    """By the constants alone."""
    return steps


def expected(
    databases: Mapping[str, DatabasePlan], host: Host, adjust: Adjust = unadjusted
) -> Expected:
    """The parts of the duration: loading (once for each database), the climbs, the final runs."""
    plans = databases.values()
    if next(iter(plans)).workload.type == "tproc-h":
        return _of_passes([*plans], host)
    every = [
        (plan.ladder.budget, adjust(one, steps(plan, one, host)))
        for plan in plans
        for one in plan.configurations
    ]
    return Expected(
        load_s=sum(_load_s(plan, _cores(plan, host)) for plan in plans),
        climbs_s=sum(one.climb_s(budget_s) for budget_s, one in every),
        final_runs_s=sum(one.final_runs_s for _, one in every),
        final_runs=sum(one.runs for _, one in every),
        climb_rungs=max(rungs(plan.ladder, _cores(plan, host)) for plan in plans),
    )


_QUERY_S, _AGAIN_S, _REFERENCE_S = 6.0, 2.0, 40.0
"""A query at scale 1, cold and once more, on average over the 22 on two cores; a server's restart
before it; the rows of scale 1 in DuckDB."""


def _of_passes(plans: Sequence[DatabasePlan], host: Host) -> Expected:
    """As few passes over the queries of TPROC-H as may be precise enough, with the restores and the
    rows that answers are compared by; then as many streams as the plan has, each number once and
    the last of them again.
    """
    workload, ladder = plans[0].workload, plans[0].ladder
    first, last, number = ladder.first, ladder.last, len(workload.asked)
    query_s, passes = _QUERY_S * workload.scale, ladder.fewest_repeats
    streams = (sum(range(first, last + 1)) + passes * last) * (last > 1)
    passes_s = passes * number * (query_s + _AGAIN_S) + streams * number * query_s / 2
    each_s = [len(one.configurations) * (_restore_s(one) + passes_s) for one in plans]
    storages = sum(len(one.configurations) for one in plans)
    return Expected(
        sum(_load_s(plan, _cores(plan, host)) for plan in plans),
        0.0,
        _REFERENCE_S * min(1.0, workload.scale) + sum(each_s),
        final_runs=storages * passes * number * (2 if workload.cache == "cold" else 1),
    )


def steps(plan: DatabasePlan, configuration: Configuration, host: Host) -> Steps:
    """The steps of a configuration by the constants: right within a factor of about two. Those of a
    model take a second or two, as its clock jumps.
    """
    found = _on_hardware(plan, configuration, host)
    if plan.engine.measures_real_hardware:
        return found
    return found._replace(
        first_s=1.0, rung_s=0.0, closing_s=0.0, opening_s=0.0, run_s=1.0 / max(1.0, found.runs)
    )


def _on_hardware(plan: DatabasePlan, configuration: Configuration, host: Host) -> Steps:
    ladder, cores = plan.ladder_on(configuration.storage), _cores(plan, host)
    restore_s = _restore_s(plan, cores)
    first_s = restore_s + _cold_s(plan) + ladder.window + _RUNG_S
    closing_s = _CLOSING_S + (_RAW_PROFILE_S if plan.raw_profile else 0.0)
    number = rungs(ladder, cores)
    rung_s = _rung_s(ladder, number)
    climb = Steps(first_s, number, rung_s, closing_s, 0.0, restore_s, 0.0, 0.0)
    if ladder.rounds == "short":
        return _with_rounds(climb, plan)
    return _with_long_runs(climb, plan, first=configuration.id == plan.first_id)


def _rung_s(ladder: Ladder, number: int) -> float:
    """A rung after the first: candidates have a shorter warm-up than the others of so many."""
    candidates = 0 if ladder.fixed else _CANDIDATES / (number - 1)
    searched_s, candidate_s = _warm_up_s(ladder), ladder.candidate_warm_up
    warm_up_s = searched_s + candidates * (candidate_s - searched_s)
    return warm_up_s + ladder.window + _RUNG_S


def _with_rounds(climb: Steps, plan: DatabasePlan) -> Steps:
    """Short rounds, as few as may be precise enough; each restore is warmed up before the first."""
    ladder, rounds = plan.ladder, plan.ladder.fewest_rounds
    at_fixed_rate = sum(map(ladder.at_fixed_rate, range(1, rounds + 1)))
    return climb._replace(
        restores=math.ceil(rounds / ladder.restore_every) + bool(ladder.levels),
        opening_s=climb.opening_s + _cold_s(plan) + _RUNG_S,
        runs=rounds + at_fixed_rate + len(ladder.levels),
        run_s=ladder.final_window + ROUND_RAMP_S + _RUNG_S,
    )


def _with_long_runs(climb: Steps, plan: DatabasePlan, *, first: bool) -> Steps:
    """Long runs, each on its own restore. All but one configuration need one more for the fixed
    rate, if it is a share of the knee; load levels follow a warm-up on a restore of their own.
    """
    ladder, final_s, warm_s = plan.ladder, _final_s(plan), _final_warm_up_s(plan)
    fixed_rate = ladder.at_fixed_rate(1)
    again = fixed_rate and not ladder.latency_rate and not first
    restores = ladder.most_repeats + again
    slow, quick = restores, ladder.most_repeats * fixed_rate + len(ladder.levels)
    whole_s = slow * (warm_s + final_s) + quick * (_warm_up_s(ladder) + final_s)
    if ladder.levels:
        whole_s += _cold_s(plan) + ladder.warm_up_window + _RUNG_S
    runs = slow + quick
    run_s = whole_s / runs if runs else 0.0
    return climb._replace(restores=restores + bool(ladder.levels), runs=runs, run_s=run_s)


def _cores(plan: DatabasePlan, host: Host) -> int:
    return len(plan.database.server_cores) or host.cores


def _load_s(plan: DatabasePlan, cores: int = 2) -> float:
    """To load the database once; one that is there already takes nothing."""
    if plan.database.has_schema or not plan.engine.measures_real_hardware:
        return 0.0
    return 5 + plan.workload.sized_as * _LOAD_S * 2 / min(max(cores, 1), 8)


def restored_run_s(plan: DatabasePlan) -> float:
    """One final run on its own restore."""
    return _restore_s(plan, 2) + _cold_s(plan) + _final_s(plan)


def _cold_s(plan: DatabasePlan) -> float:
    """To warm up a restored database."""
    return _warm_up_s(plan.ladder, cold=plan.database.restored_cold)


def _final_warm_up_s(plan: DatabasePlan) -> float:
    """To warm up before a final run on a restored database. Aligned windows wait for as many
    transactions as the fastest configuration had, whose reads take longest to fall to nothing.
    """
    ladder = plan.ladder
    if plan.aligned and ladder.warm_up == "auto":
        limit_s = ladder.cold_warm_up_limit if plan.database.restored_cold else ladder.warm_up_limit
        return _ALIGNED * limit_s
    return _cold_s(plan)


def _restore_s(plan: DatabasePlan, cores: int = 2) -> float:
    """To restore one database, and start its server."""
    restore_s = _START_S + (_load_s(plan, cores) if plan.restore == "load" else 0.0)
    if plan.restore in ("copy", "template", "backup"):
        copied_bytes = plan.workload.sized_as * plan.engine.footprint.WAREHOUSE_BYTES
        restore_s += copied_bytes / _RESTORE_BYTES_PER_S
    return restore_s


def rounds_s(plan: DatabasePlan, rounds: int) -> float:
    """Short rounds at the knee on one restore of one configuration."""
    opening_s = _restore_s(plan, len(plan.database.server_cores)) + _cold_s(plan) + _RUNG_S
    return opening_s + rounds * (plan.ladder.final_window + ROUND_RAMP_S + _RUNG_S)


def _final_s(plan: DatabasePlan) -> float:
    """One final window."""
    cycle_s = plan.engine.checkpoint_cycle_s(())
    return max(plan.ladder.final_window, plan.ladder.checkpoints * cycle_s) + _RUNG_S


def rungs(ladder: Ladder, cores: int) -> int:
    """Rungs of one climb: one to warm up, up to a guessed knee, two flat steps, two that narrow it
    down, candidates that confirm it, the first rung again. Noise or a first rung beyond the knee
    takes more.
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
        + _CANDIDATES
    )


def _warm_up_s(ladder: Ladder, cold: bool = False) -> float:
    if ladder.warm_up != "auto":
        return ladder.warm_up
    return _OF_ITS_LIMIT * (ladder.cold_warm_up_limit if cold else ladder.warm_up_limit)
