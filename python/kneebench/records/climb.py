"""A climb: the rungs of one configuration, and what ended them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from kneebench import units
from kneebench.records.configuration import Configuration
from kneebench.records.drives import RawProfile
from kneebench.records.markup import html_table, labelled
from kneebench.records.record import FEW, Phase, Record, Severity, named
from kneebench.records.rung import Check, Rung


class StopResult(Record):
    """The result of a stop condition on a climb. `value`, `limit_value` and `users` are None where
    there is no such number.
    """

    stop: str
    """Name of the stop condition, or of another stop reason or flag."""
    fired: bool
    """Whether its condition was met, which ends a climb."""
    seen: str
    """Value that was seen, in words."""
    limit: str
    """Limit of this value, in words."""
    sentence: str
    """Result as a sentence, with the value seen and the limit."""
    severity: Severity = "note"
    """Severity: a caveat if the limit was exceeded without ending the climb."""
    value: float | None = None
    """Number behind `seen`, in `unit`."""
    limit_value: float | None = None
    """Number of the limit, in `unit`."""
    unit: str = ""
    """Unit of both numbers: share, s, users, elasticity or W; empty without numbers."""
    users: int | None = None
    """Number of users from which it holds; None: that of the last rung."""

    @property
    def worth_saying(self) -> bool:
        """Whether it ended the climb, or its limit was exceeded."""
        return self.fired or self.severity != "note"


class RawStorage(Record):
    """What the analysis compares a configuration's I/O with."""

    profile: RawProfile
    """Profile of its storage without a database."""
    copies: int = 1
    """Copies of each block, as its devices count them."""
    log_apart: bool = False
    """Whether the log has a storage of its own."""
    shared: bool = False
    """Whether its volumes share emulated drives, and their limits."""


class Limits(Record):
    """Limits of the plan's stop conditions, which the analysis uses too; the defaults are those of
    the plan.
    """

    elasticity: float = 0.07
    """Elasticity of throughput to users, below which it is a plateau."""
    log_write_s: float = 0.005
    """Longest mean log write within the limit."""
    cores_busy: float = 0.97
    """Share of time from which the database's cores count as busy."""


class NoiseFloor(Record):
    """What A/A pairs differ by on a machine: the same storage, measured twice under two names."""

    shares: dict[str, float]
    """Noise floor by the name of the compared quantity; 0.04 is 4%."""
    pairs: int
    """Number of A/A pairs behind it."""
    measured_at: str
    """Time of day when the newest pair began."""


