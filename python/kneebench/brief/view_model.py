"""Report view model: all values that the sections of a brief need, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from statistics import median
from typing import NamedTuple

from kneebench.analysis import disturbance
from kneebench.analysis.comparison import baseline, compare
from kneebench.analysis.configuration_summary import point
from kneebench.analysis.databases import by_database
from kneebench.analysis.fixed_rate import (
    FixedRateLatency,
    LoadLevel,
    fixed_rate_latency,
    load_levels,
)
from kneebench.analysis.headline import headline, subtitle
from kneebench.analysis.knee import knee, knee_rung, quoted_rungs
from kneebench.analysis.memory import LimitedMemory, limited_memory
from kneebench.analysis.outcome import (
    MissingFigure,
    comparison_checks,
    conditions,
    missing_figures,
    rung_name,
)
from kneebench.analysis.proof import bottlenecks
from kneebench.analysis.sweep import swept_configurations
from kneebench.analysis.wording import named, number_of_users, plural, some_of
from kneebench.brief import chart_theme, server_provenance
from kneebench.errors import KneebenchError
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.default import MEMORY
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study
from kneebench.records import (
    Bottleneck,
    Check,
    Climb,
    Comparison,
    Configuration,
    Knee,
    Remark,
    Results,
    Rung,
    Series,
    Setting,
)
from kneebench.results.campaign_reader import series
from kneebench.results.head import study_of
from kneebench.visible import is_plain


class Failed(NamedTuple):
    """A check that failed, and where."""

    where: str
    check: Check


class ViewModel:
    """The campaign's configurations in running order, and their analysis."""

    def __init__(self, results: Results, configurations: Sequence[str] = ()) -> None:
        """`configurations`: those of the whole campaign by id, of which this is a part."""
        self._configurations = configurations or [climb.id for climb in results.climbs]
        self.results = results
        self.campaign = results.campaign
        self.plan = measured_plan(results)
        self.climbs = results.climbs

    @cached_property
    def databases(self) -> Databases:
        """The databases of the plan, one or several."""
        return Databases(self.results, self.plan)

    @cached_property
    def parts(self) -> tuple[ViewModel, ...]:
        """The campaign of each database, with the colours of the whole."""
        parts = by_database(self.results).values()
        return tuple(ViewModel(part, self._configurations) for part in parts)

    @cached_property
    def title(self) -> str:
        return headline(self.results)

    @cached_property
    def subtitle(self) -> str:
        """The intervals of the headline, and the other comparisons."""
        return subtitle(self.results)

    @cached_property
    def limited_memory(self) -> tuple[LimitedMemory, ...]:
        """Memory limits beside the size of the data, for under the question."""
        return limited_memory(self.results)

    @cached_property
    def disturbances(self) -> tuple[Remark, ...]:
        """Outside disturbances of the quoted runs, for under the title."""
        return disturbance.disturbances(self.results)

    @cached_property
    def knees(self) -> dict[str, Knee]:
        """By configuration: its knee as the final runs measured it; configurations without one are
        missing.
        """
        return {climb.id: found for climb in self.climbs if (found := knee(climb))}

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        return compare(self.results)

    @cached_property
    def lower_bounds(self) -> frozenset[str]:
        """The configurations of sweeps that were still warming, by id."""
        configurations = swept_configurations(self.results).values()
        return frozenset(one.configuration.id for one in configurations if one.warming)

    @cached_property
    def bottlenecks(self) -> dict[str, Bottleneck]:
        """By configuration: its bottleneck at the knee, with what its proof gave."""
        found = bottlenecks(self.results)
        return {climb.id: found[climb.id] for climb in self.climbs if self.at_the_knee(climb)}

    @cached_property
    def fixed_rate_latency(self) -> dict[str, FixedRateLatency]:
        """By configuration: latency in open loop at the fixed rate."""
        return {climb.id: found for climb in self.climbs if (found := fixed_rate_latency(climb))}

    @cached_property
    def load_levels(self) -> dict[str, tuple[LoadLevel, ...]]:
        """By configuration: latency in open loop at percentages of its own throughput."""
        return {climb.id: found for climb in self.climbs if (found := load_levels(climb))}

    @cached_property
    def failed(self) -> tuple[Failed, ...]:
        return tuple(Failed(where, check) for where, check in self._checks() if not check.passed)

    @cached_property
    def checked(self) -> int:
        """How many checks were made."""
        return len(list(self._checks()))

    @cached_property
    def invalid(self) -> tuple[Rung, ...]:
        """Rungs that must not be used."""
        return tuple(rung for climb in self.climbs for rung in climb.rungs if rung.invalid)

    @cached_property
    def missing_figures(self) -> tuple[MissingFigure, ...]:
        """Configurations of a finished campaign without a usable figure."""
        return missing_figures(self.results)

    @property
    def point(self) -> str:
        """What the final runs measured: a knee that a climb found, or the load that the plan
        fixed.
        """
        return point(self.campaign)

    @property
    def restored(self) -> str:
        """The way in which each climb and repeat got its database; empty if unknown, or if several
        databases differ in it.
        """
        plans = self.databases.plans
        ways = {server_provenance.restored(self.campaign, *one) for one in plans.items()}
        return ways.pop() if len(ways) == 1 else ""

    @property
    def own_restore(self) -> str:
        """The words that a sentence adds about the final runs: nothing where they were not
        restored, or nobody knows.
        """
        if self.restored in ("", "none"):
            return ""
        if self.plan.ladder.rounds == "short":
            every = plural(self.plan.ladder.restore_every, "round")
            return f", each storage on a database that was restored every {every}"
        return ", each on a freshly restored database"

    @property
    def base(self) -> Climb:
        """The configuration that the others are compared with."""
        return next((climb for climb in self.climbs if self.is_base(climb)), self.climbs[0])

    def is_base(self, climb: Climb) -> bool:
        """True for a configuration of the baseline's storage: each constraint has one."""
        return climb.configuration.storage == baseline(self.results)

    def compared(self, quantity: str, configuration: str) -> Comparison | None:
        """The comparison of a configuration with the baseline."""
        some = (one for one in self.comparisons if one.quantity == quantity)
        return next((one for one in some if one.configuration == configuration), None)

    def name(self, configuration: str) -> str:
        """Name of a configuration: its storage, and its constraint if there is one."""
        return self._configuration(configuration).name

    def _configuration(self, id_: str) -> Configuration:
        return next(climb.configuration for climb in self.climbs if climb.id == id_)

    def place(self, configuration: str) -> int:
        """The configuration's place, which gives it its colour."""
        return self._configurations.index(configuration)

    def some(self, configurations: list[str]) -> str:
        """Configurations in a sentence; all of them in two words."""
        return some_of(list(map(self._configuration, configurations)), len(self.climbs))

    @property
    def names(self) -> list[str]:
        return [self.name(climb.id) for climb in self.climbs]

    @property
    def direct(self) -> bool:
        """True for few enough configurations to name each in a title or a caption."""
        return len(self.climbs) <= chart_theme.DIRECT

    @property
    def named_at_lines(self) -> bool:
        """True if the names are also short enough to be beside their lines."""
        return self.direct and max(map(len, self.names)) <= chart_theme.SHORT

    @property
    def colours(self) -> list[str]:
        """All configurations' colours, in the order of `names`."""
        return [chart_theme.colour(self.place(climb.id)) for climb in self.climbs]

    @cached_property
    def shared(self) -> dict[str, tuple[str, ...]]:
        """By configuration: the notes that all of its rungs have; `notes` prints them once."""
        return {climb.id: _common(climb.rungs) for climb in self.climbs if climb.rungs}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on all rungs of a configuration, with its name where the others have none of
        them.
        """
        found = {
            note: [id for id, notes in self.shared.items() if note in notes]
            for notes in self.shared.values()
            for note in notes
        }
        return tuple(
            note if len(ids) == len(self.shared) else f"on {self.some(ids)}: {note}"
            for note, ids in found.items()
        )

    def where(self, rung: Rung) -> str:
        """Description of a rung within a sentence."""
        order, level = rung.order, rung.order.phase == "load_level"
        if order.query:
            return f"{self.name(order.configuration)}, {rung_name(rung)}, pass {order.repeat}"
        repeat = order.nth if level else f", repeat{order.nth}" if order.nth else ""
        name, at = self.name(order.configuration), number_of_users(order.users)
        phase = named(order.phase)
        return f"{name}, {phase}{repeat}, {at}" if level else f"{name}, {phase}, {at}{repeat}"

    def at_the_knee(self, climb: Climb) -> Rung | None:
        """The rung that stands for the knee: the final runs' middle one, or the search's where
        there are no final runs.
        """
        valid = quoted_rungs(climb)
        if valid:
            middle = median(rung.tally.nopm for rung in valid)
            return min(valid, key=lambda rung: abs(rung.tally.nopm - middle))
        return knee_rung(climb)

    def series(self, rung: Rung, *quantities: str) -> tuple[Series, ...]:
        """What the meters read through a rung."""
        return series(self.results, rung, *quantities)

    def memory_backed(self, climb: Climb) -> bool:
        """True where its files lay in memory: a path on tmpfs, or a note that says so."""
        return in_memory(self.plan.storages.get(climb.configuration.storage), climb)

    def _checks(self) -> Iterator[tuple[str, Check]]:
        yield from (("comparison", check) for check in comparison_checks(self.results))
        for climb in self.climbs:
            for rung in climb.rungs:
                yield from ((self.where(rung), check) for check in rung.checks)
            yield from (
                (f"{self.name(climb.id)}, {when}", check)
                for when, checks in conditions(climb)
                for check in checks
            )


def _common(rungs: Sequence[Rung]) -> tuple[str, ...]:
    return tuple(note for note in rungs[0].notes if all(note in rung.notes for rung in rungs))


def in_memory(storage: Storage | None, climb: Climb) -> bool:
    """Whether a configuration's files lay in memory: a path on tmpfs, or a remark of a rung."""
    paths = [path for path in (storage.path, storage.log_path) if path] if storage else []
    backed = any(MEMORY in (path, *path.parents) for path in paths)
    kinds = {one.kind for rung in climb.rungs for one in rung.remarks}
    return backed or "memory_backed" in kinds


