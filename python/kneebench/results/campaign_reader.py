"""Campaign reader: reads a campaign folder, whether finished, unfinished, or copied from another
machine years later.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from kneebench.analysis.disturbance import CLIMBING, QUOTED
from kneebench.analysis.quoted_load import REPEATED, with_quoted_load
from kneebench.directories import CAMPAIGNS
from kneebench.errors import KneebenchError
from kneebench.ladder.steps import of_climb
from kneebench.plan.drive_class import device_limits
from kneebench.plan.workload import Workload
from kneebench.records import (
    Campaign,
    Check,
    Climb,
    Configuration,
    PlannedStorage,
    RawStorage,
    Record,
    ResolvedPlan,
    Results,
    Rung,
    Second,
    Series,
)
from kneebench.regular_file import names_in
from kneebench.results.agreement import require_climbs, require_quantities
from kneebench.results.allowance import MOST_FILES, Allowance
from kneebench.results.archive import is_archive, unpacked
from kneebench.results.campaign_folders import folders_in
from kneebench.results.formats import (
    NEWER,
    OLDER,
    Finished,
    KeptClimb,
    KeptConditions,
    read_kept,
    read_rung,
)
from kneebench.results.head import read_head, study_of
from kneebench.results.origin import is_own
from kneebench.results.tables import read_seconds, read_series, require_tables


class Listed(Record):
    """One line of `kneebench list`.

    `finding`: a line, with its interval; empty while unfinished. `exit_code` is None while
    unfinished; `damaged` names the file that cannot be read.
    """

    folder: Path
    id: str
    name: str = ""
    question: str = ""
    storages: tuple[str, ...] = ()
    finding: str = ""
    tags: dict[str, str] = Field(default_factory=dict)
    started_at: str = ""
    simulated: bool = False
    finished: bool = False
    exit_code: int | None = None
    rungs: int = 0
    damaged: str = ""


def load(folder: str | Path) -> Results:
    """The campaign in a folder, or in a result archive.

    Rungs are in the order measured; configurations without rungs yet are included, empty.
    """
    folder = Path(folder)
    if is_archive(folder):
        return _from_archive(folder)
    campaign, allowance = read_head(folder), Allowance()
    require_tables(folder)
    rungs = rungs_in(folder, workload(campaign), allowance)
    if not is_own(folder, campaign):
        require_quantities(folder, filter(_is_quoted, rungs))
    return with_rungs(folder, campaign, rungs, allowance)


def _is_quoted(rung: Rung) -> bool:
    return rung.order.phase in QUOTED or rung.order.query > 0


def with_rungs(
    folder: Path, campaign: Campaign, rungs: Sequence[Rung], allowance: Allowance
) -> Results:
    """The campaign in a folder whose rungs were read; the tables of their seconds are not looked
    at.
    """
    plan, finished = campaign.resolved, _finished(folder)
    kept = {climb.id: climb for climb in _climbs(folder, allowance)}
    require_climbs(folder, campaign, kept.values(), rungs)
    planned = _planned(plan, [*kept, *(rung.order.configuration for rung in rungs)])
    configurations = planned | {id_: climb.configuration for id_, climb in kept.items()}
    final_checks, class_limits = _conditions(folder, allowance), _class_limits(campaign)
    climbs = tuple(
        with_quoted_load(
            _climb(kept.get(id_), configuration, rungs).model_copy(
                update={
                    "label": campaign.label,
                    "limits": plan.storages.get(configuration.storage, PlannedStorage()).limits,
                    "class_limits": class_limits.get(configuration.storage, {}),
                    "noise_floor": campaign.noise_floor,
                    "raw": _raw(campaign, configuration),
                    "final_checks": final_checks.get(id_, {}),
                }
            )
        )
        for id_, configuration in configurations.items()
    )
    return Results(campaign=campaign, climbs=climbs, folder=folder, finished=finished is not None)


def _from_archive(archive: Path) -> Results:
    """The campaign in a result archive; an error names that, and not where it is unpacked."""
    folder = unpacked(archive)
    try:
        return load(folder).model_copy(update={"archive": archive, "folder": folder})
    except KneebenchError as error:
        what, seen = (text.replace(str(folder), str(archive)) for text in (error.what, error.seen))
        do = error.do if error.do in (NEWER, OLDER) else "get the archive again"
        raise KneebenchError(what, seen=seen, do=do) from error


def _finished(folder: Path) -> Finished | None:
    """The end of a finished campaign, else None.

    Raises KneebenchError if the folder has more or fewer rungs than at the end.
    """
    file = folder / "finished.json"
    if not os.path.lexists(file):
        return None
    end = read_kept(file, Finished)
    there = len(rung_files(folder))
    if end.rungs and there != end.rungs:
        raise KneebenchError(
            f"cannot read {folder}",
            seen=f"{there} files in rungs/, but {end.rungs} were measured",
            do="restore the folder from a copy, or measure again with --fresh",
        )
    return end


def rung_file(folder: Path, key: str) -> Path:
    """The file of the rung with a key. Raises KneebenchError for a key that is no file's name."""
    if Path(key).name != key or key.startswith("."):
        raise KneebenchError(f"cannot read a rung of {folder}", seen=f"its key is {key!r}")
    return folder / "rungs" / f"{key}.json"


def rung_files(folder: Path) -> list[Path]:
    """The files of all saved rungs."""
    return _documents(folder, "rungs")


def _documents(folder: Path, directory: str) -> list[Path]:
    """The JSON documents in a directory of the campaign's folder; none where it is missing."""
    return [folder / directory / name for name in names_in(folder / directory, ".json", MOST_FILES)]


