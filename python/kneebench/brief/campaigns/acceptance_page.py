"""The page of an acceptance: the answers, each figure, what was compared, and room to sign."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from kneebench.analysis.acceptance import ratio_texts
from kneebench.analysis.judged import Judged, shown, shown_margin
from kneebench.analysis.wording import as_sentence
from kneebench.brief import chart_theme
from kneebench.brief.campaigns.campaigns_page import CampaignsPage, compared_section, flat
from kneebench.brief.campaigns.trend_figure import trend_section
from kneebench.brief.section import Column, Row, Section, Table, Tone
from kneebench.records import Results
from kneebench.results.acceptance import (
    Acceptance,
    AcceptedRow,
    accepted_rows,
    answer_lines,
    answers_sentence,
)
from kneebench.results.trend import trends
from kneebench.units import NOTHING

NO_BREAK = "\u00a0"
UNDECIDED = ("cannot say", "not judged")
TONES: dict[str, Tone] = {"worse": "alarm", "not judged": "light"}
COLUMNS = (
    Column(title="Answer", number=False),
    Column(title="Storage", number=False),
    Column(title="Figure", number=False),
    Column(title="Baseline"),
    Column(title="Now"),
    Column(title="Ratio"),
    Column(title="95% CI"),
    Column(title="Margin"),
)
CAPTION = (
    "Ratio: now over baseline. Answers: same, where the 90% interval is within the margin (two"
    " one-sided tests); better or worse, where the difference is shown and is probably larger than"
    " the margin; cannot say, where neither holds."
)
SIGNED = ("Accepted", "Name", "Date", "Signature")
LINE = f"{NO_BREAK * 30}\n{NO_BREAK}\n{NO_BREAK}"
"""Room to write by hand."""


class AcceptancePage(CampaignsPage):
    """Acceptances by one baseline as a page; `caveats` are of any campaign."""

    what = "acceptance"

    def __init__(
        self,
        found: Sequence[Acceptance],
        baseline: Results,
        campaigns: Sequence[Results],
        caveats: Sequence[str] = (),
    ) -> None:
        self.found, self.campaigns, self.caveats = found, (baseline, *campaigns), caveats

    @property
    def title(self) -> str:
        """The answer; of several campaigns, how many have which."""
        return self.labelled(answers_sentence(self.found))

    @property
    def subtitle(self) -> str:
        """The campaigns."""
        names = ", ".join(one.campaign for one in self.found)
        return f"{names} vs. baseline {self.found[0].baseline}"

    @property
    def figures(self) -> list[dict[str, Any]]:
        """A row for each figure that was judged."""
        return [
            {"campaign": one.campaign, **_flat(figure)}
            for one in self.found
            for figure in one.figures
        ]

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The figures first, then what was compared, the trend, and room to sign."""
        with chart_theme.without_validation():
            trend = trend_section(trends(self.campaigns), "Baseline and now")
        made = (
            self._caveats(),
            self._answers(),
            self._open(),
            trend,
            compared_section(self.campaigns),
        )
        return (*(one for one in made if one), *self._differences(), _signature())

    def _caveats(self) -> Section | None:
        if not self.caveats:
            return None
        sentences = tuple(map(as_sentence, self.caveats))
        return Section(name="caveats", title="Caveats", sentences=sentences, tone="note")

    def _answers(self) -> Section:
        one = Table(caption=CAPTION, columns=COLUMNS, rows=tuple(map(_row, self.found[0].figures)))
        table = one if len(self.found) == 1 else _side_by_side(self.found)
        return Section(name="answers", title="Each figure", tables=(table,))

    def _open(self) -> Section | None:
        """What would decide the figures that are undecided, and what no interval holds."""
        undecided = (
            sentence
            for one in self.found
            for sentence in (
                *(
                    each.sentence
                    for each in one.figures
                    if each.judgement in UNDECIDED and each.sentence
                ),
                *one.matching,
            )
        )
        said = tuple(map(as_sentence, (*undecided, self.found[0].drift)))
        return Section(name="open", title="What is left open", sentences=said) if said else None

    def _differences(self) -> tuple[Section, ...]:
        said = tuple(dict.fromkeys(each for one in self.found for each in one.differences))
        if not said:
            return ()
        return (Section(name="differences", title="What else differs", sentences=said),)


def _side_by_side(found: Sequence[Acceptance]) -> Table:
    """A row for each figure, and a column for each campaign."""
    campaigns = [Column(title=one.campaign, number=False) for one in found]
    rows = (
        Row(
            cells=(
                *(row.storage, row.called, row.baseline),
                *("\n".join(answer_lines(one)) for one in row.answers),
                row.margins,
            ),
            tone=_tone(row),
        )
        for row in accepted_rows(found)
    )
    columns = (*COLUMNS[1:4], *campaigns, COLUMNS[-1])
    return Table(caption=CAPTION, columns=columns, rows=tuple(rows))


def _tone(row: AcceptedRow) -> Tone:
    return "alarm" if any(one and one.judgement == "worse" for one in row.answers) else "plain"


def _row(one: Judged) -> Row:
    ratio, sure = ratio_texts(one.ratio) if one.ratio else (NOTHING, NOTHING)
    sides = (shown(one, side) for side in (one.baseline, one.campaign))
    cells = (one.judgement, one.storage, one.called, *sides, ratio, sure, shown_margin(one))
    return Row(cells=cells, tone=TONES.get(one.judgement, "plain"))


def _flat(one: Judged) -> dict[str, Any]:
    found: dict[str, Any] = {
        "storage": one.storage,
        "quantity": one.quantity,
        "answer": one.judgement,
        "margin": one.margin,
    }
    for name, of in (("baseline", one.baseline), ("now", one.campaign), ("ratio", one.ratio)):
        found |= {**flat(name, of), f"{name}_n": of.n if of else None}
    return found


def _signature() -> Section:
    """Lines to be filled in by hand."""
    rows = tuple(Row(cells=(LINE, LINE, LINE, LINE)) for _ in range(2))
    columns = tuple(Column(title=title, number=False) for title in SIGNED)
    return Section(name="signature", title="Signature", tables=(Table(columns=columns, rows=rows),))