# The measured plan and its databases, one or several, as the sections of a brief speak of them.


class Databases:
    """`plans`: what the plan says of each database, by name; of one with one database, by ""."""

    def __init__(self, results: Results, study: Study) -> None:
        self._results, self.plans = results, study.databases

    def settings(self, name: str) -> tuple[Setting, ...]:
        """The settings in force on the first configuration that was measured with the database."""
        climbs = self._results.climbs
        ids = [climb.id for climb in climbs if climb.configuration.database == name]
        kept = self._results.campaign.settings
        return next((kept[id_] for id_ in ids if id_ in kept), ())

    def version(self, name: str) -> str:
        """The major version of the database's servers; empty if unknown."""
        return self.plans[name].engine.major_version(self.settings(name))

    def said(self, of: Callable[[str, DatabasePlan], str]) -> list[str]:
        """A sentence about each database: once if it is the same for all, else with the names."""
        found = {name: of(name, plan) for name, plan in self.plans.items()}
        if len({*found.values()}) == 1:
            return list(filter(None, {*found.values()}))
        return [f"{name}: {sentence}" for name, sentence in found.items() if sentence]


def measured_plan(results: Results) -> Study:
    """The measured plan.

    Raises KneebenchError for a plan of another version, and for names that no chart can draw.
    """
    study = study_of(results.campaign)
    if odd := [
        climb.configuration.storage
        for climb in results.climbs
        if not is_plain(climb.configuration.storage)
    ]:
        raise KneebenchError(
            f"cannot read the plan of {results.campaign.id}",
            seen=f"control characters in the storage's name {odd[0]!r}",
            do="measure again with a plan that names it otherwise",
        )
    return study
