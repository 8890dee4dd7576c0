"""Campaigns by name: what a person types where a campaign is expected, and the folder it means.

A path; a folder's name, with its date or without; the name that `run --name` gave, or the first
words of the question, which several campaigns may have; the beginning of any, where only campaigns
of one name have it; `latest`. `~1` behind `latest` or a name is the campaign before, `~2` the one
before that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from kneebench.directories import CAMPAIGNS
from kneebench.errors import PlanError
from kneebench.plan.values import ARCHIVE, LATEST
from kneebench.results.campaign_folders import HEAD, has_head, slug
from kneebench.results.campaign_reader import Listed, campaigns

_DATED = re.compile(r"\d{4}-\d{2}-\d{2}-(?P<words>.+)")
_BEFORE = re.compile(r"(?P<name>.+?)~(?P<number>\d{1,6})")
_MOST_SHOWN, _MOST_MEANT = 5, 3
_LIST = "see `kneebench list`"
_FOLDER = "name a folder of campaigns"


def find_campaign(name: str | Path, root: str | Path = CAMPAIGNS) -> Path:
    """The folder of the campaign of that name, or path; `root` is the folder of campaigns.

    Raises PlanError, with the names that were perhaps meant, where there is none or more than one.
    """
    name, root = str(name), Path(root)
    if not name:
        raise PlanError("cannot find a campaign", seen="its name is empty", do=_LIST)
    if found := campaign_at(name, root):
        return found
    require_folder(root)
    if not root.is_dir() and root != CAMPAIGNS:
        raise PlanError(str(root), seen="no such folder", do=_FOLDER)
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


def require_folder(root: Path) -> None:
    """Raises PlanError for a file in place of a folder of campaigns."""
    if root.exists() and not root.is_dir():
        raise PlanError(str(root), seen="it is a file", do=_FOLDER)


def names_of(one: Listed) -> tuple[str, ...]:
    """What a campaign can be called: its name, its folder, and that without its date."""
    found = (campaign_name(one), one.folder.name, one.id, _undated(one.id))
    return tuple(dict.fromkeys(found))


def campaign_name(one: Listed) -> str:
    """The name that a campaign was given; else the first words of its question, where its folder
    has them behind the date, else what its folder has.
    """
    words, behind = slug(one.question), _undated(one.id)
    start = behind.rstrip("-0123456789")
    is_words = behind != one.id and start and words.startswith(start)
    return one.name or (words if is_words else behind)


def _undated(id_: str) -> str:
    """A folder's name without its date.

    >>> _undated("2026-11-28-what-would"), _undated("before")
    ('what-would', 'before')
    """
    found = _DATED.fullmatch(id_)
    return found["words"] if found else id_


def _of_name(wanted: str, listed: Sequence[Listed]) -> list[Listed]:
    """The campaigns of a name, newest first: all of them, those that have it, or those of the only
    name that begins with it. Raises PlanError where campaigns of different names begin with it.
    """
    if wanted == LATEST:
        return [one for one in listed if not one.damaged]
    named = [one for one in listed if wanted in (one.id, one.folder.name, campaign_name(one))]
    if same := named or [one for one in listed if wanted in names_of(one)]:
        return same
    begins = [one for one in listed if any(text.startswith(wanted) for text in names_of(one))]
    if len({campaign_name(one) for one in begins}) > 1:
        seen = f"{len(begins)} campaigns begin with it: {_shown([one.id for one in begins])}"
        raise PlanError(wanted, seen=seen, do="type more of the name")
    return begins


def _too_few(name: str, wanted: str, root: Path, same: Sequence[Listed]) -> PlanError:
    there = f"1 campaign{_is(wanted)}" if len(same) == 1 else f"{len(same)} campaigns{_is(wanted)}"
    return PlanError(name, seen=f"only {there} in {root}", do=_LIST)


def _is(wanted: str) -> str:
    return "" if wanted == LATEST else f" of the name {wanted}"


def _unknown(name: str, wanted: str, root: Path, listed: Sequence[Listed]) -> PlanError:
    if wanted == LATEST:
        do = "name one, or start one with `kneebench run`"
        return PlanError(name, seen=f"no campaign in {root}", do=do)
    places = list(dict.fromkeys((name, str(root / name))))
    if found := next((place for place in places if name and Path(place).is_dir()), None):
        return PlanError(found, seen=f"it has no {HEAD}", do="name the folder of one campaign")
    near = _near(wanted, listed)
    meant = f" (did you mean {_shown(near)}?)" if near else ""
    kind, do = _wanted(name)
    seen = f"no such {kind}{meant}; looked in {' and '.join(places)}"
    return PlanError(name, seen=seen, do=do)


def _near(wanted: str, listed: Sequence[Listed]) -> list[str]:
    """The names that were perhaps meant: those that begin so in other letters, then similar ones,
    also by as many letters of their beginning.
    """
    known = {text.lower(): text for one in listed for text in (*names_of(one), LATEST)}
    typed = wanted.lower()
    begins = [text for low, text in known.items() if low.startswith(typed)]
    starts = {low[: len(typed)]: text for low, text in known.items()}
    every = {**starts, **known}
    similar = (every[low] for low in get_close_matches(typed, every, _MOST_MEANT, 0.6))
    return list(dict.fromkeys((*begins, *similar)))[:_MOST_MEANT]


def _wanted(name: str) -> tuple[str, str]:
    """What a name that is not found was meant to be, and what to do.

    >>> [_wanted(name)[0] for name in ("nosuch.toml", "there/nosuch", "nosuch")]
    ['file', 'file or folder', 'campaign']
    """
    is_file = name.endswith((".toml", ARCHIVE))
    if Path(name).exists() or not (is_file or "/" in name):
        return "campaign", _LIST
    return "file" if is_file else "file or folder", f"check the path, or {_LIST}"


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more
