"""Campaign folders: their names, and the unfinished campaign that a plan could resume."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from kneebench.directories import make_directory
from kneebench.errors import KneebenchError, Refused
from kneebench.plan.study import Study
from kneebench.records import Campaign, Event, Host, Record, Watch, image_fact, unwatched
from kneebench.results.archive import is_archive
from kneebench.results.compare_plans import Document, leaves, whole, within
from kneebench.results.formats import Finished, read_kept
from kneebench.results.head import read_head
from kneebench.results.lock import held
from kneebench.results.origin import NOT_OWN, is_own

# Whether a campaign can go on: under another plan, and measured by this kneebench.

RESUME_IGNORES = ("question", "brief", "ladder.budget", "accept", "erase")
"""Fields that may change between a killed campaign and the run that resumes it."""


def resumable(kept: Document, requested: Document, but: Sequence[str] = RESUME_IGNORES) -> bool:
    """True if a campaign of the first plan can be resumed under the second: equal except for the
    fields `but`.
    """
    left, right = dict(leaves(whole(kept))), dict(leaves(requested))
    return all(
        left.get(name) == right.get(name) for name in {**left, **right} if not within(name, but)
    )


def measured_by_another(campaign: Campaign, version: str, image: Mapping[str, str]) -> str:
    """Why a campaign cannot go on: another version of kneebench or another base image measured it;
    empty if both match.
    """
    kept = {"kneebench": campaign.kneebench}
    now = {"kneebench": version}
    for database in campaign.engines:
        name, fact = _image_name(database), image_fact(database, "key")
        kept[name], now[name] = campaign.base_image.get(fact, ""), image.get(fact, "")
    return " and ".join(
        f"{name} changed: {kept[name]}, now {now[name]}"
        for name in kept
        if kept[name] and kept[name] != now[name]
    )


def _image_name(database: str) -> str:
    return f"base image of {database}" if database else "base image"


BRIEF = "brief.html"
"""Where `kneebench run` writes a campaign's brief, within its folder."""


HEAD = "campaign.json"
"""What makes a folder a campaign's."""


class _Waiting(Record):
    """An unfinished campaign: where, and since when."""

    started_at: str
    folder: Path


def has_head(folder: Path) -> bool:
    """Whether a folder is a campaign's, be its head damaged or a link to nowhere; so is a result
    archive.
    """
    return os.path.lexists(folder / HEAD) or is_archive(folder)


def folders_in(root: Path) -> list[Path]:
    """The folders of the campaigns in a folder."""
    return sorted(folder for folder in root.glob("*/") if has_head(folder))


def find_unfinished(
    root: Path,
    study: Study,
    host: Host | None = None,
    but: Sequence[str] = RESUME_IGNORES,
    *,
    brief: bool = False,
    reliefs: Sequence[str] | None = None,
    watch: Watch = unwatched,
) -> Path | None:
    """The newest campaign under `root` that this plan could resume: not finished (with `brief`,
    also one whose brief is still to be written; with `reliefs`, also one that lacks their proofs),
    nobody writes into it, recorded by this user
    on this machine, the same plan `but` for some fields (question, budget, what it may
    erase), and (where a host is given) the same machine.
    """
    waiting = []
    for folder in folders_in(root):
        try:
            if held(folder):
                continue
            campaign = read_head(folder)
            if is_finished(folder, brief=brief) and not lacks_proof(campaign, reliefs):
                continue
        except KneebenchError:  # a damaged campaign stops no other; `campaigns` lists its error
            continue
        if resumable(campaign.plan, study.document, but) and (
            host is None or same_machine(host, campaign.host)
        ):
            if is_own(folder, campaign):
                waiting.append(_Waiting(started_at=campaign.started_at, folder=folder))
            else:
                watch(Event(kind="warning", doing=f"not resumed: {folder} {NOT_OWN}"))
    return (
        max(waiting, key=lambda one: (one.started_at, str(one.folder))).folder if waiting else None
    )


def is_finished(folder: Path, *, brief: bool = False) -> bool:
    """Whether everything was measured; with `brief`, also that no brief is still to be written."""
    file = folder / "finished.json"
    if not os.path.lexists(file):
        return False
    if not brief or os.path.lexists(folder / BRIEF):
        return True
    return not read_kept(file, Finished).awaits_brief


def lacks_proof(campaign: Campaign, reliefs: Sequence[str] | None) -> bool:
    """Whether these reliefs (empty: any) are still to be tried; False for None, no proof."""
    if reliefs is None:
        return False
    proofs = campaign.proofs.values()
    return not proofs or any(name not in one.tried for one in proofs for name in reliefs)


def same_machine(a: Host, b: Host) -> bool:
    """True for the same hardware with the same file systems mounted at each path, as far as both
    records say. The same path of a plan may name another drive."""
    places = all(a.places[path] == b.places[path] for path in a.places.keys() & b.places.keys())
    return places and all(
        getattr(a, name) == getattr(b, name) for name in ("cpu", "cores", "memory_bytes", "kernel")
    )


LONGEST_FOLDER = 40
"""Characters of a folder's name: a date, words, and a number where they were taken."""
_DATE = len("2026-11-28-")
LONGEST_NAME = LONGEST_FOLDER - _DATE
"""Characters of a campaign's name."""


def slug(text: str, longest: int = LONGEST_NAME) -> str:
    """Words fit for a folder's name.

    >>> slug("What do two more NVMe drives buy?")
    'what-do-two-more-nvme-drives'
    """
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return (words if len(words) <= longest else words[:longest].rpartition("-")[0]) or "campaign"


def _numbered(dated: str, number: int) -> str:
    """A folder's name with a number, its words cut so that the whole is not too long.

    >>> _numbered("2026-11-28-nightly", 2)
    '2026-11-28-nightly-2'
    >>> _numbered("2026-11-28-what-would-a-faster-drive-buy", 2)
    '2026-11-28-what-would-a-faster-drive-2'
    """
    room = LONGEST_FOLDER - len(f"-{number}")
    if len(dated) <= room:
        return f"{dated}-{number}"
    date, words = dated[:_DATE], dated[_DATE:room]
    return f"{date}{words.rpartition('-')[0] or words}-{number}"


def new_folder(root: Path, dated: str, name: str) -> Path:
    """Make a campaign's folder: `name`, or the first dated one that is free; raises Refused if
    `name` is taken.
    """
    make_directory(root)
    numbered = (_numbered(dated, number) for number in range(2, 1000))
    for one in [name] if name else [dated, *numbered]:
        folder = root / one
        try:
            make_directory(folder, new=True)
        except FileExistsError:
            continue
        return folder
    raise Refused(
        f"cannot create the campaign folder {root / (name or dated)}",
        seen="it already exists",
        do="use another folder, or remove it",
    )
