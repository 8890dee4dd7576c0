"""An acceptance, for the terminal and for programs: the answer first, then each figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kneebench.analysis.acceptance import ratio_texts
from kneebench.analysis.judged import Judged, shown
from kneebench.analysis.wording import DERIVED, as_sentence, percent
from kneebench.results.acceptance import Acceptance
from kneebench.screen import tables
from kneebench.units import NOTHING

STYLES = {"worse": "red", "cannot say": "yellow", "not judged": "dim"}
UNDECIDED = ("cannot say", "not judged")
"""Answers that need a sentence beside the table: what would decide, or why nothing was judged."""


def printed(found: Acceptance, caveats: Sequence[str] = ()) -> Iterator[RenderableType]:
    """The parts to print, in order."""
    yield Text(title(found), style=f"bold {STYLES.get(found.judgement, 'green')}")
    yield Text(f"{found.campaign} vs. baseline {found.baseline}")
    yield from (Text(f"CAVEAT  {sentence}", style="yellow") for sentence in caveats)
    yield Text()
    yield _table(found.figures)
    yield Text()
    explained = [one.sentence for one in found.figures if one.judgement in UNDECIDED]
    yield from (Text(as_sentence(one)) for one in (*explained, *found.matching, found.drift))
    yield from tables.differences(found.differences)
    yield Text(f"\n{DERIVED}", style="dim")


def _table(figures: Sequence[Judged]) -> Table:
    table = tables.plain_table("answer", "storage", "figure", "baseline", "now", "ratio", "margin")
    for one in figures:
        style = STYLES.get(one.judgement, "green")
        ratio, interval = ratio_texts(one.ratio) if one.ratio else (NOTHING, "")
        table.add_row(
            f"[{style}]{one.judgement}[/]",
            escape(one.storage),
            escape(one.called),
            *(shown(one, side) for side in (one.baseline, one.campaign)),
            f"{ratio} ({interval})" if interval else ratio,
            percent(one.margin),
        )
    table.caption, table.caption_justify = "ratio: now / baseline, with its 95% CI", "left"
    return table


def document(found: Acceptance, caveats: Sequence[str] = ()) -> dict[str, Any]:
    """The same for programs."""
    return {
        "derived": DERIVED,
        **found.model_dump(mode="json"),
        "exit_code": found.exit_code,
        "caveats": list(caveats),
    }


def title(found: Acceptance) -> str:
    """The answer in a line; what is simulated says so first."""
    return f"{'Simulated: ' if found.simulated else ''}{found.sentence}"
