"""Device traffic, checkpoints and cores through one rung at the knee, second by second."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from string import ascii_lowercase
from typing import Any, NamedTuple

from kneebench import units
from kneebench.analysis.background import CHECKPOINTS
from kneebench.analysis.cpu_utilization import database_cores
from kneebench.analysis.wording import capital, listed, number_of_users, plural
from kneebench.brief import chart_theme
from kneebench.brief.scales import combined, thinned
from kneebench.brief.section import Figure, Section
from kneebench.brief.sections import numbered
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb, Rung, Series

MOST_CONFIGURATIONS = 6
TRAFFIC = {"device.read_bytes": "read", "device.write_bytes": "written", "log.bytes": "log"}
STYLES: dict[str, tuple[str, list[int]]] = {
    "read": (chart_theme.READ, [1, 0]),
    "written": (chart_theme.WRITTEN, [1, 0]),
    "log": (chart_theme.LOG, [5, 3]),
}
"""Colour and dashes of each kind of traffic."""
COUNTS = ("load.transactions", "database.commits")
CORES = ("server.core_busy", "cores.busy")
"""The database's cores: as a server on another machine counts them, else those of this machine that
it may use. Where these are not known, all."""
Point = dict[str, Any]


def section(view: ViewModel) -> Section | None:
    """One figure for each storage, all on the same scales."""
    shown = [(climb.id, rung) for climb in chosen(view.climbs) if (rung := view.at_the_knee(climb))]
    read = {
        configuration: _Read(rung, view.series(rung, *TRAFFIC, *CHECKPOINTS, *COUNTS, *CORES))
        for configuration, rung in shown
    }
    read = {configuration: one for configuration, one in read.items() if one.traffic or one.cores}
    if not read:
        return None
    drawn = [*read.values()]
    scales = Scales(
        top=1.08 * max((point["value"] for one in drawn for point in one.traffic), default=1.0),
        end=max(point["at"] for one in drawn for point in (*one.traffic, *one.cores)),
    )
    figures = tuple(
        _figure(view, configuration, one, letter, scales)
        for (configuration, one), letter in zip(read.items(), ascii_lowercase, strict=False)
    )
    return Section(
        name="over-time",
        title=f"The {view.point}, second by second",
        sentences=left_out(view),
        figures=figures,
        part="appendix",
    )


def chosen(climbs: Sequence[Climb]) -> list[Climb]:
    """As many configurations as are drawn second by second: of more the first, the last, and those
    between at equal distances.
    """
    most = MOST_CONFIGURATIONS
    if len(climbs) <= most:
        return list(climbs)
    return [climbs[round(n * (len(climbs) - 1) / (most - 1))] for n in range(most)]


def left_out(view: ViewModel) -> tuple[str, ...]:
    """Which configurations are not drawn; nothing where all are."""
    drawn = {climb.id for climb in chosen(view.climbs)}
    others = [view.name(climb.id) for climb in view.climbs if climb.id not in drawn]
    return (f"Not drawn, for there are many: {listed(others)}.",) if others else ()


class Scales(NamedTuple):
    """What all panels share: the most traffic in MB/s, with some room, and the longest rung in
    seconds.
    """

    top: float
    end: float


class _Read:
    """A rung's series as the figure needs them: MB/s by kind, busy cores as a share, seconds in
    which a checkpoint was.
    """

    def __init__(self, rung: Rung, series: Iterable[Series]) -> None:
        self.rung = rung
        kept = list(series)
        traffic = {
            kind: combined([s for s in kept if s.quantity == quantity], sum)
            for quantity, kind in TRAFFIC.items()
        }
        unheard = _unreported_seconds(kept)
        traffic["log"] = [(at, value) for at, value in traffic["log"] if at not in unheard]
        self.traffic: list[Point] = [
            {"at": at, "value": value / 1e6, "kind": kind}
            for kind, points in traffic.items()
            for at, value in thinned(points)
        ]
        counted = database_cores(rung)
        here = [s for s in kept if not counted or s.source in counted]
        cores = next(filter(None, ([s for s in here if s.quantity == name] for name in CORES)), [])
        self.cores: list[Point] = [
            {"at": at, "value": value} for at, value in thinned(combined(cores, fmean))
        ]
        self.checkpoints: list[Point] = [
            {"at": at}
            for s in kept
            if s.quantity in CHECKPOINTS
            for at, value in zip(s.at_s, s.value, strict=True)
            if value > 0
        ]


def _unreported_seconds(series: list[Series]) -> set[float]:
    """Seconds in which the users completed transactions and the database reported none: its
    counters lag, so its zeros are no zeros. None where it does not count them.
    """
    done, counted = (
        dict(combined([s for s in series if s.quantity == quantity], sum)) for quantity in COUNTS
    )
    return {at for at, value in done.items() if value and counted and not counted.get(at)}


def _figure(
    view: ViewModel, configuration: str, read: _Read, letter: str, scales: Scales
) -> Figure:
    rung = read.rung
    means = [
        f"{units.rate(value)} {kind}"
        for quantity, kind in TRAFFIC.items()
        if (value := _traffic(rung, quantity)) is not None
    ]
    dashed = f" Dashed: {plural(len(read.checkpoints), 'checkpoint')}." if read.checkpoints else ""
    at = f"{capital(view.name(configuration))} at {number_of_users(rung.users)}"
    title = f"{at}: {listed(means)}" if means else at
    window = (
        f"One rung of {rung.tally.window_s:.0f} s after {rung.warm_up_s:.0f} s of warm-up (shaded:"
        " the window)."
    )
    caption = f"{window}{dashed} All panels of {numbered('over_time')} share their scales."
    return Figure(
        name=f"over-time-{letter}",
        number=numbered("over_time", letter),
        title=title,
        caption=caption,
        alt=f"Traffic and busy cores over time. {title}.",
        spec=_spec(read, scales),
    )


def _traffic(rung: Rung, quantity: str) -> float | None:
    """Bytes per second through the window.

    The log's by what a transaction cost: the database's counters lag by up to a second, bytes and
    transactions alike.
    """
    each = rung.quantity("log.bytes_per_transaction") if quantity == "log.bytes" else None
    return rung.quantity(quantity) if each is None else each * rung.tally.throughput_per_s


def _spec(read: _Read, scales: Scales) -> dict[str, Any]:
    import altair as alt

    rung, (top, end) = read.rung, scales
    window = chart_theme.shaded(rung.warm_up_s, min(end, rung.warm_up_s + rung.tally.window_s))
    marks = chart_theme.chart(read.checkpoints)
    scale = alt.Scale(domain=[0, end], nice=False)

    def panel(lines: Any, title: str | None, height: int) -> Any:
        across: dict[str, Any] = {"scale": scale, "title": title, "axis": alt.Axis(tickCount=6)}
        shaded = window.encode(x=alt.X("from:Q", **across), x2=alt.X2("to:Q"))
        dashed = marks.mark_rule(color=chart_theme.FAINT, strokeDash=[3, 3], strokeWidth=1).encode(
            x=alt.X("at:Q", **across)
        )
        return alt.layer(shaded, dashed, lines, width=chart_theme.WIDTH, height=height)

    panels = []
    if read.traffic:
        panels.append(panel(_traffic_lines(read, scale, top), None, 142))
    if read.cores:
        panels.append(panel(_cores_area(read, scale), "Seconds since the rung started", 66))
    return chart_theme.specification(alt.vconcat(*panels, spacing=10))


def _traffic_lines(read: _Read, scale: Any, top: float) -> Any:
    import altair as alt

    drawn = {point["kind"] for point in read.traffic}
    styles = {kind: style for kind, style in STYLES.items() if kind in drawn}
    kinds = alt.Scale(domain=list(styles), range=[colour for colour, _ in styles.values()])
    dashes = alt.Scale(domain=list(styles), range=[dash for _, dash in styles.values()])
    rate = alt.Scale(domain=[0, top], nice=False)
    lines = chart_theme.chart(read.traffic).mark_line(strokeWidth=1.8)
    return lines.encode(
        x=alt.X("at:Q", scale=scale, title=None),
        y=alt.Y("value:Q", title="MB/s", scale=rate, axis=alt.Axis(tickCount=5)),
        color=alt.Color("kind:N", scale=kinds),
        strokeDash=alt.StrokeDash("kind:N", scale=dashes),
    )


def _cores_area(read: _Read, scale: Any) -> Any:
    import altair as alt

    busy = alt.Y(
        "value:Q",
        title="Cores busy",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", values=[0, 0.5, 1]),
    )
    area = chart_theme.chart(read.cores).mark_area(
        color="#9aa5b1", opacity=0.55, line={"color": chart_theme.FAINT}
    )
    return area.encode(x=alt.X("at:Q", scale=scale), y=busy)
