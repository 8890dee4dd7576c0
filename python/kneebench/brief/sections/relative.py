"""How many orders a minute, against the baseline's knee (or fixed load)."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

from kneebench import units
from kneebench.analysis.flush_work import flush_work
from kneebench.analysis.headline import foremost
from kneebench.analysis.sweep import sweeps
from kneebench.analysis.undecided import not_shown
from kneebench.analysis.wording import (
    as_sentence,
    capital,
    number_of_users,
    possessive,
    times,
    times_another,
    times_with_interval,
)
from kneebench.brief import chart_theme
from kneebench.brief.bars import Bar, bars, interval_ends, reach, whisker_marks
from kneebench.brief.labels import broken
from kneebench.brief.section import Figure, Section, part_of_each
from kneebench.brief.sections import numbered
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb, Estimate

MOST_PANELS, MOST_BARS = 4, 36
"""With more the search rungs are left to the table."""
WIDTH, APART, DIGIT = chart_theme.WIDTH + 16, 12, 6.6
"""Of all panels, whose axis has short numbers; from one to the next; of a digit below a bar."""
MOST_LINES = 2
"""Of a name above its panel; where one needs more, a legend has them all."""


def section(view: ViewModel) -> Section | None:
    """Bars for knees, lighter ones for the rungs that led there; a figure for each database."""
    with_base = [part for part in view.parts if _one(part).id in part.knees]
    letters = ascii_lowercase if len(view.parts) > 1 else [""]
    figures = [_figure(*one) for one in zip(with_base, letters, strict=False)]
    if not figures:
        return None
    return Section(
        name="relative",
        title="Throughput",
        figures=(*figures,),
        part=part_of_each(view),
    )


def _flushes(view: ViewModel) -> str:
    """What a flush of the log is on both sides of a comparison, of many only for the foremost."""
    climbs = {climb.id: climb for climb in view.climbs}
    best = foremost(view.comparisons)
    compared = view.comparisons if view.direct else filter(None, [best])
    said = [flush_work(climbs[one.configuration], climbs[one.baseline], one) for one in compared]
    return "".join(f" {as_sentence(one)}" for one in said if one)


def _figure(view: ViewModel, letter: str) -> Figure:
    """`letter`: of this figure among those of several databases."""
    search_rungs = sum(len(_lighter(climb)) for climb in view.climbs)
    whole = len(view.climbs) <= MOST_PANELS and 0 < search_rungs <= MOST_BARS
    data = [bar for climb in view.climbs for bar in _bars(view, climb)]
    knees = [bar for bar in data if bar["kind"] == "knee"]
    levels = [_level(view, bar) for bar in knees]
    spec = _panels(view, data) if whole else bars(view, levels, _axis(view))
    higher = _higher(view, data) if whole else ""
    caption = _caption(view, knees, whole) + higher + _flushes(view)
    best = foremost(view.comparisons)
    title = f"NOPM at the {view.point}"
    if best:
        name = view.name(best.configuration)
        base = view.name(best.baseline)
        ratio = times_another(times_with_interval(best.ratio), base, "NOPM")
        title = (
            f"{capital(name)}: {ratio}"
            if best.differs
            else f"{not_shown(best.ratio)}: {name} {ratio}"
        )
    return Figure(
        name=f"relative-nopm{letter and '-'}{letter}",
        number=numbered("relative", letter),
        title=title,
        caption=caption,
        alt=f"Bars of relative NOPM. {title}.",
        spec=spec,
    )


def _one(view: ViewModel) -> Climb:
    """The configuration whose NOPM is 1: the baseline; of one sweep the largest, as in Fig. S1."""
    swept = sweeps(view.results)
    if len(swept) == 1 and not view.comparisons:
        return swept[0].configurations[-1].climb
    return view.base


def _axis(view: ViewModel) -> str:
    if _one(view).id != view.base.id:
        return "NOPM, largest = 1"
    whose = "baseline's " if view.climbs[1:] else ""
    return f"NOPM, {whose}{view.point} = 1"


def _caption(view: ViewModel, knees: list[dict[str, Any]], whole: bool) -> str:
    sure = "too few runs for an interval"
    if any(bar["high"] for bar in knees):
        sure = "whiskers are 95% CIs"
        base = view.name(_one(view).id)
        if not view.comparisons:
            sure += f" of each bar's own NOPM, not of its ratio to {base}"
        elif view.direct:
            sure += f": of the NOPM of {base}, and of the other bars' ratios"
        if view.comparisons and any(one.baseline != view.base.id for one in view.comparisons):
            sure += f", or of a bar's own NOPM if it is not compared with {base}"
    lighter = (
        "Lighter bars are search rungs, one short measurement each; they are not results. Final"
        " runs replace the search rung with as many users. "
        if whole
        else ""
    )
    latencies = "; ".join(f"{view.name(bar['configuration'])} {bar['latency']}" for bar in knees)
    there = f" Mean latency there: {latencies}." if view.direct else ""
    return (
        f"NOPM at the {view.point}, {view.name(_one(view).id)} = 1; {sure}. {lighter}".rstrip()
        + there
    )


def _higher(view: ViewModel, data: list[dict[str, Any]]) -> str:
    """Why a search rung's bar is higher than the ratio that is quoted of its storage."""
    quoted = {bar["configuration"]: bar["ratio"] for bar in data if bar["kind"] == "knee"}
    best = foremost(view.comparisons)
    rungs = [bar for bar in data if bar["kind"] == "search"]
    own = [bar for bar in rungs if best and bar["configuration"] == best.configuration]
    top = max(own, key=lambda bar: bar["ratio"], default=None)
    if not best or not top or times(top["ratio"]) == times(quoted[best.configuration]):
        return ""
    if top["ratio"] < quoted[best.configuration]:
        return ""
    whose = possessive(capital(view.name(best.configuration)))
    return (
        f" {whose} bar at {number_of_users(top['users'])} is higher than the title's ratio: it is"
        " one search rung, and the title quotes the final runs."
    )


