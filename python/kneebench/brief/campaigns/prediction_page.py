"""The page of `what-if`: predictions from one campaign, with how well the model reproduces it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from kneebench import units
from kneebench.analysis.knee import rungs_by_users
from kneebench.analysis.wording import (
    capital,
    ends,
    listed,
    percent,
    plural,
    stop_reason,
)
from kneebench.brief import chart_theme
from kneebench.brief.campaigns.campaigns_page import CampaignsPage, flat, present, said
from kneebench.brief.section import Column, Figure, Row, Section, Table, Tone, columns
from kneebench.prediction.gains import ratio_words, unchanged
from kneebench.prediction.held_out import Fit
from kneebench.prediction.prediction import Parameter, Prediction, Predictor
from kneebench.prediction.what_if import WhatIf

COLUMNS = (
    Column(title="Predicted", number=False),
    Column(title="NOPM at the knee"),
    Column(title="Ratio (95% CI)"),
    Column(title="Users"),
    Column(title="Mean latency"),
    Column(title="P99.9 latency"),
    Column(title="Stop", number=False),
    Column(title="Bottleneck", number=False),
)
ASSUMED = (
    "The CPU time of a log write and of a read is assumed to be the same on another drive.",
    "Checkpoints and limits of writes alone are not modelled.",
)


class PredictionPage(CampaignsPage):
    """Predictions for one configuration of a campaign."""

    what = "what-if"

    def __init__(
        self, of: Predictor, predictions: Sequence[Prediction], others: Sequence[Predictor] = ()
    ) -> None:
        """`others`: further configurations of the campaign, from which it was also predicted."""
        self.of, self.predictions, self.others = of, predictions, others
        self.campaigns = (of.results,)

    @property
    def title(self) -> str:
        return self.labelled(f"Predicted: {finding(self.predictions[0], self._name)}")

    @property
    def tone(self) -> Tone:
        return "doubt"

    @property
    def subtitle(self) -> str:
        every = (self.of, *self.others)
        names = listed([one.climb.configuration.name for one in every])
        missed = listed([_missed(one.fit) for one in every])
        return (
            f"From {self.of.results.campaign.id}, {names}. The model misses what it was not"
            f" fitted to by {missed}"
        )

    @property
    def _name(self) -> str:
        return self.of.climb.configuration.name

    @property
    def figures(self) -> list[dict[str, Any]]:
        """A row for each prediction."""
        return [
            {
                "predicted": one.what_if.words,
                **flat("ratio", one.ratio),
                **flat("nopm", one.nopm),
                "at_least": one.at_least,
                "users": one.users,
                "latency_s": one.latency_s,
                "p999_s": one.p999_s,
                "stopped_by": one.stopped_by,
                "bottleneck": one.resource,
            }
            for one in self.predictions
        ]

    def document(self) -> dict[str, Any]:
        fit = self.of.fit
        return {
            "derived": self.derived,
            "predicted": True,
            "campaign": self.of.results.campaign.id,
            "configuration": self.of.climb.id,
            "median_error": fit.median_error,
            "worst_error": fit.worst_error,
            "held_out": [
                {
                    "users": one.measured.users,
                    "measured_per_s": one.measured.throughput_per_s,
                    "predicted_per_s": one.predicted_per_s,
                }
                for one in fit.held_out
            ],
            "parameters": [one.model_dump(mode="json") for one in self.of.parameters],
            "predictions": [one.model_dump(mode="json") for one in self.predictions],
        }

    @cached_property
    def told(self) -> tuple[Section, ...]:
        return present(
            said("caveats", "Caveats", self._caveats(), caveats=True),
            self._predicted(),
            self._held_out(),
            self._parameters(),
            said("assumed", "What is assumed", ASSUMED),
        )

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The same with the predicted curves."""
        caveats, *rest = self.told
        with chart_theme.without_validation():
            drawn = Section(name="curve", title="Predicted climbs", figures=(self._figure(),))
        return (caveats, drawn, *rest)

    def _caveats(self) -> Iterator[str]:
        yield "These figures are predictions of a model: nothing was measured."
        for one in self.predictions:
            if one.at_least:
                yield (
                    f"{capital(one.what_if.words)}: {one.limited_by} limits the prediction, and"
                    " limited nothing that was measured. Read the ratio as its low end at least."
                )
        yield from self._faster()

    def _faster(self) -> Iterator[str]:
        """Storages of the campaign that did more than is predicted for a faster log."""
        asked = [one for one in self.predictions if one.what_if.log_write_s is not None]
        for name, ratio, flush_s in self.of.others:
            if any(one.ratio.high < ratio.value for one in asked):
                yield (
                    f"{capital(name)}, with log writes of {units.time(flush_s)}, did"
                    f" {units.times(ratio.value)} {self._name}, measured: it also saves CPU time"
                    " that a drive costs."
                )

    def _predicted(self) -> Section:
        rows = tuple(map(_row, self.predictions))
        methods = dict.fromkeys(one.nopm.method for one in self.predictions if self.others)
        return Section(
            name="predicted",
            title="Predicted",
            sentences=tuple(f"NOPM: {one}." for one in methods),
            tables=(Table(columns=COLUMNS, rows=rows),),
        )

    def _held_out(self) -> Section:
        rows = tuple(
            Row(
                cells=(
                    str(one.measured.users),
                    units.count(one.measured.throughput_per_s),
                    units.count(one.predicted_per_s),
                    percent(one.error, signed=True),
                )
            )
            for one in self.of.fit.held_out
        )
        sentences = [
            f"Each of {plural(len(rows), 'number')} of users was left out in turn and predicted by"
            " the model of the others."
        ]
        if thrashing := self.of.thrashing:
            users = listed([str(one.users) for one in thrashing])
            sentences.append(
                f"The model leaves {users} users out: transactions read far more than with other"
                " numbers of users, so the cache did not hold what they needed."
            )
        heads = columns(">Users", ">Measured, transactions/s", ">Predicted", ">Error")
        table = Table(columns=heads, rows=rows, narrow=True)
        return Section(name="held-out", title="Check", sentences=tuple(sentences), tables=(table,))

    def _parameters(self) -> Section:
        rows = tuple(map(_parameter, self.of.parameters))
        heads = columns("Parameter", ">Value", ">95% CI", "Identified by")
        sentences: tuple[str, ...] = ()
        if confused := self.of.confused:
            one, other = confused
            sentences = (
                f'The rungs do not separate "{one}" from "{other}": one grows as the other shrinks.'
                " A climb of more users, or longer windows, would.",
            )
        table = Table(columns=heads, rows=rows)
        return Section(name="parameters", title="The model", sentences=sentences, tables=(table,))

    def _figure(self) -> Figure:
        rows = [*self._measured_points(), *self._points()]
        names = list(dict.fromkeys(row["name"] for row in rows))
        return Figure(
            name="predicted-curve",
            number="Fig. 1",
            title="Predicted climbs beside the measured one",
            caption="Lines are predicted. Points are the search rungs that were measured.",
            alt="NOPM by users: measured points and predicted lines.",
            spec=_spec(rows, names),
        )

    def _measured_points(self) -> Iterator[dict[str, Any]]:
        name = f"{self._name}, measured"
        for rung in rungs_by_users(self.of.climb):
            yield {"name": name, "users": rung.users, "nopm": rung.tally.nopm, "measured": True}

    def _points(self) -> Iterator[dict[str, Any]]:
        same = (f"{self._name}, model", self.of.predict(WhatIf()))
        for name, one in (same, *((one.what_if.words, one) for one in self.predictions)):
            for point in one.points:
                yield {"name": name, "users": point.users, "nopm": point.nopm, "measured": False}


