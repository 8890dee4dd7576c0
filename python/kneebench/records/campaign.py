"""A whole campaign: the head of its folder, and its climbs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from kneebench.records.climb import Climb, Limits, NoiseFloor
from kneebench.records.configuration import Configuration
from kneebench.records.drives import DriveFill, DriveLoad, Preconditioned, RawProfile, WholeDrive
from kneebench.records.durability import Cut
from kneebench.records.findings import Proof
from kneebench.records.load_hosts import Link
from kneebench.records.machine import Host, Setting, Whereabouts
from kneebench.records.power import CampaignPower
from kneebench.records.predictions import PredictedGains, SavedPrediction
from kneebench.records.record import Record
from kneebench.records.rung import Order

# The plan of a campaign as the analysis asks it: resolved once, by the plan's own rules.


class PlannedPrice(Record):
    """The price of a storage, in the author's words."""

    amount: float
    """Amount of money."""
    currency: str
    """ISO 4217 code of the currency."""
    per: Literal["once", "hour", "month"] = "once"
    """Whether it is paid once, or for each hour or month."""


class PlannedStorage(Record):
    """A storage of the plan."""

    limits: Limits = Limits()
    """Limits of its stop conditions."""
    copies: int = 1
    """Copies of each block, as its devices count them."""
    log_apart: bool = False
    """Whether the log has a directory or volume apart from the data's."""
    shared: bool = False
    """Whether several of its volumes share emulated drives and their limits."""
    price: PlannedPrice | None = None
    """Its price; None where the plan names none."""
    without_flushes: tuple[str, ...] = ()
    """Mount options of its volumes that keep flushes from the drives."""


class PlannedDatabase(Record):
    """A database of the plan."""

    engine: str
    """Name of its engine, such as postgres."""
    memory_bytes: int | None = None
    """Memory limit that it has on all configurations; None: not limited."""


class ResolvedPlan(Record):
    """What the figures of a campaign depend on, with defaults filled in.

    Of a plan that this version does not know, only what it still says; the rest has its defaults.
    """

    question: str = ""
    """Question that the campaign answers."""
    baseline: str = ""
    """Name of the storage that the others are compared with."""
    configurations: tuple[Configuration, ...] = ()
    """Configurations of the plan, the baseline's first."""
    storages: dict[str, PlannedStorage] = Field(default_factory=dict)
    """Storages by their names in the plan."""
    databases: dict[str, PlannedDatabase] = Field(default_factory=dict)
    """Databases by name; of a plan with one database by ""."""
    workload: Literal["tproc-c", "tproc-h"] = "tproc-c"
    """Type of the workload."""
    scale: float = 0.0
    """Scale of TPROC-H's data; 0 for TPROC-C."""
    warehouses: int = 0
    """Number of warehouses in each database."""
    home: str = "all"
    """Home warehouses of a user: "all" of them, or "one" (plan.md)."""
    connections: int = 0
    """Connections shared by all users; 0 for one each."""
    fixed_load: bool = False
    """Whether the plan sets the number of users."""
    precision: float = 0.0
    """Half-width of the throughput ratio's interval, a fraction, that ends short rounds."""
    fewest_rounds: int = 0
    """Fewest final runs per storage, before `precision` may end them."""
    most_rounds: int = 0
    """Most final runs per storage."""
    sysctls: dict[str, str] = Field(default_factory=dict)
    """Kernel settings that the plan sets, by name."""
    emulated: bool = False
    """Whether a volume is made of emulated drives."""
    target: float = 0.0
    """NOPM that is needed, of which a sweep says what it takes; 0 for none."""


