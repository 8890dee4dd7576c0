"""The page of an acceptance: the answers, each figure, what was compared, and room to sign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from kneebench.analysis.acceptance import ratio_text
from kneebench.analysis.judged import Judged, shown, shown_margin
from kneebench.analysis.wording import as_sentence
from kneebench.brief import chart_theme
from kneebench.brief.campaigns.campaigns_page import (
    CampaignsPage,
    compared_section,
    ended,
    flat,
    present,
    said,
)
from kneebench.brief.campaigns.trend_figure import trend_section
from kneebench.brief.section import Column, Row, Section, Table, Tone
from kneebench.records import Results
from kneebench.results.acceptance import (
    Acceptance,
    AcceptedRow,
    accepted_rows,
    answer_lines,
    answers_sentence,
    worst,
)
from kneebench.results.trend import trends
from kneebench.units import NOTHING

NO_BREAK = "\u00a0"
UNDECIDED = ("cannot say", "not judged")
"""Answers that need a sentence beside the table: what would decide, or why nothing was judged."""
TONES: dict[str, Tone] = {"worse": "alarm", "cannot say": "doubt", "not judged": "light"}
"""Of answers; every other is good."""
COLUMNS = (
    Column(title="Answer", number=False),
    Column(title="Storage", number=False),
    Column(title="Figure", number=False),
    Column(title="Baseline"),
    Column(title="Now"),
    Column(title="Ratio (95% CI)"),
    Column(title="Margin"),
)
CAPTION = (
    "Ratio: now over baseline; of a limit: now. Answers: same, where the 90% interval is within the"
    " margin (two one-sided tests); better or worse, where the difference is shown and is probably"
    " larger than the margin; cannot say, where neither holds."
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
        names = ", ".join(one.campaign for one in self.found)
        return f"{names} vs. baseline {self.found[0].baseline}"

    @property
    def tone(self) -> Tone:
        return TONES.get(worst(self.found).judgement, "good")

    @property
    def figures(self) -> list[dict[str, Any]]:
        """A row for each figure that was judged."""
        return [
            {"campaign": one.campaign, **_flat(figure)}
            for one in self.found
            for figure in one.figures
        ]

    def document(self) -> dict[str, Any]:
        """All of it for programs; of several campaigns the worst answer, and each under
        `campaigns`.
        """
        answers = [
            {**one.model_dump(mode="json"), "exit_code": one.exit_code} for one in self.found
        ]
        decisive = worst(self.found)
        several = {
            "judgement": decisive.judgement,
            "exit_code": decisive.exit_code,
            "campaigns": answers,
        }
        found = several if len(answers) > 1 else answers[0]
        return {"derived": self.derived, **found, "caveats": list(self.caveats)}

    @cached_property
    def told(self) -> tuple[Section, ...]:
        """The figures, what they leave open, and what else differs."""
        differing = (
            f"{self._start(one)}{sentence}" for one in self.found for sentence in one.differences
        )
        return present(
            said("caveats", "Caveats", map(ended, self.caveats), caveats=True),
            self._answers(),
            said("open", "What is left open", self._open()),
            said("differences", "What else differs", differing),
        )

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The same, then the trend, what was compared, and room to sign."""
        with chart_theme.without_validation():
            trend = trend_section(trends(self.campaigns), "Baseline and now")
        return (*self.told, *present(trend, compared_section(self.campaigns), _signature()))

    def _answers(self) -> Section:
        several = len(self.found) > 1
        table = _side_by_side(self.found) if several else _figures(self.found[0])
        each = [f"{self._start(one)}{one.sentence}." for one in self.found if several]
        return Section(name="answers", title="Each figure", sentences=tuple(each), tables=(table,))

    def _open(self) -> Iterator[str]:
        """What would decide the figures that are undecided, and what no interval holds."""
        for one in self.found:
            unclear = UNDECIDED[:1] if one.itself else UNDECIDED
            undecided = (
                each.sentence for each in one.figures if each.judgement in unclear and each.sentence
            )
            yield from (
                f"{self._start(one)}{as_sentence(each)}" for each in (*undecided, *one.matching)
            )
        if not all(one.itself for one in self.found):
            yield as_sentence(self.found[0].drift)

    def _start(self, found: Acceptance) -> str:
        """What a sentence begins with: the campaign, where there are several."""
        return f"{found.campaign}: " if len(self.found) > 1 else ""


def _figures(found: Acceptance) -> Table:
    rows = (
        Row(
            cells=(one.judgement, one.storage, one.called, *figures_of(one)),
            tone=TONES.get(one.judgement, "good"),
        )
        for one in found.figures
    )
    return Table(caption=CAPTION, columns=COLUMNS, rows=tuple(rows))


def figures_of(one: Judged) -> Iterator[str]:
    """A figure as the table has it: the baseline's, now, their ratio with its interval, margin."""
    yield from (shown(one, side) for side in (one.baseline, one.campaign))
    yield ratio_text(one.ratio) if one.ratio else NOTHING
    yield shown_margin(one)


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
    """That of its worst answer."""
    tones = [TONES.get(one.judgement, "good") for one in row.answers if one]
    return next((tone for tone in TONES.values() if tone in tones), "good")


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
