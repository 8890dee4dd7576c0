"""Whether preconditioned drives are still steady during later climbs, by what the campaign's own
runs wrote to them.

Nothing else is written to a drive once a file system is on it. The final runs repeat one load, the
knee's users, on restored databases. A line through the write await of a volume (drift_line.py)
moves from the first of them to the last. The limit is the slope of the steady-state rule, 10%:

- still steady: the line's 90% interval is within the limit;
- no longer steady: its 99% interval is beyond the limit, also relative to every other storage (at
  least one, on other drives), and most drives moved the same way; or that of one drive is, also
  relative to the others of its volume. The writes per second must not have moved with it;
- otherwise the runs cannot say. A false alarm is worse.

Runs that something outside disturbed are left out. At least five on two restores are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import exp, inf, log, sqrt
from pathlib import Path
from statistics import fmean, linear_regression
from typing import Literal, NamedTuple

from kneebench import units
from kneebench.analysis.comparison import called
from kneebench.analysis.devices import (
    DeviceLoad,
    device_loads,
    directories_of,
    name_of,
    volume_load,
    volumes,
)
from kneebench.analysis.disturbance import caveats
from kneebench.analysis.estimate import student_t
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.steady import ROUNDS, SLOPE, widened
from kneebench.analysis.wording import listed, number_of_users, percent, plural
from kneebench.records import Campaign, Climb, CountedDevice, Record, Results, Rung

FEWEST_RESTORES = 2
LEAST_WRITES = 100
"""Of a window on each drive, for an await."""

Answer = Literal["still steady", "no longer steady", "cannot say"]


class StillSteady(Record):
    """The answer for the preconditioned drives of one volume, and why."""

    configuration: str
    volume: str
    answer: Answer
    sentence: str


class Run(NamedTuple):
    """One final run: what a volume did, and each of its drives by the name that it keeps. All had
    writes. `restore` and `repeat` count from 1.
    """

    users: int
    repeat: int
    restore: int
    whole: DeviceLoad
    drives: Mapping[str, DeviceLoad]

    def await_s(self, drive: str = "") -> float:
        """The write await of the volume, or of a drive."""
        return (self.drives[drive] if drive else self.whole).write_await_s or 0.0

    def beside_s(self, drive: str) -> float:
        """The mean of the other drives' write await."""
        return fmean(self.await_s(other) for other in self.drives if other != drive)


OtherRuns = Sequence[Mapping[int, float]]
"""The write await of the data of other storages, by repeat."""


def still_steady(results: Results) -> Iterator[StillSteady]:
    """An answer for each volume of preconditioned drives, in the order of the storages; none where
    the results do not say which drives a volume had.
    """
    for climb in results.climbs:
        volumes_of_it = _preconditioned(results.campaign, climb)
        others = [_awaits(one) for one in results.climbs if volumes_of_it and _apart(climb, one)]
        for directories, name in volumes_of_it.items():
            answer, why = _judged(_runs(climb, directories), others, _left_out(climb))
            sentence = f"{name}: {why}."
            yield StillSteady(configuration=climb.id, volume=name, answer=answer, sentence=sentence)


# --- the runs -------------------------------------------------------------------------------------


def _preconditioned(campaign: Campaign, climb: Climb) -> dict[tuple[int, ...], str]:
    """The directories and names of the climb's volumes that have preconditioned drives."""
    done = campaign.preconditioned
    drives = {one.drive for one in done} | {Path(one.device).name for one in done}
    found: dict[tuple[int, ...], str] = {}
    for rung in climb.rungs if drives else ():
        every = volumes(rung)
        for volume in every:
            directories = directories_of(volume)
            if directories and any(_kept(device) in drives for device in volume):
                name = f", {name_of(volume, every)}" if len(every) > 1 else ""
                found.setdefault(directories, f"{called(climb)}{name}")
    return found


def _kept(device: CountedDevice) -> str:
    return device.drive or device.name


