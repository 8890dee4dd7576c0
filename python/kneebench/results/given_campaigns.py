"""Campaigns as they are given to a call or a command: by name or already read, and shown by names
that tell them apart.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from kneebench.analysis.path_tails import path_tails
from kneebench.directories import CAMPAIGNS
from kneebench.errors import require_kind
from kneebench.records import Results
from kneebench.results.campaign_names import find_campaign
from kneebench.results.campaign_reader import Listed, load

Given = Results | Listed | str | Path
"""A campaign, or what names one."""


def given_campaign(given: Given, root: str | Path = CAMPAIGNS) -> Results:
    """The campaign that is given, or that has this name or path; `root` is the folder of campaigns.

    Raises PlanError where there is none, and TypeError for what is no campaign and no name.
    """
    if isinstance(given, Listed):
        return load(given.folder)
    if isinstance(given, str | Path):
        return load(find_campaign(given, root))
    require_kind(given, Results, "name a campaign, or kneebench.load(folder) reads one")
    return given


def told_apart(campaigns: Sequence[Results]) -> list[Results]:
    """The campaigns, those of one id with ids that differ: the shortest end of the path by which
    each differs from the others, or a number where there is no path. One that is given twice keeps
    its id. `kept_id` is the id that was replaced.
    """
    names: dict[_Place, str] = {}
    places = list(dict.fromkeys(map(_place, campaigns)))
    for id_ in dict.fromkeys(place.id for place in places):
        same = [place for place in places if place.id == id_]
        tails = path_tails([place.path for place in same]) if len(same) > 1 else [Path(id_)]
        for place, tail in zip(same, tails, strict=True):
            names[place] = _free(str(tail), names.values())
    return [_called(one, names[_place(one)]) for one in campaigns]


class _Place(NamedTuple):
    """Where a campaign of an id was read from; without a folder its id, and a number of its own."""

    id: str
    path: Path
    number: int = 0


def _place(results: Results) -> _Place:
    own, path = results.campaign.id, results.archive or results.folder
    return _Place(own, path.resolve()) if path else _Place(own, Path(own), id(results))


def _free(name: str, taken: Collection[str]) -> str:
    """The name, or the first numbered one that none has.

    >>> _free("night", ["night", "night (2)"])
    'night (3)'
    """
    numbered = (f"{name} ({number})" for number in count(2))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def _called(results: Results, name: str) -> Results:
    own = results.campaign.id
    if name == own:
        return results
    campaign = results.campaign.model_copy(update={"id": name})
    return results.model_copy(update={"campaign": campaign, "kept_id": results.kept_id or own})
