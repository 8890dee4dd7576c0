"""The campaigns of a trend: which ones belong to it, oldest first, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kneebench.analysis.wording import listed as listed_in_words
from kneebench.errors import KneebenchError, PlanError
from kneebench.records import Record, Results, label_of
from kneebench.results.acceptance import usable
from kneebench.results.campaign_differences import comparable, differences
from kneebench.results.campaign_reader import Listed, load
from kneebench.results.given_campaigns import told_apart
from kneebench.results.trend import Trend


class LeftOut(Record):
    """A campaign that is not in a trend, and why. `newest`: it is newer than all that are in it."""

    campaign: str
    reason: str
    newest: bool = False


class Nights(Record):
    """Campaigns of one plan, oldest first, and those that were left out."""

    campaigns: tuple[Results, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def label(self) -> str:
        """What a reader must know before any figure, such as "Simulated"."""
        return label_of(one.campaign for one in self.campaigns)


def nights(listed: Iterable[Listed], tags: Sequence[str] = ()) -> Nights:
    """The finished campaigns that can be compared with the newest of them; `tags` are those that
    they were chosen by.

    Raises PlanError where fewer than two can.
    """
    found: list[Results] = []
    left_out: list[LeftOut] = []
    for one in sorted(listed, key=lambda one: one.started_at, reverse=True):
        try:
            results = _read(one)
            if found:
                comparable(found[0], results)
            found.append(results)
        except KneebenchError as error:
            left_out.append(LeftOut(campaign=one.id, reason=error.seen, newest=not found))
    if len(found) < 2:
        raise PlanError(
            "cannot compare campaigns",
            seen=_too_few(found, left_out, tags),
            do="measure the same plan again; `kneebench list` shows what there is",
        )
    return Nights(campaigns=tuple(told_apart(found[::-1])), left_out=tuple(left_out[::-1]))


def in_order(campaigns: Iterable[Results], tags: Sequence[str] = ()) -> Nights:
    """Campaigns that were named, oldest first; `tags` are those that they were chosen by.

    Raises PlanError for fewer than two, and the error of one that cannot be used or compared with
    the newest.
    """
    found = sorted(campaigns, key=lambda one: (one.campaign.started_at, one.campaign.id))
    if len(found) < 2:
        raise PlanError(
            "cannot compare campaigns",
            seen=f"fewer than two campaigns{tagged(tags)} are named",
            do="name more, or none for all that there are",
        )
    for one in found:
        usable(one)
        comparable(found[-1], one)
    return Nights(campaigns=tuple(found))


def differing_at(campaigns: Sequence[Results], trends: Iterable[Trend]) -> dict[str, list[str]]:
    """What else changed at each change point, in sentences, by the first campaign after it."""
    by_id = {one.campaign.id: one for one in campaigns}
    return {
        change.campaign: differences(by_id[change.last], by_id[change.campaign])
        for trend in trends
        for change in trend.changes
    }


def _read(one: Listed) -> Results:
    if one.damaged:
        raise KneebenchError(one.id, seen="it is damaged")
    if not one.finished:
        raise KneebenchError(one.id, seen="it is unfinished")
    results = load(one.folder)
    usable(results)
    return results


def tagged(tags: Sequence[str]) -> str:
    """By which tags campaigns were chosen.

    >>> tagged(["site", "firmware=1.2"]), tagged([])
    (' with the tags site and firmware=1.2', '')
    """
    return f" with the tag{'s' * (len(tags) > 1)} {listed_in_words([*tags])}" if tags else ""


def _too_few(found: Sequence[Results], left_out: Sequence[LeftOut], tags: Sequence[str]) -> str:
    one = f"only {found[0].campaign.id}" if found else "none"
    there = f"{one} of the campaigns{tagged(tags)} can be used"
    reasons = "; ".join(f"{one.campaign}: {one.reason}" for one in left_out[:3])
    return f"{there} ({reasons})" if reasons else there
