"""The facts of a campaign that are not rungs: kept in its head, each at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kneebench.records import (
    Campaign,
    CampaignPower,
    Configuration,
    Cut,
    DriveFill,
    DriveLoad,
    Link,
    NoiseFloor,
    Preconditioned,
    PredictedGains,
    Proof,
    RawProfile,
    SavedPrediction,
    Setting,
    Whereabouts,
    WholeDrive,
)
from kneebench.results.formats import write_kept
from kneebench.results.measured_files import MeasuredFiles


class HeadKeeper:
    """The head of a campaign's folder, which is open for writing."""

    folder: Path
    campaign: Campaign
    _files: MeasuredFiles

    def put_settings(self, configuration: Configuration, settings: Sequence[Setting]) -> None:
        """Keep the settings that were in force on a configuration, and note each that changed
        before the campaign was resumed.
        """
        was, now = (
            {s.name: s.value for s in some}
            for some in (self.campaign.settings.get(configuration.id, ()), settings)
        )
        for name in sorted({*was, *now}) if was else ():
            if was.get(name) != now.get(name):
                self.put_note(
                    f"{name} changed on {configuration.name} during the campaign:"
                    f" {was.get(name, 'not set')}, then {now.get(name, 'not set')}"
                )
        self._change(settings={**self.campaign.settings, configuration.id: tuple(settings)})

    def put_base_image(self, facts: Mapping[str, str]) -> None:
        """Keep the facts about the loaded image."""
        self._change(base_image={**self.campaign.base_image, **facts})

    def put_servers(self, servers: Mapping[str, Whereabouts]) -> None:
        """Keep where the servers run, by configuration."""
        self._change(servers=dict(servers))

    def put_known(
        self, floor: NoiseFloor | None, link: Link | None, power: CampaignPower | None = None
    ) -> None:
        """Keep the machine's noise floor, the network to its users and the meters of power, as far
        as known; what these showed before a resume stays.
        """
        if power and (kept := self.campaign.power):
            power = power.model_copy(update={"idle": kept.idle, "lags": kept.lags})
        self._change(noise_floor=floor, link=link, power=power)

    def put_power(self, power: CampaignPower) -> None:
        """Keep what the meters of power showed at rest."""
        self._change(power=power)

    def put_drives_before(self, drives: Sequence[WholeDrive]) -> None:
        """Keep the drives as they were when the campaign began; a resumed one began before, and
        only drives of configurations that joined it are added.
        """
        before = self.campaign.drives_before
        known = {one.key for one in before}
        if not before or self.campaign.joined:
            added = (one for one in drives if one.key not in known)
            self._change(drives_before=(*before, *added))

    def put_drives_after(self, drives: Sequence[WholeDrive]) -> None:
        """Keep the drives as the campaign left them."""
        self._change(drives_after=tuple(drives))

    def put_drive_written(self, done: Preconditioned | DriveLoad) -> None:
        """Keep what was done to a drive before its volume was made: all drains, else the latest."""
        self._keep(with_written(self.campaign, done))

    def put_drive_fills(self, fills: Sequence[DriveFill]) -> None:
        """Keep how full the drives are, for each the fullest so far."""
        self._keep(with_fills(self.campaign, fills))

    def put_raw_profile(self, configuration: Configuration, profile: RawProfile) -> None:
        """Keep what the configuration's storage did without its database."""
        self._change(raw_profiles={**self.campaign.raw_profiles, configuration.id: profile})

    def put_unprofiled(self, configuration: Configuration, why: str) -> None:
        """Keep why that was not measured."""
        self._change(unprofiled={**self.campaign.unprofiled, configuration.id: why})

    def put_proof(self, proof: Proof) -> None:
        """Keep what relieving a resource gained on a configuration."""
        self._change(proofs={**self.campaign.proofs, proof.configuration: proof})

    def put_cut(self, cut: Cut) -> None:
        """Keep a cut of a configuration's server."""
        before = self.campaign.cuts.get(cut.configuration, ())
        self._change(cuts={**self.campaign.cuts, cut.configuration: (*before, cut)})

    def put_predictions(
        self, predicted: PredictedGains | None, saved: Sequence[SavedPrediction]
    ) -> None:
        """Keep what would help most, and what had been predicted of the campaign's storages."""
        self._change(predicted=predicted, saved_predictions=tuple(saved))

    def put_saturation(self, tried: Mapping[int, float]) -> None:
        """Keep how busy the least busy core was, by the number of cores tried."""
        self._change(saturation=dict(tried))

    def put_note(self, note: str) -> None:
        """Keep something that the reader must know about the whole campaign."""
        if note not in self.campaign.notes:
            self._change(notes=(*self.campaign.notes, note))

    def _change(self, **fields: object) -> None:
        self._keep(self.campaign.model_copy(update=fields))

    def _keep(self, changed: Campaign) -> None:
        if changed != self.campaign:
            with self._files.writing():
                write_kept(self.folder / "campaign.json", changed)
            self.campaign = changed


# What a campaign keeps of its drives, with what becomes known later: pure functions.


def with_written(campaign: Campaign, done: Preconditioned | DriveLoad) -> Campaign:
    """The head with what was done to a drive before its volume was made: all drains, else the
    latest.
    """
    if isinstance(done, DriveLoad):
        every = enumerate((*campaign.drive_loads, done))
        loads = {(one.drive, n if one.kind == "drain" else -1): one for n, one in every}
        return campaign.model_copy(update={"drive_loads": tuple(loads.values())})
    drives = {one.drive: one for one in (*campaign.preconditioned, done)}
    return campaign.model_copy(update={"preconditioned": tuple(drives.values())})


def with_fills(campaign: Campaign, fills: Sequence[DriveFill]) -> Campaign:
    """The head with how full the drives are, for each the fullest so far."""
    fullest = {one.drive: one for one in campaign.drive_fills}
    for one in fills:
        if one.drive not in fullest or one.share > fullest[one.drive].share:
            fullest[one.drive] = one
    return campaign.model_copy(update={"drive_fills": tuple(fullest.values())})