def _usable(rungs: Iterable[Rung]) -> list[Rung]:
    """Valid and undisturbed, in the order of time."""
    valid = (rung for rung in rungs if not rung.invalid and not caveats(rung))
    return sorted(valid, key=lambda rung: rung.started_at)


def _left_out(climb: Climb) -> int:
    rungs = climb.of("final_run")
    return len(rungs) - len(_usable(rungs))


def _runs(climb: Climb, directories: tuple[int, ...]) -> list[Run]:
    """The usable final runs with enough writes to every drive of the volume."""
    runs = []
    for rung in _usable(climb.of("final_run")):
        for volume in volumes(rung):
            readings = KneeReadings([rung])
            loads = device_loads(readings, volume)
            fewest = min(load.writes_per_s for load in loads) * rung.tally.window_s
            if {*directories} <= {*directories_of(volume)} and fewest >= LEAST_WRITES:
                order, whole = rung.order, volume_load(readings, volume)
                drives = dict(zip(map(_kept, volume), loads, strict=True))
                restore = order.restore or order.repeat
                runs.append(Run(order.users, order.repeat, restore, whole, drives))
    return runs


def _apart(climb: Climb, other: Climb) -> bool:
    """Whether two storages have no drive in common."""
    mine, theirs = (
        {_kept(device) for rung in one.rungs for device in rung.devices} for one in (climb, other)
    )
    return bool(theirs) and not mine & theirs


def _awaits(climb: Climb) -> dict[int, float]:
    return {run.repeat: run.await_s() for run in _runs(climb, (0,))}


# --- the answer -----------------------------------------------------------------------------------


def _judged(runs: Sequence[Run], others: OtherRuns, left_out: int) -> tuple[Answer, str]:
    unknown = "cannot say whether the drives are still steady"
    if missing := _missing(runs, left_out):
        return "cannot say", f"{unknown} ({missing})"
    moved = line([run.await_s() for run in runs])
    low, high = (percent(exp(move) - 1, signed=True) for move in moved.interval)
    seen = (
        f"write await moved by {low} to {high} over {plural(len(runs), 'run')} at"
        f" {number_of_users(runs[0].users)} (90% CI; limit {percent(SLOPE)})"
    )
    drives, doubt = _drifting(runs, others)
    if drives and not doubt:
        return "no longer steady", f"no longer steady: {_claim(runs, drives)}"
    if drives:
        return "cannot say", f"{unknown}: {seen}, but {doubt}"
    if moved.is_within:
        return "still steady", f"still steady: {seen}"
    return "cannot say", f"{unknown}: {seen}"


def _missing(runs: Sequence[Run], left_out: int) -> str:
    """Why the runs cannot be judged at all; empty if they can."""
    restores = len({run.restore for run in runs})
    if len(runs) < ROUNDS or restores < FEWEST_RESTORES:
        also = f"; {left_out} were invalid or disturbed" if left_out else ""
        return (
            f"{plural(len(runs), 'usable final run')} on {plural(restores, 'restore')}, at least"
            f" {ROUNDS} on {FEWEST_RESTORES} are required{also}"
        )
    return "" if len({frozenset(run.drives) for run in runs}) == 1 else "its drives changed"


def _drifting(runs: Sequence[Run], others: OtherRuns) -> tuple[list[str], str]:
    """(drives whose write await moved beyond the limit, another reason for it or nothing)."""
    whole, names = line([run.await_s() for run in runs]), list(runs[0].drives)
    same_way = [
        name
        for name in names
        if line([run.await_s(name) for run in runs]).move * _sign(whole) > LIMIT
    ]
    if whole.is_beyond() and 2 * len(same_way) > len(names):
        return same_way, _elsewhere(runs, whole, others) or _more_written(runs, whole)
    alone = [name for name in names if len(names) > 1 and _is_alone(runs, name)]
    doubts = [_more_written(runs, line([run.await_s(one) for run in runs]), one) for one in alone]
    return alone, next(filter(None, doubts), "")