def _level(view: ViewModel, bar: dict[str, Any]) -> Bar:
    return Bar(
        view.name(bar["configuration"]),
        bar["ratio"],
        bar["low"],
        bar["high"],
        f"{bar['label']}, {number_of_users(bar['users'])}",
    )


def _lighter(climb: Climb) -> dict[int, float]:
    """NOPM by users of the search rungs, where the final runs did not measure the same users."""
    reported = {rung.users for rung in climb.of("final_run", "fixed_load")}
    return {
        rung.users: rung.tally.nopm
        for rung in climb.of("search", "bisection")
        if rung.users not in reported and not rung.invalid
    }


def _bars(view: ViewModel, climb: Climb) -> list[dict[str, Any]]:
    one = view.knees[_one(view).id].nopm.value
    made: list[dict[str, Any]] = [
        {
            "configuration": climb.id,
            "users": users,
            "ratio": nopm / one,
            "kind": "search",
        }
        for users, nopm in _lighter(climb).items()
    ]
    if knee := view.knees.get(climb.id):
        against = view.compared("nopm", climb.id)
        ratio = (
            against.ratio
            if against and against.baseline == view.base.id
            else Estimate(
                value=knee.nopm.value / one,
                low=knee.nopm.low / one,
                high=knee.nopm.high / one,
                n=knee.nopm.n,
            )
        )
        interval = dict(zip(("low", "high"), interval_ends(ratio), strict=True))
        labels = {"label": times(ratio.value), "latency": units.time(knee.latency_s.value)}
        made.append(
            {
                "configuration": climb.id,
                "users": round(knee.users.value),
                "ratio": ratio.value,
                "kind": "knee",
                **interval,
                **labels,
            }
        )
    return sorted(made, key=lambda bar: int(bar["users"]))


def _panels(view: ViewModel, data: list[dict[str, Any]]) -> dict[str, Any]:
    import altair as alt

    top = 1.14 * reach((bar["ratio"], bar.get("high")) for bar in data)
    data = [{**bar, "end": max(bar["ratio"], bar.get("high") or 0.0)} for bar in data]
    groups = [
        (climb, bars)
        for climb in view.climbs
        if (bars := [bar for bar in data if bar["configuration"] == climb.id])
    ]
    step = min(52.0, (WIDTH - APART * (len(groups) - 1)) / len(data))
    titles = [broken(view.name(climb.id), step * len(bars)) for climb, bars in groups]
    short = max(map(len, titles)) <= MOST_LINES
    panels = [
        _panel(view, climb, bars, top, step, first=climb is groups[0][0], named=not short)
        for climb, bars in groups
    ]
    if short:
        for panel, title in zip(panels, _level_lines(titles), strict=True):
            panel.title = alt.Title(title, anchor="middle")
    return chart_theme.specification(
        alt.hconcat(*panels, spacing=APART).resolve_scale(color="shared")
    )


def _readable(bars: list[dict[str, Any]], step: float) -> list[int]:
    """The users that have room below bars so wide: those of the knee first."""
    shown: list[int] = []
    every = [bar["users"] for bar in bars]
    for bar in sorted(bars, key=lambda bar: bar["kind"] != "knee"):
        place, users = every.index(bar["users"]), bar["users"]
        if all(
            abs(place - every.index(one)) * step >= DIGIT * (len(f"{one}{users}") + 1) / 2
            for one in shown
        ):
            shown.append(users)
    return shown


def _level_lines(titles: list[list[str]]) -> list[list[str]]:
    """All with as many lines, so that what stands below them is level."""
    most = max(map(len, titles))
    return [[" "] * (most - len(title)) + title for title in titles]


def _panel(
    view: ViewModel,
    climb: Climb,
    bars: list[dict[str, Any]],
    top: float,
    step: float,
    *,
    first: bool,
    named: bool,
) -> Any:
    """One storage's bars by users; the first panel has the axis, a legend the name if `named`."""
    import altair as alt

    scale = alt.Scale(domain=[0, top], nice=False)
    axis = (
        alt.Axis(title=_axis(view), format=".2~f") if first else alt.Axis(labels=False, title=None)
    )
    kinds = alt.Scale(domain=["knee", "search"], range=[1, 0.32])
    opacity = alt.Opacity("kind:N", scale=kinds, legend=None)
    axis_x = alt.Axis(labelAngle=0, labelOverlap=False, values=_readable(bars, step))
    users = alt.X("users:O", title="Users", sort=None, axis=axis_x)
    name = view.name(climb.id)
    shared = chart_theme.chart([{**bar, "name": name} for bar in bars]).encode(x=users)
    legend = chart_theme.legend(view.names, "square") if named else None
    colour = chart_theme.colour_by_name(view.names, view.colours, legend)
    knee = shared.transform_filter("datum.kind == 'knee'")
    return alt.layer(
        shared.mark_bar(cornerRadiusEnd=2).encode(
            y=alt.Y("ratio:Q", scale=scale, axis=axis), color=colour, opacity=opacity
        ),
        *whisker_marks(knee, "y", scale, length=min(10, step * 0.4)),
        knee.mark_text(baseline="bottom", dy=-7, fontWeight="bold").encode(
            y=alt.Y("end:Q", scale=scale), text=alt.Text("label:N")
        ),
        width={"step": step},
        height=chart_theme.HEIGHT,
    )
