"""A whole campaign: the head of its folder, and its climbs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from kneebench.records.climb import Climb, NoiseFloor
from kneebench.records.drives import DriveFill, DriveLoad, Preconditioned, RawProfile, WholeDrive
from kneebench.records.findings import Proof
from kneebench.records.link import Link
from kneebench.records.machine import Host, Setting, Whereabouts
from kneebench.records.power import CampaignPower
from kneebench.records.record import Record
from kneebench.records.resolved_plan import ResolvedPlan
from kneebench.records.rung import Order


class Campaign(Record):
    """Head of a results folder: everything except the rungs.

    `plan` is the plan's JSON with all defaults filled in, `resolved` what the analysis asks of it;
    older files are resolved when they are read.
    """

    format: int = 4
    id: str
    kneebench: str
    started_at: str
    plan: dict[str, object]
    resolved: ResolvedPlan = ResolvedPlan()
    host: Host
    simulated: bool
    settings: dict[str, tuple[Setting, ...]] = Field(default_factory=dict)
    base_image: dict[str, str] = Field(default_factory=dict)
    servers: dict[str, Whereabouts] = Field(default_factory=dict)
    """By configuration, in older campaigns by storage; empty in campaigns of old."""
    link: Link | None = None
    """The network to users on other machines, as it was before the first rung."""
    power: CampaignPower | None = None
    """Its meters of power, with what they showed at rest; None without any."""
    noise_floor: NoiseFloor | None = None
    """That of the machine when the campaign was measured; None if no A/A pair had been measured."""
    drives_before: tuple[WholeDrive, ...] = ()
    """Those under the plan's paths, with their health, when the campaign began."""
    drives_after: tuple[WholeDrive, ...] = ()
    """The same when it was finished; empty until then."""
    raw_profiles: dict[str, RawProfile] = Field(default_factory=dict)
    """By configuration: what its storage did without a database."""
    unprofiled: dict[str, str] = Field(default_factory=dict)
    """By configuration: why its storage has no raw profile, though the plan asked for one."""
    preconditioned: tuple[Preconditioned, ...] = ()
    """Each drive of a volume, by its last preconditioning."""
    drive_loads: tuple[DriveLoad, ...] = ()
    """Each drive's latest burn-in, and all its drains in their order; in older files the last."""
    drive_fills: tuple[DriveFill, ...] = ()
    """The fullest that each drive was at the end of a climb, with the database on it; empty in
    older files."""
    proofs: dict[str, Proof] = Field(default_factory=dict)
    """By configuration: what relieving a resource gained; empty unless the run was to prove its
    bottlenecks.
    """
    joined: dict[str, str] = Field(default_factory=dict)
    """When a configuration was added to a campaign that had been measured without it, by
    configuration id.
    """
    fixed_rate: Order | None = None
    """Where configurations were added: the fixed rate that those before them were measured at."""
    saturation: dict[int, float] = Field(default_factory=dict)
    """The search for saturating cores: how busy the least busy one was, by their number."""
    command: str = ""
    notes: tuple[str, ...] = ()

    def interleaved(self, one: str, other: str) -> bool:
        """Whether the final runs of two configurations, by id, were measured in turn."""
        return self.joined.get(one) == self.joined.get(other)

    @property
    def name(self) -> str:
        """The name that its author gave it, which others may have too; empty for none."""
        return str(self.plan.get("name") or "")

    @property
    def tags(self) -> dict[str, str]:
        """Its tags by name; empty in older campaigns."""
        tags = self.plan.get("tags")
        return {str(key): str(one) for key, one in tags.items()} if isinstance(tags, dict) else {}

    @property
    def engines(self) -> dict[str, str]:
        """The engine by the database's name; of a plan with one database by ""."""
        return {name: one.engine for name, one in self.resolved.databases.items()}

    def image_of(self, database: str) -> dict[str, str]:
        """The facts about a database's base image."""
        start = f"{database}: " if database else ""
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


class Results(Record):
    """A whole campaign as the store gives it back: the only thing that analysis, brief and compare
    read. `archive`: the result archive that it was read from, and `folder` what that contains.
    """

    campaign: Campaign
    climbs: tuple[Climb, ...]
    folder: Path | None = None
    archive: Path | None = None
    finished: bool = False

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """What fits one screen; `model_dump_json` has all."""
        yield "id", self.campaign.id
        yield "simulated", self.campaign.simulated
        yield "finished", self.finished
        yield "climbs", self.climbs
