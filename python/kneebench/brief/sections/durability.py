"""Durability: what each storage kept of what its database had acknowledged, cut by cut."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kneebench import units
from kneebench.analysis.durability import SHOWS, found_after, summed
from kneebench.analysis.wording import plural
from kneebench.brief.section import Number, Row, Section, Table, columns
from kneebench.brief.view_model import ViewModel
from kneebench.records import Cut, CutLevel, WholeDrive

MOST_ROWS, MOST_NUMBERS = 12, 4
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
    if not cuts:
        return None
    found = durability_section(cuts)
    claims = [
        _claim(one) for one in view.campaign.drives_before if one.volatile_write_cache is not None
    ]
    return found.model_copy(update={"sentences": (*found.sentences, *claims)})


def _claim(drive: WholeDrive) -> str:
    """What a drive says of itself, beside what was seen."""
    has = "a" if drive.volatile_write_cache else "no"
    return f"Drive {drive.name} ({drive.model or 'unnamed'}) claims {has} volatile write cache."


def durability_section(cuts: Mapping[str, Sequence[Cut]]) -> Section:
    """The same of cuts by the configuration's name."""
    every = [(name, one) for name, some in cuts.items() for one in some]
    few = len(every) <= MOST_ROWS
    rows = every if few else [(name, one) for name, one in every if not one.kept][:MOST_ROWS]
    levels = dict.fromkeys(one.level for _, one in every)
    caption = " ".join(_caption(levels, whole=few or not rows))
    table = Table(
        caption=caption, columns=COLUMNS, rows=tuple(_row(name, one) for name, one in rows)
    )
    said = [f"{name}: {summed(some).sentence}{_recovery(some)}." for name, some in cuts.items()]
    return Section(
        name="durability",
        title="Durability",
        sentences=tuple(said if rows else [*said, caption]),
        numbers=tuple(_number(name, some) for name, some in cuts.items())[:MOST_NUMBERS],
        tables=(table,) if rows else (),
    )


def _caption(levels: Collection[CutLevel], *, whole: bool) -> Iterator[str]:
    yield from (SHOWS[one] for one in levels)
    yield "Unknown: sent and not answered before the cut, so either outcome is right."
    if "drive" in levels:
        yield "Of cuts at an earlier moment of a load all that followed is unknown."
    began = "the end of the command" if "cut" in levels else "the start of the server"
    yield f"Recovery: from {began} until it answers."
    if not whole:
        yield "Rows: the first cuts that lost data."


def _recovery(cuts: Sequence[Cut]) -> str:
    """How long it took, as the end of a sentence."""
    took_s = [cut.recovery_s for cut in cuts if cut.recovery_s is not None]
    if not took_s:
        return ""
    return f"; recovery took {units.time(min(took_s))} to {units.time(max(took_s))}"


def _number(name: str, cuts: Sequence[Cut]) -> Number:
    """What the cuts of one storage lost."""
    found = summed(cuts)
    lost = f"{found.lost:,}" if found.away < found.cuts else "all"
    says = f"acknowledged orders lost on {name} in {plural(found.cuts, found.called)}"
    return Number(value=lost, says=says, sure=f"of {found.acknowledged:,}")


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