def finding(one: Prediction, name: str) -> str:
    """What a prediction says, in a title.

    It never has a number without its interval.
    """
    ratio = ratio_words(one.ratio, at_least=one.at_least)
    if unchanged(one.ratio):
        return f"{one.what_if.words} would not change {name}'s NOPM"
    if 1 in one.ratio:
        return f"no difference shown for {one.what_if.words} vs. {name}: {ratio}"
    return f"{one.what_if.words} would give {name} {ratio} the NOPM"


def _missed(fit: Fit) -> str:
    return f"{percent(fit.median_error)} (median; worst {percent(fit.worst_error)})"


def _row(one: Prediction) -> Row:
    cells = (
        one.what_if.words,
        units.significant(one.nopm.value),
        ratio_words(one.ratio, at_least=one.at_least),
        str(one.users),
        units.time(one.latency_s),
        units.time(one.p999_s),
        stop_reason(one.stopped_by),
        one.limited_by or "none stands out",
    )
    return Row(cells=cells)


def _parameter(one: Parameter) -> Row:
    def shown(value: float) -> str:
        if one.unit == "s":
            return units.time(value)
        return percent(value) if one.unit == "share" else units.significant(value)

    interval = ends(one.estimate, shown)
    return Row(cells=(one.name, shown(one.estimate.value), interval, one.identified_by))


def _spec(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    import altair as alt

    colours = [chart_theme.colour(n) for n in range(len(names))]
    colour = chart_theme.colour_by_name(list(names), colours, chart_theme.legend(list(names)))
    drawn = chart_theme.chart(list(rows)).encode(
        x=alt.X("users:Q", title="Users", scale=alt.Scale(type="log")),
        y=alt.Y("nopm:Q", title="NOPM"),
        color=colour,
    )
    points = drawn.transform_filter("datum.measured").mark_point(filled=True, size=50)
    lines = drawn.transform_filter("!datum.measured").mark_line(strokeDash=[6, 3])
    return chart_theme.specification(
        alt.layer(lines, points, width=chart_theme.WIDTH, height=chart_theme.HEIGHT)
    )
