"""Predictions from one finished campaign: a configuration of it with a change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import combinations
from operator import attrgetter
from statistics import correlation, fmean

from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.comparison import ratio_estimate
from kneebench.analysis.estimate import student_t
from kneebench.analysis.knee import knee
from kneebench.analysis.wording import percent
from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.errors import InvalidMeasurement, PlanError
from kneebench.prediction.climb import climbed
from kneebench.prediction.fit import TINY
from kneebench.prediction.held_out import LIMIT, Fit, fit
from kneebench.prediction.misses import MissCurve, memory_of, miss_curve
from kneebench.prediction.model import PRECISE, SimulatedLoad, Simulation
from kneebench.prediction.observed import (
    Observed,
    TransactionCores,
    cores_of,
    generator_s,
    noise,
    observed,
    thrashing,
)
from kneebench.prediction.what_if import WhatIf, changed, require_near
from kneebench.records import Climb, Estimate, Knee, Record, Results
from kneebench.results.head import study_of

UNCERTAIN, OPPOSED = 0.5, -0.9
"""Half-width of a parameter's interval over its value, and correlation of two over the models of
the check, beyond which the rungs do not tell them apart."""
METHOD = "jackknife over the numbers of users, with the model's error on those left out"


class PredictedPoint(Record):
    """A number of users on the predicted climb."""

    users: int
    nopm: float
    latency_s: float
    p999_s: float


class Prediction(Record):
    """What a model says of a configuration that was not measured."""

    what_if: WhatIf
    ratio: Estimate
    """NOPM at the knee over that of the configuration that was measured."""
    nopm: Estimate
    """NOPM at the predicted knee."""
    users: int
    """Users at the predicted knee."""
    latency_s: float
    """Mean latency there."""
    p999_s: float
    """99.9th percentile of the latency there."""
    stopped_by: str
    """Name of the stop reason."""
    resource: str
    """Bottleneck at the knee; "unknown" where none stands out."""
    limited_by: str
    """The same for people."""
    at_least: bool
    """Whether it is more, and a resource takes over that limited no configuration of the
    campaign."""
    points: tuple[PredictedPoint, ...]
    """The climb, in the order of users."""


class Parameter(Record):
    """A fitted parameter of the model."""

    name: str
    estimate: Estimate
    unit: str
    identified_by: str


class Predictor:
    """A configuration of a campaign as a model. Raises InvalidMeasurement where the model does not
    reproduce the campaign, and PlanError for a campaign that it does not describe.
    """

    def __init__(self, results: Results, climb: Climb) -> None:
        self.results, self.climb = results, climb
        _require_described(results, climb)
        self.study = study_of(results.campaign)
        self.simulation = Simulation(self.study.workload)
        self.fit = self._fit()
        self.measured = self._knee()

    def _fit(self) -> Fit:
        what = f"cannot predict from {self.climb.configuration.name}"
        try:
            found = fit(
                self.rungs,
                self.cores.number,
                self.simulation,
                log_apart=self._log_apart,
                noise=noise(self.climb, self.cores),
            )
        except ValueError as error:
            do = "measure a climb of more users, such as users = [1, 256] under [ladder]"
            raise PlanError(what, seen=str(error), do=do) from error
        if found.median_error > LIMIT:
            seen = (
                f"the model misses the campaign's own rungs by {percent(found.median_error)}"
                f" (median; limit {percent(LIMIT)})"
            )
            do = "measure on an idle machine; `kneebench what-if --help` lists what is not modelled"
            raise InvalidMeasurement(what, seen=seen, do=do)
        return found

    @property
    def _log_apart(self) -> bool:
        campaign = self.results.campaign
        storage = campaign.resolved.storages[self.climb.configuration.storage]
        return campaign.simulated or storage.log_apart

    def _knee(self) -> Knee:
        found = knee(self.climb)
        if not found:
            what = f"cannot predict from {self.climb.configuration.name}"
            raise InvalidMeasurement(what, seen="it has no knee", do="finish the campaign")
        return found

    @cached_property
    def cores(self) -> TransactionCores:
        return cores_of(self.results, self.climb)

    @cached_property
    def rungs(self) -> tuple[Observed, ...]:
        """The configuration as it was measured."""
        return self.observed(self.climb)

    @cached_property
    def base(self) -> SimulatedLoad:
        """The knee of the model as it was measured: predictions are over this one, so that what the
        model gets wrong is in both.
        """
        found = climbed(self.fit.model, self.study, self.climb.configuration)
        return self.simulation.at(self.fit.model, _users(found), PRECISE)

    @cached_property
    def tail(self) -> float:
        """The measured 99.9th percentile over the model's, at as many users."""
        if not self.measured.p999_s:
            return 1.0
        same = self.simulation.at(self.fit.model, round(self.measured.users.value))
        return self.measured.p999_s.value / same.p999_s

    @cached_property
    def limits(self) -> frozenset[str]:
        """The resources that limited a configuration of the campaign."""
        return frozenset(bottleneck(one).resource for one in self.results.climbs)

    @property
    def alike(self) -> Iterator[tuple[Climb, float]]:
        """The other storages that were measured under the same constraint, each with the log write
        latency of its fewest users.
        """
        own = self.climb.configuration
        for other in self.results.climbs:
            one = other.configuration
            same = (one.database, one.constraint) == (own.database, own.constraint)
            if one.id != own.id and same and (rungs := self.observed(other)):
                yield other, rungs[0].flush_s

    def observed(self, climb: Climb) -> tuple[Observed, ...]:
        """A configuration of the campaign by its number of users, without those that thrash."""
        every = observed(climb, cores_of(self.results, climb))
        return tuple(one for one in every if one not in thrashing(every))

    @property
    def thrashing(self) -> tuple[Observed, ...]:
        """Numbers of users that were left out."""
        return thrashing(observed(self.climb, self.cores))

    @property
    def others(self) -> Iterator[tuple[str, Estimate, float]]:
        """The same by name, with NOPM at the knee over this one's."""
        for other, flush_s in self.alike:
            pair = other.id, self.climb.id
            together = self.results.campaign.interleaved(*pair)
            if ratio := ratio_estimate(other, self.climb, interleaved=together):
                yield other.configuration.name, ratio, flush_s

    def predict(self, change: WhatIf) -> Prediction:
        """The configuration with a change. Raises PlanError for one too far from what was
        measured.
        """
        require_near(change, self.rungs[0].flush_s, self.rungs[0].read_s)
        model = self._changed(self.fit.model, change)
        found = climbed(model, self.study, self.climb.configuration)
        users = _users(found)
        at_knee = self.simulation.at(model, users)
        ratio = self._ratio(change, users)
        short = bottleneck(found)
        anchor = self.measured.nopm.value / self.base.nopm
        return Prediction(
            what_if=change,
            ratio=ratio,
            nopm=as_measured(times(self.measured.nopm, ratio), self.measured.nopm),
            users=users,
            latency_s=at_knee.seen.latency_s / anchor,
            p999_s=at_knee.p999_s * self.tail,
            stopped_by=found.stopped_by,
            resource=short.resource,
            limited_by=short.called,
            at_least=ratio.low > 1 and short.resource not in {"unknown", *self.limits},
            points=tuple(self._points(found, model, anchor)),
        )

    def _points(
        self, found: Climb, model: SimulatedStorage, anchor: float
    ) -> Iterator[PredictedPoint]:
        for users in sorted({rung.users for rung in found.rungs}):
            one = self.simulation.at(model, users)
            yield PredictedPoint(
                users=users,
                nopm=one.nopm * anchor,
                latency_s=one.seen.latency_s / anchor,
                p999_s=one.p999_s * self.tail,
            )

    @cached_property
    def misses(self) -> MissCurve:
        """Of the configurations that differ from this one only in memory."""
        every = [(one, self.observed(one)) for one in self.results.climbs]
        return miss_curve(self.climb.configuration, every)

    def _changed(self, model: SimulatedStorage, change: WhatIf) -> SimulatedStorage:
        memory, joining_s = memory_of(self.climb.configuration), self._joining_s(change.cores)
        return changed(model, change, self.misses, memory, joining_s)

    def _joining_s(self, cores: int | None) -> float:
        """CPU time of the load generator per transaction that comes onto so many cores, below 0:
        leaves them. It shares them where the database has all cores of the machine.
        """
        all_cores = self.results.campaign.host.cores
        if not self.cores.real or cores is None or cores > all_cores:
            return 0.0
        shared = cores == all_cores
        return (shared - self.cores.shared) * generator_s(self.climb)

    def _ratio(self, change: WhatIf, users: int) -> Estimate:
        """NOPM at so many users over that at the knee of the model as it was measured."""

        def log_ratio(model: SimulatedStorage) -> float:
            changed_model = self._changed(model, change)
            if changed_model == model and users == self.base.seen.users:
                return 0.0
            after = self.simulation.at(changed_model, users, PRECISE)
            before = self.simulation.at(model, self.base.seen.users, PRECISE)
            return math.log(after.nopm / before.nopm)

        value = log_ratio(self.fit.model)
        scatter = self.fit.scatter if value else 0.0
        half = _half_width(self._each(log_ratio), scatter)
        return Estimate(
            value=math.exp(value),
            low=math.exp(value - half),
            high=math.exp(value + half),
            n=len(self.rungs),
            method=METHOD,
            unit="x",
        )

    def _each(self, of: Callable[[SimulatedStorage], float]) -> list[float]:
        """A figure by each model that was fitted without a number of users."""
        with ThreadPoolExecutor() as pool:
            return list(pool.map(of, (one.model for one in self.fit.held_out)))

    @property
    def parameters(self) -> Iterator[Parameter]:
        """The fitted parameters with their 95% intervals, and what identified each."""
        for key, (name, unit, by) in PARAMETERS.items():
            if key == "read_latency" and not self.fit.model.reads_per_transaction:
                continue
            value = float(getattr(self.fit.model, key))
            half = _half_width(self._each(attrgetter(key)), 0.0)
            low, high = max(0.0, value - half), value + half
            high = min(1.0, high) if unit == "share" else high
            found = Estimate(value=value, low=low, high=high, n=len(self.rungs), method="jackknife")
            yield Parameter(name=name, estimate=found, unit=unit, identified_by=by)

    @property
    def confused(self) -> tuple[str, str] | None:
        """The two parameters, by name, that the rungs can tell apart least: both are uncertain, and
        where a number of users is left out one grows as the other shrinks. None without such.
        """
        doubtful = [key for key in PARAMETERS if self._uncertainty(key) > UNCERTAIN]
        pairs = [
            (correlation(*(self._each(attrgetter(key)) for key in pair)), pair)
            for pair in combinations(doubtful, 2)
        ]
        found, (one, other) = min(pairs, default=(0.0, ("", "")))
        return (PARAMETERS[one][0], PARAMETERS[other][0]) if found < OPPOSED else None

    def _uncertainty(self, key: str) -> float:
        """Half of a parameter's interval over its value; 0 for one that is always the same."""
        half = _half_width(self._each(attrgetter(key)), 0.0)
        return half / max(TINY, float(getattr(self.fit.model, key)))