def _climb(kept: Climb | None, configuration: Configuration, rungs: Iterable[Rung]) -> Climb:
    own = of_last_climb(rung for rung in rungs if rung.order.configuration == configuration.id)
    return (
        kept.model_copy(update={"rungs": own})
        if kept
        else Climb(configuration=configuration, rungs=own)
    )


def _raw(campaign: Campaign, configuration: Configuration) -> RawStorage | None:
    """What the configuration's storage did without a database; None if it was not measured."""
    profile = campaign.raw_profiles.get(configuration.id)
    storage = campaign.resolved.storages.get(configuration.storage)
    if profile is None or storage is None:
        return None
    return RawStorage(
        profile=profile,
        copies=storage.copies,
        log_apart=storage.log_apart,
        shared=storage.shared,
    )


def _class_limits(campaign: Campaign) -> dict[str, dict[str, int]]:
    """Those of the emulated drives of each storage; none if another version wrote the plan and it
    is no longer valid.
    """
    if not campaign.emulated:
        return {}
    try:
        storages = study_of(campaign).storages
    except KneebenchError:
        return {}
    return {name: device_limits(one) for name, one in storages.items()}


def of_last_climb(rungs: Iterable[Rung]) -> tuple[Rung, ...]:
    """The rungs of one configuration without those of an earlier climb, if the climb was
    repeated.
    """
    kept = tuple(rungs)
    last = max((rung.order.repeat for rung in kept if rung.order.phase == "search"), default=0)
    return tuple(
        rung for rung in kept if rung.order.phase not in CLIMBING or of_climb(rung.order) >= last
    )


def rungs_of_climb(configuration: Configuration, rungs: Iterable[Rung]) -> tuple[Rung, ...]:
    """Those of the configuration's last climb, without its final runs."""
    own = (rung for rung in rungs if rung.order.configuration == configuration.id)
    return of_last_climb(rung for rung in own if rung.order.phase not in REPEATED)


def workload(campaign: Campaign) -> Workload | None:
    """The plan's workload; None if another version wrote it and it is no longer valid."""
    try:
        return Workload.model_validate(campaign.plan.get("workload"))
    except ValidationError:
        return None


def _planned(plan: ResolvedPlan, measured: Iterable[str]) -> dict[str, Configuration]:
    """The plan's configurations, plus configurations that only the measured rungs name."""
    named = {configuration.id: configuration for configuration in plan.configurations}
    return named | {id_: Configuration(id=id_, storage=id_) for id_ in measured if id_ not in named}


def kept_rungs(folder: Path) -> tuple[Rung, ...]:
    """The rungs of a campaign, in the order measured."""
    return rungs_in(folder, workload(read_head(folder)))


def rungs_in(
    folder: Path, workload: Workload | None, allowance: Allowance | None = None
) -> tuple[Rung, ...]:
    """The rungs of a campaign with this workload, by which each rung is checked against its own
    numbers.
    """
    allowance = allowance or Allowance()
    kept = {file: read_rung(file, workload, allowance) for file in rung_files(folder)}
    for file, one in kept.items():
        if file.stem != one.rung.order.key:
            raise KneebenchError(
                f"cannot read {file}",
                seen=f"it contains the rung {one.rung.order.key}",
                do="remove the file: it is a copy of another",
            )
    return tuple(one.rung for one in sorted(kept.values(), key=lambda one: one.number))


def _climbs(folder: Path, allowance: Allowance) -> tuple[Climb, ...]:
    """The climbs that have ended, without their rungs."""
    return tuple(
        read_kept(file, KeptClimb, allowance).climb for file in _documents(folder, "climbs")
    )


def _conditions(folder: Path, allowance: Allowance) -> dict[str, dict[str, tuple[Check, ...]]]:
    """The consistency conditions after final runs: by configuration, then by the key of each run's
    last rung, in the order of repeats.
    """
    files = _documents(folder, "conditions")
    kept = [read_kept(file, KeptConditions, allowance) for file in files]
    found: dict[str, dict[str, tuple[Check, ...]]] = {}
    for one in sorted(kept, key=lambda one: (one.last.repeat, one.last.key)):
        found.setdefault(one.last.configuration, {})[one.last.key] = one.checks
    return found


def series(results: Results, rung: Rung, *quantities: str) -> tuple[Series, ...]:
    """The meters' values during a rung, one per second; empty for results without a folder."""
    file = table_of(results, rung, "series")
    return read_series(file, quantities) if file else ()


def seconds(results: Results, rung: Rung) -> tuple[Second, ...]:
    """The seconds of a rung by transaction type; empty for results without a folder."""
    file = table_of(results, rung, "seconds")
    return read_seconds(file) if file else ()


def table_of(results: Results, rung: Rung, directory: str) -> Path | None:
    """The file of a rung's table; None for results without a folder."""
    folder = results.folder
    return folder and folder / directory / f"{rung.order.key}.parquet"


def campaigns(folder: str | Path = CAMPAIGNS) -> list[Listed]:
    """The campaigns in a folder, newest first; a damaged one is listed with its error."""
    found = [_listed(one) for one in folders_in(Path(folder))]
    return sorted(found, key=lambda one: (one.started_at, one.id), reverse=True)


def _listed(folder: Path) -> Listed:
    try:
        head = read_head(folder)
        end = _finished(folder)
    except KneebenchError as error:
        return Listed(folder=folder, id=folder.name, damaged=str(error))
    return Listed(
        folder=folder,
        id=head.id,
        name=head.name,
        question=head.resolved.question,
        storages=tuple(head.resolved.storages),
        finding=end.finding if end else "",
        tags=head.tags,
        started_at=head.started_at,
        simulated=head.simulated,
        finished=end is not None,
        exit_code=end.exit_code if end else None,
        rungs=len(rung_files(folder)),
    )
