"""Campaigns by name: what a person types where a campaign is expected, and the folder it means.

A path; a folder's name; the name that `run --name` gave, which several campaigns may have; the
beginning of either, where only one campaign has it; `latest`. `~1` behind `latest` or a name is the
campaign before, `~2` the one before that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from kneebench.directories import CAMPAIGNS
from kneebench.errors import PlanError
from kneebench.plan.values import LATEST
from kneebench.results.archive import ENDING
from kneebench.results.campaign_folders import HEAD, has_head
from kneebench.results.campaign_reader import Listed, campaigns

_BEFORE = re.compile(r"(?P<name>.+?)~(?P<number>\d{1,6})")
_MOST_SHOWN = 5


def find_campaign(name: str | Path, root: str | Path = CAMPAIGNS) -> Path:
    """The folder of the campaign of that name, or path; `root` is the folder of campaigns.

    Raises PlanError, with the names that were perhaps meant, where there is none or more than one.
    """
    name, root = str(name), Path(root)
    if found := campaign_at(name, root):
        return found
    if not root.is_dir() and root != CAMPAIGNS:
        raise PlanError(str(root), seen="no such folder", do="name a folder of campaigns")
    asked = _BEFORE.fullmatch(name)
    wanted, before = (asked["name"], int(asked["number"])) if asked else (name, 0)
    listed = campaigns(root)
    same = _of_name(wanted, listed)
    if before < len(same):
        return same[before].folder
    raise _too_few(name, wanted, root, same) if same else _unknown(name, wanted, root, listed)


def campaign_at(name: str, root: Path) -> Path | None:
    """The campaign whose folder has this path, or this name within `root`; None for neither."""
    places = (Path(name), root / name) if name else ()
    return next((path for path in places if has_head(path)), None)


def _of_name(wanted: str, listed: Sequence[Listed]) -> list[Listed]:
    """The campaigns of a name, newest first: all of them, those that have it, or the only one that
    begins with it. Raises PlanError where several campaigns of different names begin with it.
    """
    if wanted == LATEST:
        return [one for one in listed if not one.damaged]
    if not wanted:
        return []
    if same := [one for one in listed if wanted in (one.id, one.folder.name, one.name)]:
        return same
    begins = [one for one in listed if one.id.startswith(wanted) or one.name.startswith(wanted)]
    if len(begins) > 1 and len({one.name or one.id for one in begins}) > 1:
        seen = f"{len(begins)} campaigns begin with it: {_shown([one.id for one in begins])}"
        raise PlanError(wanted, seen=seen, do="type more of the name")
    return begins


def _too_few(name: str, wanted: str, root: Path, same: Sequence[Listed]) -> PlanError:
    there = f"1 campaign{_is(wanted)}" if len(same) == 1 else f"{len(same)} campaigns{_is(wanted)}"
    return PlanError(name, seen=f"only {there} in {root}", do="see `kneebench list`")


def _is(wanted: str) -> str:
    return "" if wanted == LATEST else f" of the name {wanted}"


def _unknown(name: str, wanted: str, root: Path, listed: Sequence[Listed]) -> PlanError:
    if wanted == LATEST:
        do = "name one, or start one with `kneebench run`"
        return PlanError(name, seen=f"no campaign in {root}", do=do)
    places = list(dict.fromkeys((name, str(root / name))))
    if found := next((place for place in places if name and Path(place).is_dir()), None):
        return PlanError(found, seen=f"it has no {HEAD}", do="name the folder of one campaign")
    known = list(dict.fromkeys(text for one in listed for text in (one.name, one.id) if text))
    near = get_close_matches(wanted, known, 3, 0.6)
    meant = f" (did you mean {_shown(near)}?)" if near else ""
    kind, do = _wanted(name)
    seen = f"no such {kind}{meant}; looked in {' and '.join(places)}"
    return PlanError(name, seen=seen, do=do)


def _wanted(name: str) -> tuple[str, str]:
    """What a name that is not found was meant to be, and what to do.

    >>> [_wanted(name)[0] for name in ("nosuch.toml", "there/nosuch", "nosuch")]
    ['file', 'file or folder', 'campaign']
    """
    is_file = name.endswith((".toml", ENDING))
    if Path(name).exists() or not (is_file or "/" in name):
        return "campaign", "see `kneebench list`"
    return "file" if is_file else "file or folder", "check the path, or see `kneebench list`"


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more
