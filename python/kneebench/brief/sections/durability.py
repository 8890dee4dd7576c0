"""Durability: what each storage kept of what its database had acknowledged, cut by cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kneebench import units
from kneebench.analysis.durability import SHOWS, found_after, summed
from kneebench.brief.section import Row, Section, Table, columns
from kneebench.brief.view_model import ViewModel
from kneebench.records import Cut

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
    return Section(
        name="durability",
        title="Durability",
        sentences=tuple(f"{name}: {summed(some).sentence}." for name, some in cuts.items()),
        tables=(
            Table(
                caption=" ".join([*(SHOWS[one] for one in levels), unknown]),
                columns=COLUMNS,
                rows=tuple(_row(name, one) for name, some in cuts.items() for one in some),
            ),
        ),
    )


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
