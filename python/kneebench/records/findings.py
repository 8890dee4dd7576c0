"""What the analysis gives."""

from __future__ import annotations

from pydantic import Field

from kneebench.records.configuration import Configuration
from kneebench.records.estimate import InNopm, InSeconds, InTimes, InTpm, InUsers
from kneebench.records.markup import html_table, labelled
from kneebench.records.record import FEW, Record, Verdict
from kneebench.records.rung import Latency


class ExceededLoad(Record):
    """A load whose final runs exceeded the limit on log writes: they are not quoted."""

    users: int
    log_write_s: InSeconds | None
    runs: int


class QuotedLoad(Record):
    """The load of the quoted final runs, with their mean log write and its limit; `within`: None if
    it was not measured. `exceeded`: the loads above it that were measured before.
    """

    users: int
    limit_s: float
    log_write_s: InSeconds | None
    within: bool | None
    exceeded: tuple[ExceededLoad, ...] = ()


class Knee(Record):
    """A configuration's knee as the final runs measured it (search rungs are never quoted).

    `latency_s` and `p999_s` are closed-loop at the knee, widened by the interval of `users`.
    """

    configuration: Configuration
    users: InUsers
    nopm: InNopm
    tpm: InTpm
    latency_s: InSeconds
    p999_s: InSeconds
    latency: Latency | None = None
    peak: bool = False
    label: str = Field(default="", exclude=True)
    """"Simulated" or "Emulated drives", which a reader must know; in no file."""

    def _repr_html_(self) -> str:
        """Each estimate with its interval, and what limits it."""
        certain = self.latency is not None and self.latency.p999_is_certain
        rows = [
            ("Users", str(self.users)),
            ("NOPM", str(self.nopm)),
            ("TPM", str(self.tpm)),
            ("Mean latency", str(self.latency_s)),
            ("P99.9 latency", f"{self.p999_s}{'' if certain else f' ({FEW})'}"),
        ]
        below = ["" if self.peak else "A plateau, not a proven peak: more NOPM may be possible."]
        return html_table((), rows, labelled(self.label, self.configuration.name), below)


class Comparison(Record):
    """`configuration` against `baseline`: ratio > 1 is more of the quantity.

    `differs` only beyond the noise floor and interval.
    """

    quantity: str
    baseline: str
    configuration: str
    ratio: InTimes
    differs: bool
    noise_floor: float
    sentence: str
    label: str = Field(default="", exclude=True)
    """As a knee's."""

    def _repr_html_(self) -> str:
        """The comparison in words, its ratio and the noise floor."""
        rows = [
            ("Ratio", str(self.ratio)),
            ("Noise floor", f"{100 * self.noise_floor:.2g}%"),
            ("Difference", "yes" if self.differs else "not shown"),
        ]
        return html_table((), rows, labelled(self.label, self.quantity), [f"{self.sentence}."])


class ResourceEvidence(Record):
    """What one resource showed at the knee: utilization, saturation and errors in words with their
    numbers, "not measured" where nothing read them.

    `short`: it had too little; None: not measured, or hidden by other processes. `why`: the
    readings that decided, with their limits; `value`, `limit`: the first of them, in `unit` (a
    share of the time, of the cores or of what the storage can do; of log writes also seconds), None
    where nothing was measured, and in older files. `called`: its name where these readings are of
    more than the resource; empty otherwise.
    """

    resource: str
    utilization: str
    saturation: str
    errors: str
    short: bool | None
    why: str
    called: str = ""
    value: float | None = None
    limit: float | None = None
    unit: str = ""

    @property
    def name(self) -> str:
        """What people read."""
        return self.called or self.resource


class TimeShare(Record):
    """A part of a transaction's mean time: as a share of it, and in seconds."""

    share: float
    seconds: float


class Bottleneck(Record):
    """The bottleneck at the knee, and the evidence for it.

    `resource`: the key of a resource (analysis/resources.py), or "unknown"; `called`: as of its
    evidence. `evidence`: lines "for log: ...". `rows`: every resource. `time_split`: where a
    transaction's time went, by class (analysis/time_split.py); empty without waits.

    `verdict`: "suspected" until an intervention relieved the resource; `relief` names the one that
    would prove it, empty where there is none. `gain`: throughput with the relief over that without;
    `next_limit`: what would stop it then, in a sentence.
    """

    configuration: str
    resource: str
    evidence: tuple[str, ...]
    sentence: str
    rows: tuple[ResourceEvidence, ...] = ()
    time_split: dict[str, TimeShare] = Field(default_factory=dict)
    verdict: Verdict = "suspected"
    relief: str = ""
    gain: InTimes | None = None
    next_limit: str = ""
    called: str = ""

    @property
    def name(self) -> str:
        """What people read."""
        return self.called or self.resource


class Relieved(Record):
    """A knee measured again with one resource relieved, in turn with the knee as it was.

    `gain`: NOPM against the knee as it was; None without valid runs. `next_resource`: the
    bottleneck then.
    """

    relief: str
    configuration: Configuration
    gain: InTimes | None
    verdict: Verdict
    next_resource: str
    sentence: str


class Proof(Record):
    """The reliefs that were tried on one configuration at its knee, and why others were
    impossible.
    """

    configuration: str
    users: int
    relieved: tuple[Relieved, ...]
    impossible: dict[str, str] = Field(default_factory=dict)

    @property
    def tried(self) -> tuple[str, ...]:
        """Names of the reliefs, also of impossible ones."""
        return (*(one.relief for one in self.relieved), *self.impossible)

    def and_before(self, kept: Proof | None) -> Proof:
        """This proof with what an earlier one of the same configuration tried."""
        if not kept:
            return self
        relieved = (*kept.relieved, *self.relieved)
        impossible = {**kept.impossible, **self.impossible}
        return self.model_copy(update={"relieved": relieved, "impossible": impossible})
