"""The ledger of predictions: those that were saved, and how often their intervals held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.knee import knee
from kneebench.directories import make_directory
from kneebench.errors import PlanError
from kneebench.prediction.misses import memory_of
from kneebench.prediction.observed import cores_of
from kneebench.prediction.prediction import Prediction
from kneebench.records import Climb, Estimate, Record, Results, SavedPrediction
from kneebench.results.atomic_write import write_bytes

FILE = "predictions.json"
"""In the folder that contains campaigns."""


class KeptPrediction(Record):
    """A saved prediction. `storage`: the name that the drive has in the plan which measures it."""

    storage: str
    saved_at: str
    campaign: str
    configuration: str
    warehouses: int
    prediction: Prediction


class Scored(NamedTuple):
    """A saved prediction beside what was measured later; `held`: within its interval."""

    kept: KeptPrediction
    campaign: str
    nopm: Estimate
    resource: str

    @property
    def held(self) -> bool:
        return self.nopm.value in self.kept.prediction.nopm

    @property
    def error(self) -> float:
        """Of the predicted NOPM, as a share of what was measured."""
        return self.kept.prediction.nopm.value / self.nopm.value - 1


_KEPT = TypeAdapter(list[KeptPrediction])


def kept(root: Path) -> list[KeptPrediction]:
    """The saved predictions of a folder, the oldest first. Raises PlanError where the file is
    damaged.
    """
    file = root / FILE
    try:
        return _KEPT.validate_json(file.read_bytes())
    except FileNotFoundError:
        return []
    except ValidationError as error:
        do = "remove it, or restore what was in it"
        raise PlanError(f"cannot read {file}", seen="it has no predictions", do=do) from error


def any_kept(root: Path) -> bool:
    """Whether a folder has a ledger."""
    return (root / FILE).exists()


def save(
    root: Path, results: Results, climb: Climb, named: Iterable[tuple[str, Prediction]]
) -> Path:
    """Add predictions to the ledger, by the names of the storages that will measure them."""
    campaign = results.campaign
    new = [
        KeptPrediction(
            storage=storage,
            saved_at=datetime.now(UTC).isoformat(timespec="seconds"),
            campaign=campaign.id,
            configuration=climb.configuration.name,
            warehouses=campaign.resolved.warehouses,
            prediction=prediction,
        )
        for storage, prediction in named
    ]
    make_directory(root)
    write_bytes(root / FILE, _KEPT.dump_json([*kept(root), *new], indent=1))
    return root / FILE


def scored(some: Sequence[KeptPrediction], later: Sequence[Results]) -> list[Scored]:
    """Each prediction beside the first campaign that began after it was saved and measured what was
    predicted. Those without one are left out.
    """
    in_order = sorted(later, key=lambda each: each.campaign.started_at)
    rows = ((_scored(one, results) for results in in_order) for one in some)
    return [row for each in rows if (row := next(filter(None, each), None))]


def _scored(one: KeptPrediction, results: Results) -> Scored | None:
    climb = _measured(one, results)
    if climb and (found := knee(climb)):
        return Scored(one, results.campaign.id, found.nopm, bottleneck(climb).resource)
    return None


def _measured(one: KeptPrediction, results: Results) -> Climb | None:
    """The climb of what was predicted, in a campaign that began after it was saved: on a storage of
    that name with as many warehouses, and with the memory and cores that were asked for.
    """
    campaign, asked = results.campaign, one.prediction.what_if
    later = datetime.fromisoformat(campaign.started_at) >= datetime.fromisoformat(one.saved_at)
    if not later or campaign.resolved.warehouses != one.warehouses:
        return None
    for climb in results.climbs:
        has = memory_of(climb.configuration), cores_of(results, climb).number
        wanted = asked.memory_bytes, asked.cores
        alike = all(a == b or None in (a, b) for a, b in zip(has, wanted, strict=True))
        if climb.configuration.storage == one.storage and alike:
            return climb
    return None


def saved_before(root: Path, results: Results) -> tuple[SavedPrediction, ...]:
    """What was predicted of a campaign's configurations before it began, the latest of each. Raises
    PlanError where the ledger is damaged.
    """
    found = {climb.id: one for one in kept(root) if (climb := _measured(one, results))}
    return tuple(
        SavedPrediction(
            configuration=id_,
            change=one.prediction.what_if.words,
            saved_at=one.saved_at,
            campaign=one.campaign,
            nopm=one.prediction.nopm,
        )
        for id_, one in found.items()
    )
