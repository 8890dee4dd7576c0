"""Preconditioning: what was written to the drives before their volumes were made, and how their
speed settled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any, NamedTuple

from kneebench import units
from kneebench.analysis.steady import RANGE, ROUNDS
from kneebench.analysis.still_steady import still_steady
from kneebench.analysis.sustained_load import change, drains, fell_at
from kneebench.analysis.wording import capital, listed, percent, plural
from kneebench.brief import chart_theme
from kneebench.brief.section import Figure, Section
from kneebench.brief.sections import numbered
from kneebench.brief.view_model import ViewModel
from kneebench.records import DriveLoad, Preconditioned

FEWEST = 3
"""Points of a line that shows anything."""


def section(view: ViewModel) -> Section | None:
    """Nothing where no drive was written first."""
    done, loads = view.campaign.preconditioned, view.campaign.drive_loads
    later = (one.sentence for one in still_steady(view.results))
    sentences = (*_preconditioned(done), *_loaded(loads), *later)
    curves = [one for one in (_speed(done), _rounds(done), *_loads(loads)) if one]
    if not sentences:
        return None
    figures = tuple(
        one.figure(numbered("preconditioning", letter))
        for one, letter in zip(curves, ascii_lowercase, strict=False)
    )
    return Section(
        name="preconditioning",
        title="Preconditioning",
        sentences=sentences,
        figures=figures,
        part="method",
    )


def _preconditioned(drives: Sequence[Preconditioned]) -> Iterator[str]:
    """A sentence per kind."""
    by_kind: dict[tuple[str, bool, bool | None], list[Preconditioned]] = {}
    for done in drives:
        by_kind.setdefault((done.how, done.remembered, done.steady), []).append(done)
    for (how, remembered, steady), alike in by_kind.items():
        names = f"{listed([one.device for one in alike])}: preconditioned ({how})"
        if remembered:
            yield f"{names} by an earlier run; nothing else has written since."
            continue
        sentence = f"{names} before the first volume was made, {_amounts(alike)}."
        if steady is not None:
            rounds = max(len(one.rounds_iops) for one in alike)
            word = "steady" if steady else "NOT steady"
            sentence += f" Random writes were {word} after {plural(rounds, 'round')}."
        yield sentence


def _amounts(alike: Sequence[Preconditioned]) -> str:
    """What was written to each drive, in their order, and the longest time that one took."""
    sizes = [units.size(one.written_bytes) for one in alike]
    times = {units.rough_time(one.took_s) for one in alike}
    longest = units.rough_time(max(one.took_s for one in alike))
    took = f"in {longest}" if len(times) == 1 else f"the longest in {longest}"
    if len({*sizes}) > 1:
        return f"{listed(sizes)}, {took}"
    each = " each" if len(sizes) > 1 else ""
    return f"{sizes[0]}{each}{',' if len(times) > 1 else ''} {took}"


def _loaded(loads: Sequence[DriveLoad]) -> Iterator[str]:
    """A sentence per drive and kind of load; of several drains it describes the first."""
    for load in loads:
        if load.kind == "burn-in" and load.remembered:
            yield f"{load.device}: burn-in by an earlier run."
        elif load.kind == "burn-in":
            yield f"{load.device}: {_facts(load)}."
    for one in drains(loads):
        first, *later = one.loads
        fell = f"IOPS fell in {one.fell} of {plural(len(one.loads), 'drain')}; first "
        yield f"{one.device}: {fell if later else ''}{_facts(first)}."


def _facts(load: DriveLoad) -> str:
    facts = ", ".join([_level(load), *_heat(load), *_counted(load)])
    return f"{load.kind} of {units.time(load.took_s)}: {facts}"


def _level(load: DriveLoad) -> str:
    """How the speed changed."""
    iops = [one.iops for one in load.intervals]
    moved, at = change(iops), fell_at(iops)
    last = f"{units.count(iops[-1])} IOPS at the end"
    if moved is None:
        return last
    if at is not None:
        return f"IOPS fell by {percent(-moved)} after {units.time(at * load.interval_s)}, {last}"
    if load.kind == "drain":
        return f"no fall to a lower level was seen, {last}"
    return f"IOPS changed by {100 * moved:+.1f}%, {last}"


def _heat(load: DriveLoad) -> Iterator[str]:
    seen = [one.temperature_c for one in load.intervals if one.temperature_c is not None]
    if seen:
        yield f"{min(seen):.0f} to {max(seen):.0f} °C"


def _counted(load: DriveLoad) -> Iterator[str]:
    if load.throttled is not None:
        yield f"throttled {plural(load.throttled, 'time')}"
    if load.media_errors is not None:
        yield plural(load.media_errors, "media error")


def _speed(drives: Sequence[Preconditioned]) -> Curves | None:
    points: list[Point] = [
        {"drive": Path(one.device).name, "x": at / 60, "y": speed / 1e6}
        for one in drives
        if len(one.speed) >= FEWEST
        for at, speed in one.speed
    ]
    if not points:
        return None
    least, most = min(one["y"] for one in points), max(one["y"] for one in points)
    how = listed(list(dict.fromkeys(one.how for one in drives)))
    return Curves(
        "preconditioning-speed",
        f"Drives were written at {units.significant(least)} to {units.significant(most)} MB/s",
        f"All writes of the preconditioning ({how}), a line per drive.",
        "Minutes since it began",
        "Written, MB/s",
        points,
    )


def _rounds(drives: Sequence[Preconditioned]) -> Curves | None:
    written = [one for one in drives if len(one.rounds_iops) >= ROUNDS]
    if not written:
        return None
    points: list[Point] = [
        {"drive": Path(one.device).name, "x": number, "y": iops}
        for one in written
        for number, iops in enumerate(one.rounds_iops, start=1)
    ]
    last = [sum(one.rounds_iops[-ROUNDS:]) / ROUNDS for one in written]
    rounds = plural(max(len(one.rounds_iops) for one in written), "round")
    steady = "steady" if all(one.steady for one in written) else "NOT steady"
    at = f"{units.count(min(last))} to {units.count(max(last))}" if len(last) > 1 else ""
    band = (last[0] * (1 - RANGE / 2), last[0] * (1 + RANGE / 2)) if len(last) == 1 else None
    return Curves(
        "preconditioning-rounds",
        f"Random writes {steady} after {rounds}, at {at or units.count(last[0])} IOPS",
        "Each point is a round of random writes. Steady: the last five rounds differ by at most"
        " 20% of their average, and their line moves by at most 10% of it."
        + (" Shaded: 10% around their average." if band else ""),
        "Round",
        "IOPS",
        points,
        band,
        dots=True,
    )


def _loads(loads: Sequence[DriveLoad]) -> Iterator[Curves]:
    """The burn-ins, and the first drain of each drive."""
    drained = drains(loads)
    several = any(one.loads[1:] for one in drained)
    yield from _load("burn-in", [one for one in loads if one.kind == "burn-in"])
    about = " The first drain of each drive." if several else ""
    yield from _load("drain", [one.loads[0] for one in drained], about)


def _load(kind: str, loads: Sequence[DriveLoad], about: str = "") -> Iterator[Curves]:
    """The figure of loads of one kind; none where all are short."""
    points: list[Point] = [
        {"drive": Path(one.device).name, "x": number * one.interval_s / 60, "y": interval.iops}
        for one in loads
        if len(one.intervals) >= FEWEST
        for number, interval in enumerate(one.intervals, start=1)
    ]
    if points:
        least, most = min(one["y"] for one in points), max(one["y"] for one in points)
        yield Curves(
            kind,
            f"{capital(kind)}: {units.count(least)} to {units.count(most)} IOPS",
            f"Random I/O of 4 KiB, 70% reads, depth 32: reads and writes together.{about}",
            "Minutes since it began",
            "IOPS",
            points,
        )


# Lines of drives over time or rounds: one colour per drive.

HEIGHT = 150
Point = dict[str, Any]
"""`drive`, `x` and `y`."""


class Curves(NamedTuple):
    """One figure: a line per drive. `band`: the range of y that counts as steady, if any; `dots`:
    each point is marked.
    """

    name: str
    title: str
    caption: str
    across: str
    up: str
    points: list[Point]
    band: tuple[float, float] | None = None
    dots: bool = False

    def figure(self, number: str) -> Figure:
        """The figure under that number."""
        return Figure(
            name=self.name,
            number=number,
            title=self.title,
            caption=self.caption,
            alt=f"{self.up} vs. {self.across.lower()}. {self.title}.",
            spec=_spec(self),
        )


def _spec(curves: Curves) -> dict[str, Any]:
    import altair as alt

    drives = list(dict.fromkeys(one["drive"] for one in curves.points))
    top = 1.1 * max(one["y"] for one in curves.points)
    end = max(one["x"] for one in curves.points)
    axis = alt.Axis(tickCount=6, format=",.3~r")
    x = alt.X("x:Q", title=curves.across, scale=alt.Scale(domain=[0, end], nice=False), axis=axis)
    y = alt.Y("y:Q", title=curves.up, scale=alt.Scale(domain=[0, top], nice=False), axis=axis)
    colours = alt.Scale(domain=drives, range=[chart_theme.colour(n) for n in range(len(drives))])
    named = chart_theme.legend(drives) if len(drives) > 1 else None
    drawn = chart_theme.chart(curves.points).encode(
        x=x, y=y, color=alt.Color("drive:N", scale=colours, legend=named)
    )
    layers = [drawn.mark_line(strokeWidth=1.8)]
    if curves.dots:
        layers.append(drawn.mark_point(filled=True, size=42, opacity=1))
    if curves.band:
        band = chart_theme.shaded(*curves.band)
        layers.insert(0, band.encode(y=alt.Y("from:Q"), y2=alt.Y2("to:Q")))
    return chart_theme.specification(alt.layer(*layers, width=chart_theme.WIDTH, height=HEIGHT))