PARAMETERS: dict[str, tuple[str, str, str]] = {
    "cpu_per_transaction": ("CPU time per transaction", "s", "busy cores over throughput"),
    "contention": ("Its growth per user beyond the cores", "share", "busy cores by users"),
    "cpu_per_flush": ("CPU time within a log write", "s", "log write latency of the fewest users"),
    "cpu_after_flush": ("CPU time after a log write", "s", "busy cores by flushes"),
    "log_latency": ("Drive's time for a log write", "s", "latency of the fewest users beyond CPU"),
    "reads_per_transaction": ("Reads per transaction", "", "reads of the data device"),
    "read_latency": ("Drive's time for a read", "s", "read times of the fewest users"),
    "affinity": ("Work that waits for one core", "share", "throughput by users"),
}
"""By their names in the model: for people, unit, and what identifies them."""


def _users(found: Climb) -> int:
    """Those at the knee of a climb, or else of its last rung."""
    return found.knee_users or found.rungs[-1].users


def _half_width(each: Sequence[float], scatter: float) -> float:
    """Half of a 95% interval: the jackknife's variance, and that of the model's own error."""
    n, middle = len(each), fmean(each)
    variance = (n - 1) / n * sum((one - middle) ** 2 for one in each)
    return student_t(n - 1) * math.sqrt(variance + scatter**2)


