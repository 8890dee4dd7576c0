"""What the analysis gives."""

from __future__ import annotations

from pydantic import Field

from kneebench import units
from kneebench.records.configuration import Configuration
from kneebench.records.estimate import InNopm, InSeconds, InTimes, InTpm, InUsers
from kneebench.records.markup import html_table, labelled
from kneebench.records.record import FEW, Record, Verdict
from kneebench.records.tally import Latency


class ExceededLoad(Record):
    """A load whose final runs exceeded the limit on log writes: they are not quoted."""

    users: int
    """Number of users of these runs."""
    log_write_s: InSeconds | None
    """Mean log write over the valid runs; None: not measured."""
    runs: int
    """Number of final runs at this load."""


class QuotedLoad(Record):
    """The load of the quoted final runs, with their mean log write and its limit."""

    users: int
    """Number of users of the quoted final runs."""
    limit_s: float
    """Limit on the mean log write."""
    log_write_s: InSeconds | None
    """Mean log write over the valid runs; None: not measured."""
    within: bool | None
    """Whether it is within the limit; None if it was not measured."""
    exceeded: tuple[ExceededLoad, ...] = ()
    """Loads above it that were measured before."""


class KneeEnd(Record):
    """What the climb measured at one end of the interval of the knee's users: one search rung."""

    users: int
    """Number of users of this rung."""
    nopm: float
    """New-Orders per minute of this rung."""
    latency_s: float
    """Mean latency of this rung."""


class Knee(Record):
    """A configuration's knee as the final runs measured it (search rungs are never quoted).

    All figures are of the final runs, at one number of users and in a closed loop; their intervals
    are over these runs. How sure that number is: the interval of `users`, and `ends`.
    """

    configuration: Configuration
    """Configuration that was climbed."""
    users: InUsers
    """Number of users at the knee."""
    nopm: InNopm
    """New-Orders per minute of the final runs."""
    tpm: InTpm
    """Transactions per minute of the final runs, as the database counts them."""
    latency_s: InSeconds
    """Mean latency of the final runs."""
    p999_s: InSeconds
    """P99.9 latency of the final runs, by their merged histograms if possible."""
    latency: Latency | None = None
    """Latency of all final runs together; None: it cannot be merged."""
    peak: bool = False
    """Whether throughput was seen to fall beyond the knee; otherwise a plateau begins."""
    open_ended: bool = False
    """Whether it is the climb's last and best rung, so that the true knee may be higher."""
    ends: tuple[KneeEnd, ...] = ()
    """Search rungs at the ends of the interval of `users`; empty for an exact number of users."""
    label: str = Field(default="", exclude=True)
    """"Simulated" or "Emulated drives", which a reader must know; in no file."""
    caveats: tuple[str, ...] = Field(default=(), exclude=True)
    """What must be known of its runs, likewise."""

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
        below = ["The knee is the climb's last and best rung: it may be higher."] * self.open_ended
        below += self.caveats
        return html_table((), rows, labelled(self.label, self.configuration.name), below)


class Comparison(Record):
    """One quantity of a configuration against that of the baseline."""

    quantity: str
    """Name of the compared quantity, such as nopm or latency.mean."""
    baseline: str
    """Id of the configuration that is the baseline."""
    configuration: str
    """Id of the configuration compared with it."""
    ratio: InTimes
    """Ratio to the baseline: above 1 is more of the quantity."""
    differs: bool
    """Whether a difference is claimed: its interval excludes 1, and it exceeds the noise floor."""
    noise_floor: float
    """Share below which no difference is claimed."""
    sentence: str
    """Comparison in words, with its interval."""
    doubt: str = ""
    """Reason why a difference is not one of the configurations; empty without one."""
    reason: str = ""
    """Reason why no difference is claimed; empty where one is, or the interval is unknown."""
    label: str = Field(default="", exclude=True)
    """"Simulated" or "Emulated drives", as a knee's; in no file."""
    caveats: tuple[str, ...] = Field(default=(), exclude=True)
    """What must be known of the runs of both, likewise."""

    def _repr_html_(self) -> str:
        """The comparison in words, its ratio and the noise floor."""
        rows = [
            ("Ratio", str(self.ratio)),
            ("Noise floor", f"{units.rounded(100 * self.noise_floor)}%"),
            ("Difference", "yes" if self.differs else "not shown"),
        ]
        below = [f"{self.sentence}.", *self.caveats]
        return html_table((), rows, labelled(self.label, self.quantity), below)


