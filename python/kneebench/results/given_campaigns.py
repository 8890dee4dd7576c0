"""Campaigns as they are given to a call or a command: by name or already read, and shown by names
that tell them apart.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count
from pathlib import Path

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
    names: dict[tuple[Path, int], str] = {}
    for id_ in dict.fromkeys(one.campaign.id for one in campaigns):
        same = list(dict.fromkeys(_place(one) for one in campaigns if one.campaign.id == id_))
        tails = path_tails([path for path, _ in same]) if len(same) > 1 else [Path(id_)]
        for place, tail in zip(same, tails, strict=True):
            names[place] = _free(str(tail), names.values())
    return [_called(one, names[_place(one)]) for one in campaigns]


def _place(results: Results) -> tuple[Path, int]:
    """Where a campaign was read from; without a folder its id, and a number of its own."""
    place = results.archive or results.folder
    if place is None:
        return Path(results.campaign.id), id(results)
    return place.resolve(), 0


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
