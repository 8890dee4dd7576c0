"""Fig. A2: the machines of a campaign and the network between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kneebench.analysis.wording import plural
from kneebench.brief import chart_theme
from kneebench.brief.section import Figure
from kneebench.records import Host, HostTally, Link
from kneebench.units import bit_rate, size

MOST_DRAWN = 6
"""Load hosts; of more, the others are one box."""
HIGH, APART = 0.8, 1.0
"""Of a box, and from one to the next."""
USERS, WAY, DATABASE = (0.0, 3.2), (3.2, 6.8), (6.8, 10.0)
"""From left to right."""
WIDTH, STEP = 560, 64
Point = dict[str, Any]


def topology(called: str, host: Host, link: Link, hosts: Sequence[HostTally]) -> Figure:
    """The load hosts at the left, the database host `called` at the right."""
    users = _user_boxes(link, hosts)
    high = len(users) * APART
    boxes = [
        {"x": USERS[0], "x2": USERS[1], "y": n * APART, "y2": n * APART + HIGH, **box}
        for n, box in enumerate(users)
    ]
    middle = (high - APART + HIGH) / 2
    database = {
        "x": DATABASE[0],
        "x2": DATABASE[1],
        "y": middle - HIGH / 2,
        "y2": middle + HIGH / 2,
        "name": called,
        "what": f"database, {plural(host.cores, 'core')}, {size(host.memory_bytes)}",
    }
    ways = [
        {
            "x": WAY[0],
            "x2": WAY[1],
            "y": box["y"] + HIGH / 2,
            "y2": middle,
            "said": box["carries"],
        }
        for box in boxes
    ]
    return Figure(
        name="topology",
        number="Fig. A2",
        title="Machines and network",
        caption=_caption(link),
        alt=f"{plural(len(users), 'machine')} of users joined to {called}.",
        spec=_spec([*boxes, database], ways, round(high * STEP)),
    )


def _user_boxes(link: Link, hosts: Sequence[HostTally]) -> list[Point]:
    """A box for each host of users; without load hosts the machine that they ran on."""
    if not hosts:
        return [_box(name, "users", rate) for name, rate in link.measured.items()]
    drawn = hosts if len(hosts) <= MOST_DRAWN else hosts[: MOST_DRAWN - 1]
    rates = link.measured
    found = [
        _box(one.name, f"users, {plural(one.cores, 'core')}", rates.get(one.name)) for one in drawn
    ]
    if rest := hosts[len(drawn) :]:
        rate = sum(rates.get(one.name, 0.0) for one in rest)
        cores = plural(sum(one.cores for one in rest), "core")
        found.append(_box(f"{len(rest)} more load hosts", f"users, {cores}", rate))
    return found


def _box(name: str, what: str, rate: float | None) -> Point:
    return {"name": name, "what": what, "carries": bit_rate(rate) if rate else ""}


def _caption(link: Link) -> str:
    driver = (
        f"The driver of {link.interface} says {bit_rate(link.line_bytes_per_s)}"
        if link.line_bytes_per_s
        else f"The driver of {link.interface or 'the interface'} says no line rate"
    )
    return (
        f"On the lines: what each machine received from {link.address} before the first rung, all"
        f" at once, over one connection each. {driver}."
    )


def _spec(boxes: list[Point], ways: list[Point], high: int) -> dict[str, Any]:
    x = {"field": "x", "type": "quantitative", "axis": None, "scale": {"domain": [0, 10]}}
    y = {"field": "y", "type": "quantitative", "axis": None, "scale": {"reverse": True}}
    ends = {"x": x, "x2": {"field": "x2"}, "y": y, "y2": {"field": "y2"}}
    middles = [{**one, "x": (one["x"] + one["x2"]) / 2} for one in boxes]
    names = [{**one, "y": one["y"] + 0.3} for one in middles]
    whats = [{**one, "y": one["y"] + 0.56} for one in middles]
    said = [
        {**one, "x": one["x"] + 0.9, "y": one["y"] + (one["y2"] - one["y"]) / 4} for one in ways
    ]

    def text(field: str, **how: Any) -> dict[str, Any]:
        mark = {"type": "text", "color": chart_theme.INK, **how}
        return {"mark": mark, "encoding": {"x": x, "y": y, "text": {"field": field}}}

    box = {
        "type": "rect",
        "fill": chart_theme.SHADE,
        "stroke": chart_theme.FAINT,
        "cornerRadius": 4,
    }
    return {
        "width": WIDTH,
        "height": high,
        "layer": [
            {
                "data": {"values": ways},
                "mark": {"type": "rule", "color": chart_theme.FAINT, "strokeWidth": 1.5},
                "encoding": ends,
            },
            {"data": {"values": boxes}, "mark": box, "encoding": ends},
            {"data": {"values": names}, **text("name", fontWeight="bold", fontSize=13)},
            {"data": {"values": whats}, **text("what", fontSize=11)},
            {"data": {"values": said}, **text("said", fontSize=11, dy=-8)},
        ],
    }
