"""The command that answers from a model: what-if."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kneebench.commands.completing import campaign_names
from kneebench.commands.options import CAMPAIGN_HELP, Csv, Json, PageFile, Root
from kneebench.commands.output import checked_page, print_line, require_one, show_campaigns
from kneebench.directories import CAMPAIGNS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kneebench.prediction.what_if import WhatIf
    from kneebench.records import Climb, Results

HELP = """Predict what another drive, memory or number of cores would do. Nothing is measured.

A queueing model of cores, reads, log flushes and row locks is fitted to a finished campaign.
First each number of users is left out in turn and predicted by the model of the others: above
a median error of 15% nothing is predicted. Several values of an option, separated by commas,
are predicted one by one.

Not modelled: checkpoints, limits of writes alone, think times, several databases on one
server, TPROC-H.

\b
Examples:
  kneebench what-if latest --log-write 40us --read 80us
  kneebench what-if latest --drive nvme.json --page what-if.html
  kneebench what-if latest --memory 16GiB,32GiB,64GiB --cores 8
  kneebench what-if latest --log-write 40us --save nvme
  kneebench what-if --score
"""

MOST_BYTES = 64 * 2**20
"""Of a profile, with fio's own documents."""
LogWrite = Annotated[
    str | None,
    typer.Option(
        "--log-write",
        metavar="TIME[,TIME]...",
        help="Time of a log write with its flush on the other drive, for one user, such as 40us.",
        show_default=False,
    ),
]
Read = Annotated[
    str | None,
    typer.Option(
        "--read",
        metavar="TIME[,TIME]...",
        help="Time of a read on the other drive at queue depth 1, such as 80us.",
        show_default=False,
    ),
]
Drive = Annotated[
    Path | None,
    typer.Option(
        "--drive",
        metavar="FILE.JSON",
        help="The other drive by its profile: `kneebench profile --out FILE.json` on it.",
        show_default=False,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE[,SIZE]...",
        help="Memory of the database; needs a campaign with a sweep over memory.",
        show_default=False,
    ),
]
Cores = Annotated[
    str | None,
    typer.Option(
        "--cores",
        metavar="N[,N]...",
        help="Cores, the load generator's included if it shares them.",
        show_default=False,
    ),
]
Configured = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="CONFIGURATION",
        help="Configuration of the campaign that is changed; without it, the baseline, and all"
        " others that differ from it only in what is changed.",
        show_default=False,
    ),
]
Save = Annotated[
    str | None,
    typer.Option(
        "--save",
        metavar="STORAGE[,STORAGE]...",
        help="Keep the predictions in the ledger, each by the name that the storage will have in"
        " the plan that measures it; a single name is that of all.",
        show_default=False,
    ),
]
Score = Annotated[
    bool,
    typer.Option("--score", help="Show the saved predictions beside what was measured later."),
]
ModelledCampaign = Annotated[
    str | None,
    typer.Argument(
        metavar="CAMPAIGN",
        help=CAMPAIGN_HELP,
        show_default=False,
        autocompletion=campaign_names,
    ),
]


