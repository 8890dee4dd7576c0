"""Whether a campaign can go on: under another plan, and measured by this kneebench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kneebench.records import Campaign
from kneebench.results.compare_plans import PlanLike, leaves, plan_document, within

RESUME_IGNORES = ("question", "brief", "ladder.budget", "accept", "erase")
"""Fields that may change between a killed campaign and the run that resumes it."""


def resumable(kept: PlanLike, requested: PlanLike, but: Sequence[str] = RESUME_IGNORES) -> bool:
    """True if a campaign of the first plan can be resumed under the second: equal except for the
    fields `but`.
    """
    left, right = dict(leaves(plan_document(kept))), dict(leaves(plan_document(requested)))
    return all(
        left.get(name) == right.get(name) for name in {**left, **right} if not within(name, but)
    )


def measured_by_another(campaign: Campaign, version: str, image: Mapping[str, str]) -> str:
    """Why a campaign cannot go on: another version of kneebench or another base image measured it;
    empty if both match.
    """
    keys = [fact for fact in image if fact == "key" or fact.endswith(": key")] or ["key"]
    before = {_image_name(fact): campaign.base_image.get(fact, "") for fact in keys}
    kept = {"kneebench": campaign.kneebench, **before}
    now = {"kneebench": version, **{_image_name(fact): image.get(fact, "") for fact in keys}}
    return " and ".join(
        f"{name} changed: {kept[name]}, now {now[name]}"
        for name in kept
        if kept[name] and kept[name] != now[name]
    )


def _image_name(fact: str) -> str:
    """What a base image is called by the fact that has its key.

    >>> _image_name("key"), _image_name("mariadb: key")
    ('base image', 'base image of mariadb')
    """
    database = fact.removesuffix("key").removesuffix(": ")
    return f"base image of {database}" if database else "base image"