def times(nopm: Estimate, ratio: Estimate) -> Estimate:
    """NOPM that were measured times a ratio, with the intervals of both."""
    found = ratio.model_copy(update={"unit": "NOPM"})
    return _within(found, nopm.value * ratio.value, half_of(nopm), half_of(ratio))


def as_measured(nopm: Estimate, like: Estimate) -> Estimate:
    """NOPM with the interval that they have for runs which are as noisy as other ones."""
    return _within(nopm, nopm.value, half_of(nopm), half_of(like))


def half_of(one: Estimate) -> float:
    """Half of an interval, as logarithms."""
    return math.log(one.high / one.low) / 2 if one.low > 0 else 0.0


def _within(like: Estimate, value: float, *halves: float) -> Estimate:
    half = math.exp(math.hypot(*halves))
    return like.model_copy(update={"value": value, "low": value / half, "high": value * half})


def _require_described(results: Results, climb: Climb) -> None:
    """Raises PlanError for a campaign of another kind than the model is of."""
    plan = results.campaign.resolved
    workload = study_of(results.campaign).workload
    why = ""
    if plan.workload != "tproc-c":
        why = "its queries are not modelled; only TPROC-C is"
    elif plan.fixed_load:
        why = "its load is fixed, and a fit needs a climb"
    elif plan.connections:
        why = "its users share connections, which is not modelled"
    elif workload.databases != 1 or climb.configuration.databases:
        why = "several databases on one server are not modelled"
    elif workload.think_times:
        why = "think times are not modelled"
    if why:
        what = f"cannot predict from {climb.configuration.name}"
        raise PlanError(what, seen=why, do="use a campaign of one TPROC-C database and a climb")
