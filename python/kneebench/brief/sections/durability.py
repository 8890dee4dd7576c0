"""Durability: what each storage kept of what its database had acknowledged, cut by cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from kneebench import units
from kneebench.analysis.durability import SHOWS, found_after, summed
from kneebench.analysis.wording import plural
from kneebench.brief.section import Number, Row, Section, Table, columns
from kneebench.brief.view_model import ViewModel
from kneebench.records import Cut

MOST_ROWS = 12
"""More cuts are counted; those that lost data have rows."""
COLUMNS = columns(
    "Storage",
    ">Under load",
    ">Users",
    ">Acknowledged",
    ">Lost",
    ">Unknown (committed)",
    ">Recovery",
    "After it",
)


def section(view: ViewModel) -> Section | None:
    """A row for each cut; nothing where none was made."""
    cuts = {view.name(one): some for one, some in view.campaign.cuts.items()}
    return durability_section(cuts) if cuts else None


def durability_section(cuts: Mapping[str, Sequence[Cut]]) -> Section:
    """The same of cuts by the configuration's name."""
    levels = dict.fromkeys(one.level for some in cuts.values() for one in some)
    unknown = (
        "Unknown: sent and not answered before the cut, so either outcome is right; of cuts at an"
        " earlier moment of a load all that followed. Recovery: from the start of the server until"
        " it answers."
    )
    every = [(name, one) for name, some in cuts.items() for one in some]
    few = len(every) <= MOST_ROWS
    rows = every if few else [(name, one) for name, one in every if not one.kept][:MOST_ROWS]
    where = "" if few else " Rows: the first cuts that lost data; the campaign's file has all."
    caption = " ".join([*(SHOWS[one] for one in levels), unknown]) + where
    table = Table(
        caption=caption, columns=COLUMNS, rows=tuple(_row(name, one) for name, one in rows)
    )
    said = [f"{name}: {summed(some).sentence}." for name, some in cuts.items()]
    return Section(
        name="durability",
        title="Durability",
        sentences=tuple(said if rows else [*said, caption]),
        numbers=tuple(_numbers([one for _, one in every])),
        tables=(table,) if rows else (),
    )


def _numbers(every: Sequence[Cut]) -> Iterator[Number]:
    """What cuts lost on all storages together, and how long recovery took."""
    found = summed(every)
    says = f"acknowledged orders lost in {plural(found.cuts, found.called)}"
    yield Number(value=f"{found.lost:,}", says=says, sure=f"of {found.acknowledged:,}")
    if took_s := [cut.recovery_s for cut in every if cut.recovery_s is not None]:
        says = f"until the database answered again after a {found.called}"
        ends = f"{units.time(min(took_s))} to {units.time(max(took_s))}"
        yield Number(value=units.time(median(took_s)), says=says, sure=ends)


def _row(name: str, cut: Cut) -> Row:
    lost = units.NOTHING if cut.lost is None else f"{cut.lost:,}"
    committed = units.NOTHING if cut.committed is None else str(cut.committed)
    cells = (
        name,
        units.time(cut.after_s),
        str(cut.users),
        f"{cut.acknowledged:,}",
        lost,
        f"{cut.unknown} ({committed})",
        units.NOTHING if cut.recovery_s is None else units.time(cut.recovery_s),
        found_after(cut),
    )
    return Row(cells=cells, tone="plain" if cut.kept else "alarm")