class Climb(Record):
    """Rungs of one configuration in the order measured, and the stop reason."""

    configuration: Configuration
    """Configuration that was climbed."""
    rungs: tuple[Rung, ...]
    """Rungs in the order measured; empty in its file, as each has its own."""
    stop_results: tuple[StopResult, ...] = ()
    """Results of the stop conditions, those that fired first; then flags."""
    stopped_by: str = ""
    """Name of the stop reason; empty: none was recorded."""
    knee_users: int | None = None
    """Number of users at the knee, or of the fixed load; None: no knee was found."""
    bracket: tuple[int, int] | None = None
    """Numbers of users between which the knee is; None: none were found."""
    checks: tuple[Check, ...] = ()
    """Consistency conditions after the climb."""
    final_checks: dict[str, tuple[Check, ...]] = Field(default_factory=dict)
    """Consistency conditions after final runs, by the key of the last rung; empty in its file."""
    limits: Limits = Field(default=Limits(), exclude=True)
    """Limits from the plan, when a campaign is read; not stored here."""
    noise_floor: NoiseFloor | None = Field(default=None, exclude=True)
    """Noise floor of the machine from the head, likewise."""
    raw: RawStorage | None = Field(default=None, exclude=True)
    """Raw profile of the storage from the head, likewise."""
    class_limits: dict[str, int] = Field(default_factory=dict, exclude=True)
    """Reads and writes per second that the storage's emulated drives allow, likewise."""
    superseded: tuple[Rung, ...] = Field(default=(), exclude=True)
    """Final runs at loads beyond the limit on log writes, and runs at a fixed rate that waited for
    users or had another rate (analysis/quoted_load.py). They are in no figure, and not stored here.
    """
    label: str = Field(default="", exclude=True)
    """"Simulated" or "Emulated drives", from the head, likewise."""

    @property
    def ended_by(self) -> StopResult | None:
        """The result of the stop reason; None while it goes on. Another condition that was met on
        the same rung did not decide where the knee is.
        """
        ends = (one for one in self.stop_results if one.fired and one.stop == self.stopped_by)
        return next(ends, None)

    @property
    def flags(self) -> tuple[StopResult, ...]:
        """Limits that were exceeded without ending it, and doubts of its knee."""
        some = (one for one in self.stop_results if not one.fired)
        return tuple(one for one in some if one.severity != "note")

    @property
    def reported(self) -> tuple[StopResult, ...]:
        """What people read of it: what ended it, then its flags."""
        return (*((self.ended_by,) if self.ended_by else ()), *self.flags)

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """The main fields; of the rungs only their number."""
        yield "configuration", self.configuration.name
        yield "rungs", len(self.rungs)
        yield "knee_users", self.knee_users
        yield "stopped_by", self.stopped_by

    def _repr_html_(self) -> str:
        """A row for each rung with what must be known of it, and why the climb ended."""
        stops = [one.sentence for one in self.reported]
        head = ("Phase", "Users", "NOPM", "Mean latency", "P99.9 latency", "Remarks")
        caption = labelled(self.label, self.configuration.name)
        return html_table(head, map(_cells, self.rungs), caption, [f"{one}." for one in stops])

    @property
    def id(self) -> str:
        """That of its configuration."""
        return self.configuration.id

    def of(self, *phases: Phase) -> tuple[Rung, ...]:
        """The rungs of these phases, as measured."""
        return tuple(r for r in self.rungs if r.order.phase in phases)

    def repeats(self, phase: Phase) -> frozenset[int]:
        """The repeats of a phase's rungs, valid or not; those of a fixed load are its final runs if
        it has no others.
        """
        rungs = self.of(phase) or (self.of("fixed_load") if phase == "final_run" else ())
        return frozenset(rung.order.repeat for rung in rungs)

    @property
    def stepped_down(self) -> bool:
        """Whether final runs at more users exceeded the limit on log writes, so that the quoted
        ones have fewer than the knee that the climb found.
        """
        return any(rung.order.phase == "final_run" for rung in self.superseded)


def _cells(rung: Rung) -> tuple[str, ...]:
    """A rung as a row for people."""
    latency = rung.tally.latency
    return (
        named(rung.order.phase),
        str(rung.users),
        units.count(rung.tally.nopm),
        units.time(latency.mean_s if latency else None),
        units.time(latency.p999_s if latency else None)
        + ("" if latency is None or latency.p999_is_certain else f" ({FEW})"),
        "; ".join(words for _, words in _known_of(rung)),
    )


def _known_of(rung: Rung) -> list[tuple[str, str]]:
    """What must be known of a rung, with its kind: the worst first."""
    failed = [(one.name, f"failed check: {one.name}") for one in rung.checks if not one.passed]
    invalid = [one for one in rung.remarks if one.severity == "invalid"]
    caveats = [one for one in rung.remarks if one.severity == "caveat"]
    return [
        *failed,
        *((one.kind, f"invalid: {one.words}") for one in invalid),
        *((one.kind, one.words) for one in caveats),
        *([] if rung.steady else [("steady", "not steady")]),
    ]


def caveats_of(rungs: Sequence[Rung]) -> tuple[str, ...]:
    """What must be known of some runs: each kind once, in the words of its first run."""
    found: dict[str, list[str]] = {}
    for rung in rungs:
        own: dict[str, str] = {}
        for kind, words in _known_of(rung):
            own.setdefault(kind, words)
        for kind, words in own.items():
            found.setdefault(kind, []).append(words)
    return tuple(f"{len(said)} of {len(rungs)} runs: {said[0]}." for said in found.values())