def what_if(
    campaign: ModelledCampaign = None,
    log_write: LogWrite = None,
    read: Read = None,
    drive: Drive = None,
    memory: Memory = None,
    cores: Cores = None,
    configuration: Configured = None,
    root: Root = CAMPAIGNS,
    save: Save = None,
    score: Score = False,
    page: PageFile = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Predict what another drive, memory or number of cores would do; `HELP` has the rest."""
    from kneebench.brief.campaigns import PredictionPage
    from kneebench.prediction.ledger import save as save_predictions
    from kneebench.prediction.pooled import others_for, pooled
    from kneebench.prediction.prediction import Predictor

    require_one({"--json": as_json, "--csv": as_csv})
    checked_page(page)
    if score:
        _show_score(root, page, as_csv=as_csv, as_json=as_json)
        return
    results, climb = _chosen(campaign, configuration, root)
    asked = _asked(log_write, read, memory, cores, drive)
    names = _names(save, len(asked))
    _say_fitted(climb)
    found = Predictor(results, climb)
    others = others_for(found, asked, _say_fitted) if configuration is None else ()
    predictions = [pooled(found, others, one) for one in asked]
    if names:
        file = save_predictions(root, results, climb, zip(names, predictions, strict=True))
        print_line(f"saved: {file}", err=True)
    show_campaigns(PredictionPage(found, predictions, others), page, as_csv=as_csv, as_json=as_json)


def _say_fitted(climb: Climb) -> None:
    print_line(f"fitting the model to {climb.configuration.name}", err=True)


def _chosen(campaign: str | None, wanted: str | None, root: Path) -> tuple[Results, Climb]:
    """The campaign and the climb to change. Raises PlanError without one of that name."""
    from kneebench.commands.campaigns import load_named
    from kneebench.errors import PlanError

    if campaign is None:
        do = "name one: kneebench what-if latest --log-write 40us"
        raise PlanError("what-if", seen="no campaign is named", do=do)
    results = load_named(campaign, root)
    for climb in results.climbs:
        one = climb.configuration
        if wanted in (None, one.id, one.name, one.storage):
            return results, climb
    names = ", ".join(climb.configuration.name for climb in results.climbs)
    seen = f"the campaign has no {wanted!r}" if wanted else "the campaign has no climb"
    raise PlanError("what-if", seen=seen, do=f"use one of: {names}" if names else "resume it")


def _names(save: str | None, predictions: int) -> list[str]:
    """The names of the storages to save; a single one is that of all predictions. Raises PlanError
    for another number of them.
    """
    from kneebench.errors import PlanError

    names = [one.strip() for one in save.split(",")] if save else []
    if len(names) == 1:
        names *= predictions
    if names and (len(names) != predictions or not all(names)):
        seen = f"{len(names)} names for {predictions} predictions"
        do = "give each prediction the name of its storage, or one name for all"
        raise PlanError("--save", seen=seen, do=do)
    return names


def _show_score(root: Path, page: Path | None, *, as_csv: bool, as_json: bool) -> None:
    """The saved predictions beside what was measured later."""
    from kneebench.brief.campaigns import ScorePage
    from kneebench.errors import PlanError
    from kneebench.prediction.ledger import FILE, kept, scored
    from kneebench.results import campaigns, load

    some = kept(root)
    if not some:
        do = "save some: kneebench what-if latest --log-write 40us --save nvme"
        raise PlanError("--score", seen=f"no predictions are in {root / FILE}", do=do)
    later = [load(one.folder) for one in campaigns(root) if one.finished]
    if not (found := scored(some, later)):
        names = ", ".join(dict.fromkeys(one.storage for one in some))
        seen = f"no finished campaign in {root} measured {names} since"
        raise PlanError("--score", seen=seen, do="measure a plan with a storage of that name")
    used = {one.campaign for one in found}
    whole = ScorePage(found, [one for one in later if one.campaign.id in used])
    show_campaigns(whole, page, as_csv=as_csv, as_json=as_json)


def _asked(
    log_write: str | None,
    read: str | None,
    memory: str | None,
    cores: str | None,
    drive: Path | None,
) -> Sequence[WhatIf]:
    """Every combination of the values. Raises PlanError without any, and for one that is wrong."""
    from itertools import product

    from kneebench.errors import PlanError
    from kneebench.prediction.what_if import WhatIf
    from kneebench.units import parse_size, parse_time

    if drive and (log_write or read):
        do = "give the drive once"
        raise PlanError("--drive", seen="--log-write or --read is given too", do=do)
    each = {
        "log_write_s": _values("--log-write", log_write, parse_time),
        "read_s": _values("--read", read, parse_time),
        "memory_bytes": _values("--memory", memory, parse_size),
        "cores": _values("--cores", cores, _whole),
    }
    given = {name: values for name, values in each.items() if values}
    base = _drive(drive) if drive else {}
    if not given and not base:
        seen = "nothing would change"
        do = "add --log-write, --read, --drive, --memory or --cores"
        raise PlanError("what-if", seen=seen, do=do)
    return [
        WhatIf(**{**base, **dict(zip(given, values, strict=True))})
        for values in product(*given.values())
    ]


def _values(option: str, text: str | None, read: Callable[[str], float]) -> list[float]:
    """The values of an option, all above 0. Raises PlanError for one that cannot be read."""
    from kneebench.errors import PlanError

    found = []
    for part in [] if text is None else text.split(","):
        try:
            value = read(part.strip())
        except ValueError as error:
            raise PlanError(option, seen=str(error), do="`kneebench what-if --help`") from error
        if value <= 0:
            raise PlanError(option, seen=f"{part.strip()} is not above 0", do="use more")
        found.append(value)
    return found


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{text!r} is no number of cores")
    return int(text)


def _drive(file: Path) -> dict[str, float]:
    """The figures of a profiled drive. Raises PlanError for a file that is no profile."""
    from pydantic import ValidationError

    from kneebench.errors import PlanError
    from kneebench.measurement.profile import Profile
    from kneebench.prediction.profiled_drive import figures_of
    from kneebench.regular_file import named_content

    do = f"write one on that drive: kneebench profile --out {file.name}"
    try:
        profile = Profile.model_validate_json(named_content(file, MOST_BYTES, do))
    except OSError as error:
        raise PlanError(f"cannot read {file}", seen=error.strerror or "", do=do) from error
    except ValidationError as error:
        raise PlanError(f"cannot read {file}", seen="it is no profile", do=do) from error
    return figures_of(profile)