class ResourceEvidence(Record):
    """What one resource showed at the knee: utilization, saturation and errors in words with their
    numbers, "not measured" where nothing read them. `value` and `limit` are None where nothing was
    measured.
    """

    resource: str
    """Key of the resource (analysis/resources.py)."""
    utilization: str
    """Utilization of the resource, in words."""
    saturation: str
    """Saturation: queues and waits, in words."""
    errors: str
    """Errors of the resource, in words."""
    short: bool | None
    """Whether it had too little; None: not measured, or hidden by other processes."""
    why: str
    """Readings that decided, with their limits."""
    called: str = ""
    """Name where these readings are of more than the resource; empty otherwise."""
    value: float | None = None
    """First of these readings, in `unit`."""
    limit: float | None = None
    """Limit of this reading, in `unit`."""
    unit: str = ""
    """Unit of both: share of the time, of the cores or of what the storage can do; of log writes
    also s."""

    @property
    def name(self) -> str:
        """What people read."""
        return self.called or {"cpu": "CPU"}.get(self.resource, self.resource)


class TimeShare(Record):
    """A part of a transaction's mean time."""

    share: float
    """Share of a transaction's mean time."""
    seconds: float
    """Part of the mean latency."""


class Bottleneck(Record):
    """The bottleneck at the knee, and the evidence for it."""

    configuration: str
    """Id of the configuration with this knee."""
    resource: str
    """Key of a resource (analysis/resources.py), or "unknown"."""
    evidence: tuple[str, ...]
    """Lines on each resource, such as "for log: ..."."""
    sentence: str
    """Bottleneck in words, with the readings that decided."""
    rows: tuple[ResourceEvidence, ...] = ()
    """Evidence on every resource."""
    time_split: dict[str, TimeShare] = Field(default_factory=dict)
    """Parts of a transaction's time, by class (analysis/evidence.py); empty without waits."""
    verdict: Verdict = "suspected"
    """Whether it is suspected, or proved or refuted by relieving the resource."""
    relief: str = ""
    """Name of the relief that would prove it; empty where there is none."""
    gain: InTimes | None = None
    """Throughput with the relief over that without; None: not measured."""
    next_limit: str = ""
    """Gain of each relief and the next limit, in sentences."""
    called: str = ""
    """Name of the resource, as in its evidence."""

    @property
    def name(self) -> str:
        """What people read."""
        return self.called or {"cpu": "CPU"}.get(self.resource, self.resource)


class Relieved(Record):
    """A knee measured again with one resource relieved, in turn with the knee as it was. A gain of
    at least 5% proves that the resource was the bottleneck; one that is shown to be less refutes
    it.
    """

    relief: str
    """Name of the relief, such as more cores."""
    configuration: Configuration
    """Configuration with the resource relieved."""
    gain: InTimes | None
    """NOPM over that of the knee as it was; None without valid runs, or while still warming."""
    verdict: Verdict
    """Whether the gain proved the resource a bottleneck, refuted it or left it suspected."""
    next_resource: str
    """Bottleneck with the relief: key of a resource, or "unknown"."""
    sentence: str
    """Result as a sentence, with the gain and its interval."""


class Proof(Record):
    """The reliefs that were tried on one configuration at its knee, and why others were
    impossible.
    """

    configuration: str
    """Id of the configuration with this knee."""
    users: int
    """Number of users of all runs, with and without reliefs."""
    relieved: tuple[Relieved, ...]
    """Reliefs that were measured, with their gains."""
    impossible: dict[str, str] = Field(default_factory=dict)
    """Reason why a relief was not possible, by its name."""

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