class Campaign(Record):
    """Head of a results folder: everything except the rungs. A configuration is named by its id."""

    format: int = 5
    """Number of the format."""
    id: str
    """Name of the campaign's folder when it was made."""
    kneebench: str
    """Version of kneebench that measured."""
    started_at: str
    """Time at which the campaign began."""
    plan: dict[str, object]
    """Plan with all defaults filled in, with the keys of plan.md, without secrets."""
    resolved: ResolvedPlan
    """Plan as the analysis reads it."""
    host: Host
    """Machine that was measured."""
    simulated: bool
    """Whether a model was measured, and no real hardware."""
    settings: dict[str, tuple[Setting, ...]] = Field(default_factory=dict)
    """Settings in force, by configuration."""
    base_image: dict[str, str] = Field(default_factory=dict)
    """Facts about the base image, by name; of several databases after "DATABASE: "."""
    servers: dict[str, Whereabouts] = Field(default_factory=dict)
    """Location of each server, by configuration."""
    link: Link | None = None
    """Network to users on other machines, before the first rung; None without any."""
    power: CampaignPower | None = None
    """Meters of power, with what they showed at rest; None without any."""
    noise_floor: NoiseFloor | None = None
    """Noise floor that the machine had then; None without a measured A/A pair."""
    drives_before: tuple[WholeDrive, ...] = ()
    """Drives under the servers' directories and in the plan, when the campaign began."""
    drives_after: tuple[WholeDrive, ...] = ()
    """Drives at the same places, when it was finished; empty until then."""
    raw_profiles: dict[str, RawProfile] = Field(default_factory=dict)
    """Profile of the storage without a database, by configuration."""
    unprofiled: dict[str, str] = Field(default_factory=dict)
    """Reason why a planned raw profile is missing, by configuration."""
    preconditioned: tuple[Preconditioned, ...] = ()
    """Last preconditioning of each drive of a volume."""
    drive_loads: tuple[DriveLoad, ...] = ()
    """Latest burn-in, and all drains in order, per drive."""
    drive_fills: tuple[DriveFill, ...] = ()
    """Fullest state of each drive after a climb, database included."""
    cuts: dict[str, tuple[Cut, ...]] = Field(default_factory=dict)
    """Cuts of the server under load, by configuration."""
    proofs: dict[str, Proof] = Field(default_factory=dict)
    """Gain by relieving resources, by configuration; empty unless bottlenecks were to be proved."""
    predicted: PredictedGains | None = None
    """What would help the baseline most, by a model; None where none was fitted."""
    saved_predictions: tuple[SavedPrediction, ...] = ()
    """Predictions of its storages that were saved before it began."""
    joined: dict[str, str] = Field(default_factory=dict)
    """Time at which a configuration joined a campaign measured without it, by configuration."""
    fixed_rate: Order | None = None
    """Order with the fixed rate before other configurations joined; None without any."""
    saturation: dict[int, float] = Field(default_factory=dict)
    """Search for saturating cores: busy share of the least busy, by their number."""
    command: str = ""
    """Command line that began the campaign."""
    notes: tuple[str, ...] = ()
    """Sentences that a reader must know of the whole campaign."""

    def interleaved(self, one: str, other: str) -> bool:
        """Whether the final runs of two configurations, by id, were measured in turn."""
        return self.joined.get(one) == self.joined.get(other)

    @property
    def name(self) -> str:
        """The name that its author gave it, which others may have too; empty for none."""
        return str(self.plan.get("name") or "")

    @property
    def tags(self) -> dict[str, str]:
        """Its tags by name."""
        tags = self.plan.get("tags")
        return {str(key): str(one) for key, one in tags.items()} if isinstance(tags, dict) else {}

    @property
    def engines(self) -> dict[str, str]:
        """The engine by the database's name; of a plan with one database by ""."""
        return {name: one.engine for name, one in self.resolved.databases.items()}

    def image_of(self, database: str) -> dict[str, str]:
        """The facts about a database's base image."""
        start = image_fact(database, "")
        facts = self.base_image.items()
        return {name.removeprefix(start): fact for name, fact in facts if name.startswith(start)}

    @property
    def emulated(self) -> bool:
        """Whether a volume is made of emulated drives."""
        return self.resolved.emulated

    @property
    def label(self) -> str:
        """What a reader must know before any figure; empty where all is real."""
        return "Simulated" if self.simulated else "Emulated drives" if self.emulated else ""


def image_fact(database: str, fact: str) -> str:
    """The name of a fact about a base image, of a plan with several databases with the database's.

    >>> image_fact("", "key"), image_fact("mariadb", "key")
    ('key', 'mariadb: key')
    """
    return f"{database}: {fact}" if database else fact


def label_of(campaigns: Iterable[Campaign]) -> str:
    """What a reader must know before any figure of several campaigns; empty where all is real."""
    return " and ".join(dict.fromkeys(one.label for one in campaigns if one.label))


class Results(Record):
    """A whole campaign as the store gives it back: the only thing that analysis, brief and compare
    read.
    """

    campaign: Campaign
    """Head of the campaign's folder."""
    climbs: tuple[Climb, ...]
    """Climb of each configuration, in the plan's order."""
    folder: Path | None = None
    """Folder that it was read from; of an archive, what that contains."""
    archive: Path | None = None
    """Result archive that it was read from; None: a folder."""
    finished: bool = False
    """Whether everything in the plan was measured."""
    kept_id: str = ""
    """Id in its folder, where `campaign.id` is another that tells it apart from a campaign of the
    same id; empty: the same."""

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """What fits one screen; `model_dump_json` has all."""
        yield "id", self.campaign.id
        yield "simulated", self.campaign.simulated
        yield "finished", self.finished
        yield "climbs", self.climbs
