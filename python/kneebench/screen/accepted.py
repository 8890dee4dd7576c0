"""An acceptance, for the terminal and for programs: the answer first, then each figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kneebench.analysis.acceptance import ratio_text
from kneebench.analysis.judged import Judged, shown, shown_margin
from kneebench.analysis.wording import DERIVED, as_sentence, behind_label
from kneebench.results.acceptance import Acceptance, accepted_rows, answer_lines, worst
from kneebench.screen import tables
from kneebench.units import NOTHING

RATIO_WIDTH = len("0.79x (0.77x to 0.81x, n=3)")
STYLES = {"worse": "red", "cannot say": "yellow", "not judged": "dim"}
UNDECIDED = ("cannot say", "not judged")
"""Answers that need a sentence beside the table: what would decide, or why nothing was judged."""


def printed(found: Sequence[Acceptance], caveats: Sequence[str] = ()) -> Iterator[RenderableType]:
    """The parts to print, in order: the answers, and one table."""
    several = len(found) > 1
    for heading, one in zip(_headings(found), found, strict=True):
        number = f"{heading}  " if heading != one.campaign else ""
        answer = f"{number}{_start(one, several)}{title(one)}"
        yield Text(answer, style=f"bold {_style(one.judgement)}")
    yield Text(f"{'' if several else found[0].campaign} vs. baseline {found[0].baseline}".strip())
    yield from (Text(f"CAVEAT  {sentence}", style="yellow") for sentence in caveats)
    yield Text()
    yield _side_by_side(found) if several else _table(found[0])
    yield Text()
    for one in found:
        start = _start(one, several)
        unclear = UNDECIDED[:1] if one.itself else UNDECIDED
        undecided = (
            each.sentence for each in one.figures if each.judgement in unclear and each.sentence
        )
        yield from (Text(f"{start}{as_sentence(said)}") for said in (*undecided, *one.matching))
    if not all(one.itself for one in found):
        yield Text(as_sentence(found[0].drift))
    yield from tables.differences(
        [f"{_start(one, several)}{sentence}" for one in found for sentence in one.differences]
    )
    yield Text(f"\n{DERIVED}", style="dim")


def _start(found: Acceptance, several: bool) -> str:
    """What a sentence begins with: the campaign, where there are several."""
    return f"{found.campaign}: " if several else ""


def _table(found: Acceptance) -> Table:
    columns = ("answer", "storage", "figure", "baseline", "now", "ratio", "margin")
    table = tables.plain_table(*columns)
    for one in found.figures:
        table.add_row(f"[{_style(one.judgement)}]{one.judgement}[/]", *_named(one))
    table.caption = "ratio: now / baseline, with its 95% CI; a limit: now, with its 95% CI"
    table.caption_justify = "left"
    return table


def _side_by_side(found: Sequence[Acceptance]) -> Table:
    """A row for each figure, and a column for each campaign."""
    headings = map(escape, _headings(found))
    table = tables.plain_table("storage", "figure", "baseline", *headings, "margin")
    for row in accepted_rows(found):
        answers = ("\n".join(_coloured(one)) for one in row.answers)
        named = map(escape, (row.storage, row.called))
        table.add_row(*named, row.baseline, *answers, row.margins)
    table.caption = "of each campaign: the answer, the figure, and campaign / baseline (95% CI)"
    table.caption_justify = "left"
    return table


def _headings(found: Sequence[Acceptance]) -> list[str]:
    """The campaigns' ids, where a column of ratios is as wide; else their numbers."""
    names = [one.campaign for one in found]
    fit = len(found) == 1 or max(map(len, names)) <= RATIO_WIDTH
    return names if fit else [str(number) for number in range(1, len(names) + 1)]


def _coloured(one: Judged | None) -> Iterator[str]:
    answer, *figures = answer_lines(one)
    yield f"[{_style(answer)}]{answer}[/]"
    yield from figures


def _style(answer: str) -> str:
    return STYLES.get(answer, "green")


def _named(one: Judged) -> Iterator[str]:
    yield from map(escape, (one.storage, one.called))
    yield from figures_of(one)


def figures_of(one: Judged) -> Iterator[str]:
    """A figure as the table has it: the baseline's, now, their ratio with its interval, margin."""
    yield from (shown(one, side) for side in (one.baseline, one.campaign))
    yield ratio_text(one.ratio) if one.ratio else NOTHING
    yield shown_margin(one)


def document(found: Sequence[Acceptance], caveats: Sequence[str] = ()) -> dict[str, Any]:
    """The same for programs; of several campaigns the worst answer, and each under `campaigns`."""
    answers = [{**one.model_dump(mode="json"), "exit_code": one.exit_code} for one in found]
    if len(answers) == 1:
        return {"derived": DERIVED, **answers[0], "caveats": list(caveats)}
    decisive = worst(found)
    return {
        "derived": DERIVED,
        "judgement": decisive.judgement,
        "exit_code": decisive.exit_code,
        "campaigns": answers,
        "caveats": list(caveats),
    }


def title(found: Acceptance) -> str:
    """The answer in a line, behind what must be known first, such as that it is simulated."""
    return behind_label(found.label, found.sentence)