def _is_alone(runs: Sequence[Run], drive: str) -> bool:
    """One drive moved by itself and relative to the others of its volume. Of many drives one moves
    by chance, so each must be the more certain.
    """
    level = 1 - (1 - SURE) / len(runs[0].drives)
    own = line([run.await_s(drive) for run in runs])
    beside = line([run.await_s(drive) / run.beside_s(drive) for run in runs])
    return own.is_beyond(level) and beside.is_beyond() and own.move * beside.move > 0


def _elsewhere(runs: Sequence[Run], moved: DriftLine, others: OtherRuns) -> str:
    """The machine may have changed, unless the drives moved relative to every other storage."""
    courses = [
        [run.await_s() / other[run.repeat] for run in runs if run.repeat in other]
        for other in others
    ]
    found = [line(course) for course in courses if len(course) >= ROUNDS]
    if all(one.is_beyond() and one.move * moved.move > 0 for one in found):
        return "" if found else "no other storage shows whether the machine changed"
    return "not beyond the noise relative to another storage"


def _more_written(runs: Sequence[Run], moved: DriftLine, drive: str = "") -> str:
    """The load may have changed, if the writes moved with their await."""
    loads = [run.drives[drive] if drive else run.whole for run in runs]
    written = line([load.writes_per_s for load in loads])
    return "the writes per second moved with it" if written.move * _sign(moved) > LIMIT else ""


def _claim(runs: Sequence[Run], drives: Sequence[str]) -> str:
    """The await of these drives in the first and in the last half of the runs."""
    half = len(runs) // 2
    first_s, last_s = (
        fmean(run.await_s(name) for run in some for name in drives)
        for some in (runs[:half], runs[-half:])
    )
    names = listed([runs[-1].drives[name].device for name in drives])
    return (
        f"write await of {names} {'rose' if last_s > first_s else 'fell'} from"
        f" {units.time(first_s)} to {units.time(last_s)} over {plural(len(runs), 'run')} at"
        f" {number_of_users(runs[0].users)} (means of the first and the last half)"
    )


def _sign(moved: DriftLine) -> int:
    return 1 if moved.move > 0 else -1


# A line through the figures of repeated runs: how far it moves, and how certain that is.
#
# A least-squares line through logarithms, in the order of time. Its error is widened where
# neighbouring runs are alike. The limit is the slope of the steady-state rule (steady_state.py).

LIMIT = log(1 + SLOPE)
SURE, WITHIN = 0.995, 0.95
"""Levels of Student's t: for a 99% interval beyond the limit, and a 90% interval within it (two
one-sided tests of 5%)."""


class DriftLine(NamedTuple):
    """How far a line through logarithms moves from the first run to the last; its standard error
    and degrees of freedom.
    """

    move: float
    error: float
    freedom: int

    def is_beyond(self, level: float = SURE) -> bool:
        """It moves by more than the limit, with certainty."""
        return abs(self.move) - student_t(self.freedom, level) * self.error > LIMIT

    @property
    def interval(self) -> tuple[float, float]:
        """The 90% interval of its move."""
        half = student_t(self.freedom, WITHIN) * self.error
        return self.move - half, self.move + half

    @property
    def is_within(self) -> bool:
        """It moves by less than the limit, with certainty."""
        return max(map(abs, self.interval)) <= LIMIT


def line(values: Sequence[float]) -> DriftLine:
    """The line through values above 0; of fewer than three nothing is certain.

    >>> line([4.0, 4.1, 3.9, 4.0, 4.1]).is_within, line([4.0, 5.0, 6.1, 7.2, 8.3]).is_beyond()
    (True, True)
    """
    n, up = len(values), [log(value) for value in values]
    if n < 3:
        return DriftLine(0.0, inf, 1)
    found = linear_regression(range(n), up)
    residuals = [y - found.intercept - found.slope * x for x, y in enumerate(up)]
    squares = sum(r * r for r in residuals)
    # variance of the slope: residual variance / sum (x - mean x)^2, which is n (n^2 - 1) / 12
    error = sqrt(squares / (n - 2) / (n * (n * n - 1) / 12)) * widened(residuals, squares)
    return DriftLine(found.slope * (n - 1), error * (n - 1), n - 2)
