"""What cuts say of a storage: how many acknowledged orders were lost, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kneebench import units
from kneebench.analysis.wording import capital, percent, plural, some_of
from kneebench.engine_properties import UNFLUSHED, engine_properties, less_safe
from kneebench.records import Configuration, Cut, CutLevel, Results
from kneebench.shelf import ENGINES

NO_FLUSHES = "the kernel takes it for write through"
"""What /sys/block/*/queue/write_cache says."""
SHOWS = {
    "server": (
        "The server's processes were killed (kill -9). This shows that the database keeps what it"
        " acknowledges; not that the storage does: what a killed server has written stays in the"
        " page cache."
    ),
    "drive": (
        "The server was killed and its emulated drives lost a random part of what was written since"
        " the last flush, or where they ignore flushes since an earlier moment. This shows that the"
        " database and the file system flush what they acknowledge; a real drive may keep less than"
        " it says."
    ),
    "cut": (
        "The plan's command cut off the server's machine. This shows what the storage kept, as far"
        " as the command cuts the power of its drives: a reset leaves it on."
    ),
}
"""What each level shows, and what it cannot."""
CALLED: dict[CutLevel, str] = {
    "server": "server kill",
    "drive": "power cut",
    "cut": "power cut",
}
"""What a cut of each level is called."""


class CutsSummary(NamedTuple):
    """All cuts of one configuration; `called`: what such a cut is.

    `acknowledged`, `lost`: of cuts after which orders could be counted. `away`: cuts after which
    the file system or the database was not there; `bad`: those and others that lost data.
    """

    cuts: int
    called: str
    acknowledged: int
    lost: int
    away: int
    bad: int
    most_at_risk: float
    """Upper end of the 95% interval of the share of loads that lose something in a cut, where none
    of n did: 1 - 0.05^(1/n) (about 3/n; Hanley and Lippman-Hand, JAMA 249, 1983). Cuts at several
    moments of one load are not independent, so loads count."""

    @property
    def kept(self) -> bool:
        """Whether no cut lost data."""
        return not self.bad

    @property
    def sentence(self) -> str:
        """The answer, with its bound."""
        after = plural(self.cuts, self.called)
        if self.away == self.cuts:
            return f"file system or database lost in all of {after}"
        said = f"{self.lost:,} of {self.acknowledged:,} acknowledged orders lost in {after}"
        if self.kept:
            risk = percent(self.most_at_risk)
            return f"{said}; at most {risk} of loads lose any in a cut (95% CI)"
        away = f", {self.away} of them with file system or database" if self.away else ""
        return f"{said}; {self.bad} of them lost data{away}"


def summed(cuts: Sequence[Cut]) -> CutsSummary:
    """The cuts of one configuration together; all are of one level.

    >>> cut = Cut(configuration="disk", level="server", users=8, after_s=3.0, acknowledged=900,
    ...           unknown=2, lost=0, holes=0, committed=1, unsent=0)
    >>> print(summed([cut.model_copy(update={"load": n, "lost": 5}) for n in range(3)]).sentence)
    15 of 2,700 acknowledged orders lost in 3 server kills; 3 of them lost data
    """
    counted = [one for one in cuts if one.lost is not None]
    return CutsSummary(
        len(cuts),
        CALLED[cuts[0].level],
        sum(one.acknowledged for one in counted),
        sum(one.lost or 0 for one in counted),
        len(cuts) - len(counted),
        sum(not one.kept for one in cuts),
        1 - 0.05 ** (1 / len({one.load for one in cuts})),
    )


def lost_caveats(results: Results) -> Iterator[str]:
    """Storages that lost data in a cut."""
    names = {climb.id: climb.configuration.name for climb in results.climbs}
    for one, cuts in results.campaign.cuts.items():
        if loses(cuts):
            yield f"{capital(names.get(one, one))}: {summed(cuts).sentence}."


def less_safe_caveats(results: Results) -> Iterator[str]:
    """What buys speed with safety: settings as the servers reported them, mount options, and drives
    whose flushes the kernel keeps back.
    """
    on: dict[str, list[Configuration]] = {}
    for climb in results.climbs:
        engine = results.campaign.engines.get(climb.configuration.database, "")
        table = engine_properties(engine).safety_settings if engine in ENGINES.names() else ()
        values = {one.name: one.value for one in results.campaign.settings.get(climb.id, ())}
        sentences = [seen for _, seen in less_safe(table, values)]
        storage = results.campaign.resolved.storages.get(climb.configuration.storage)
        options = storage.without_flushes if storage else ()
        sentences += [f"mount option {option}: {UNFLUSHED}" for option in options]
        for seen in sentences:
            on.setdefault(seen, []).append(climb.configuration)
    yield from (f"on {some_of(some, len(results.climbs))}, {seen}" for seen, some in on.items())
    for drive in results.campaign.drives_before:
        if drive.is_unflushed:
            yield f"drive {drive.name} has a volatile write cache, and {NO_FLUSHES}: {UNFLUSHED}"


def loses(cuts: Sequence[Cut]) -> bool:
    """Whether a cut lost something that was acknowledged."""
    return any(not one.kept for one in cuts)


def found_after(cut: Cut) -> str:
    """What was there after a cut, in words."""
    if cut.file_system:
        return f"the file system was lost: {cut.file_system}"
    if cut.database:
        return f"the database did not start: {cut.database}"
    if cut.lost is None:
        return f"the database cannot be read: {cut.damage}"
    broken = [one.name for one in cut.conditions if not one.passed]
    parts = [
        f"{cut.lost:,} lost" if cut.lost else "",
        plural(cut.holes, "hole") if cut.holes else "",
        f"broken: {', '.join(broken)}" if broken else "",
        cut.damage,
    ]
    return "; ".join(filter(None, parts)) or "all there"


def told(cut: Cut) -> str:
    """A cut in one line, for who watches."""
    back = f", back in {units.time(cut.recovery_s)}" if cut.recovery_s is not None else ""
    return (
        f"{cut.configuration}: cut off after {units.time(cut.after_s)}{back}:"
        f" {cut.acknowledged:,} acknowledged, {found_after(cut)}"
    )
