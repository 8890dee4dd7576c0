"""The hosts: the database's and the network to it, what each load host did at the knees, and how
far their clocks and windows were apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from kneebench.analysis.knee import final_rungs
from kneebench.analysis.wording import plural
from kneebench.brief import chart_theme
from kneebench.brief.section import Column, Figure, Row, Section, Table
from kneebench.brief.view_model import ViewModel
from kneebench.records import Host, HostTally, Link
from kneebench.units import bit_rate, rounded, size, time

COLUMNS = (
    Column(title="Load host", number=False),
    Column(title="Cores"),
    Column(title="Users, at most"),
    Column(title="Part of NOPM"),
    Column(title="CPU of its cores, at most"),
    Column(title="Delay per transaction"),
    Column(title="Received, at most"),
    Column(title="Sent, at most"),
    Column(title="Sent again by TCP"),
    Column(title="Clock ahead"),
    Column(title="Known to"),
    Column(title="Window off the mean"),
)
OF_THE_DATABASE = (
    Column(title="Database host", number=False),
    Column(title="Cores"),
    Column(title="Memory"),
    Column(title="Interface", number=False),
    Column(title="Line rate, by its driver"),
    Column(title="Measured, all users' hosts at once"),
    Column(title="Connected in"),
)
CAPTION = (
    "Over the runs at all knees. Each host opens and closes its window by its own clock at the same"
    ' moment; "off the mean" is the most that one was early or late. Delay: the load generator\'s'
    " own, which is in no latency. Histograms of hosts are added, never averaged."
)


def section(view: ViewModel) -> Section | None:
    """The machines, and what each load host did; nothing where one machine does all."""
    parts: dict[str, list[tuple[HostTally, int]]] = {}
    for climb in view.climbs:
        for rung in final_rungs(climb):
            orders = sum(one.new_orders for one in rung.tally.hosts)
            for one in rung.tally.hosts:
                parts.setdefault(one.name, []).append((one, orders))
    link = view.campaign.link
    if not (parts or link):
        return None
    some = [found[-1][0] for found in parts.values()]
    called, host = view.plan.hosts.database.called, view.campaign.host
    return Section(
        name="load_hosts",
        title="Hosts",
        sentences=tuple(_sentences(view, len(parts))),
        figures=(topology(called, host, link, some),) if link else (),
        tables=(*_database_host(view), *_load_hosts(parts)),
        part="configuration",
    )


def _sentences(view: ViewModel, load_hosts: int) -> Iterator[str]:
    if load_hosts:
        yield f"The users ran on {plural(load_hosts, 'load host')}."
    elif view.campaign.link:
        yield "The users ran on the machine that kneebench was called on."
    if view.plan.hosts.database.ssh:
        called = view.plan.hosts.database.called
        yield f"The database ran on database host {called}, which kneebench prepared and metered."


def _database_host(view: ViewModel) -> Iterator[Table]:
    """The database host and the network to it, where it was measured."""
    if not (link := view.campaign.link):
        return
    host, rate = view.campaign.host, link.line_bytes_per_s
    cells = (
        view.plan.hosts.database.called,
        str(host.cores),
        size(host.memory_bytes),
        f"{link.interface or 'not known'}, {link.address}",
        bit_rate(rate) if rate else "not known",
        bit_rate(sum(link.measured.values())),
        time(link.connect_s),
    )
    yield Table(columns=OF_THE_DATABASE, rows=(Row(cells=cells),), narrow=True)


def _load_hosts(parts: Mapping[str, Sequence[tuple[HostTally, int]]]) -> Iterator[Table]:
    if parts:
        rows = tuple(_row(name, some) for name, some in parts.items())
        yield Table(caption=CAPTION, columns=COLUMNS, rows=rows)


def _row(name: str, some: Sequence[tuple[HostTally, int]]) -> Row:
    hosts = [host for host, _ in some]
    delays = [one.delay_s for one in hosts if one.delay_s is not None]
    off_s = max(max(abs(one.opened_s), abs(one.closed_s)) for one in hosts)
    share = fmean(host.new_orders / orders for host, orders in some if orders)
    return Row(
        cells=(
            name,
            str(hosts[-1].cores),
            str(max(one.users for one in hosts)),
            f"{100 * share:.0f}%",
            f"{100 * max(one.of_its_cores for one in hosts):.0f}%",
            time(fmean(delays)) if delays else "not measured",
            *_carried(hosts),
            time(fmean(one.ahead_s for one in hosts)),
            time(max(one.bound_s for one in hosts)),
            time(off_s),
        )
    )


def _carried(hosts: Sequence[HostTally]) -> tuple[str, str, str]:
    """The most that went each way, and segments that TCP sent again."""
    received, sent, resent = (
        [rate for one in hosts if (rate := getattr(one, name)) is not None]
        for name in ("received_per_s", "sent_per_s", "resent_per_s")
    )
    if not (received and sent and resent):
        return ("not measured",) * 3
    return bit_rate(max(received)), bit_rate(max(sent)), f"{rounded(max(resent))}/s"


# Fig. A2: the machines of a campaign and the network between them.

MOST_DRAWN = 6
"""Load hosts; of more, the others are one box."""
HIGH, APART = 0.8, 1.0
"""Of a box, and from one to the next."""
USERS, WAY, DATABASE = (0.0, 3.7), (3.7, 6.3), (6.3, 10.0)
"""From left to right."""
WIDTH, STEP = 380, 70
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
        "what": f"database\n{plural(host.cores, 'core')}, {size(host.memory_bytes)}",
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
        _box(one.name, f"users\n{plural(one.cores, 'core')}", rates.get(one.name)) for one in drawn
    ]
    if rest := hosts[len(drawn) :]:
        rate = sum(rates.get(one.name, 0.0) for one in rest)
        cores = plural(sum(one.cores for one in rest), "core")
        found.append(_box(f"{len(rest)} more load hosts", f"users\n{cores}", rate))
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
    names = [{**one, "y": one["y"] + 0.17} for one in middles]
    whats = [{**one, "y": one["y"] + 0.41} for one in middles]
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
            {"data": {"values": names}, **text("name", fontWeight="bold")},
            {"data": {"values": whats}, **text("what", lineBreak="\n")},
            {"data": {"values": said}, **text("said", dy=-8)},
        ],
    }
