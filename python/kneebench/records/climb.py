"""A climb: the rungs of one configuration, and what ended them."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from kneebench import units
from kneebench.records.configuration import Configuration
from kneebench.records.drives import RawProfile
from kneebench.records.markup import html_table, labelled
from kneebench.records.record import FEW, Phase, Record, named
from kneebench.records.remark import Severity
from kneebench.records.rung import Check, Rung


class StopResult(Record):
    """The result of a stop condition on a climb.

    `severity` is a caveat if the limit was exceeded without ending the climb. `value` is the number
    behind `seen` and `limit_value` that of the limit, in `unit` (share, s, users, elasticity); None
    where there is none, and in older files. `users`: from where it holds, if not the last rung's.
    """

    stop: str
    fired: bool
    seen: str
    limit: str
    sentence: str
    severity: Severity = "note"
    value: float | None = None
    limit_value: float | None = None
    unit: str = ""
    users: int | None = None

    @property
    def worth_saying(self) -> bool:
        """Whether it ended the climb, or its limit was exceeded."""
        return self.fired or self.severity != "note"


class RawStorage(Record):
    """What the analysis compares a configuration's I/O with: `profile` of its storage without a
    database; `copies` of each block, as its devices count them; `log_apart`: the log is on a
    storage of its own; `shared`: one with the same limits.
    """

    profile: RawProfile
    copies: int = 1
    log_apart: bool = False
    shared: bool = False


class Limits(Record):
    """Limits of the plan's stop conditions, which the analysis uses too; the defaults are those of
    the plan.

    `elasticity`: of throughput to users, on a plateau; `log_write_s`: the longest mean log write;
    `cores_busy`: the share from which the database's cores are busy.
    """

    elasticity: float = 0.07
    log_write_s: float = 0.005
    cores_busy: float = 0.97


class NoiseFloor(Record):
    """What A/A pairs differ by on a machine: the same storage, measured twice under two names.

    `shares`: by the name of the compared quantity; 0.04 is 4%. `pairs`: number of pairs behind it;
    `measured_at`: start of the newest one.
    """

    shares: dict[str, float]
    pairs: int
    measured_at: str


class Climb(Record):
    """Rungs of one configuration in the order measured, and the stop reason.

    `bracket`: the numbers of users between which the knee is.

    `checks`: the consistency conditions after the climb; `final_checks`: those after each final
    run, by the key of its last rung. `limits` come from the plan, `noise_floor`, `raw` and
    `label` ("Simulated" or "Emulated drives") from the head when a campaign is read; they are not
    stored here. Nor is `superseded`: final runs at loads
    beyond the limit on log writes, and runs at a fixed rate that waited for users or had another
    rate (analysis/quoted_load.py). They are in no figure.
    """

    configuration: Configuration
    rungs: tuple[Rung, ...]
    stop_results: tuple[StopResult, ...] = ()
    stopped_by: str = ""
    knee_users: int | None = None
    bracket: tuple[int, int] | None = None
    checks: tuple[Check, ...] = ()
    final_checks: dict[str, tuple[Check, ...]] = Field(default_factory=dict)
    limits: Limits = Field(default=Limits(), exclude=True)
    noise_floor: NoiseFloor | None = Field(default=None, exclude=True)
    raw: RawStorage | None = Field(default=None, exclude=True)
    superseded: tuple[Rung, ...] = Field(default=(), exclude=True)
    label: str = Field(default="", exclude=True)

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """The main fields; of the rungs only their number."""
        yield "storage", self.configuration.storage
        yield "rungs", len(self.rungs)
        yield "knee_users", self.knee_users
        yield "stopped_by", self.stopped_by

    def _repr_html_(self) -> str:
        """A row for each rung with what must be known of it, and why the climb ended."""
        stops = [one.sentence for one in self.stop_results if one.worth_saying]
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
    failed = [f"failed check: {check.name}" for check in rung.checks if not check.passed]
    remarks = [f"invalid: {one.words}" for one in rung.remarks if one.severity == "invalid"]
    remarks += [one.words for one in rung.remarks if one.severity == "caveat"]
    return (
        named(rung.order.phase),
        str(rung.users),
        units.count(rung.tally.nopm),
        units.time(latency.mean_s if latency else None),
        units.time(latency.p999_s if latency else None)
        + ("" if latency is None or latency.p999_is_certain else f" ({FEW})"),
        "; ".join([*failed, *remarks, *([] if rung.steady else ["not steady"])]),
    )
