"""The load hosts: what each did at the knees, and how far their clocks and windows were apart."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from kneebench.analysis.knee import final_rungs
from kneebench.analysis.wording import plural
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.view_model import ViewModel
from kneebench.records import HostTally
from kneebench.units import time

PLACE = 119
COLUMNS = (
    Column(title="Load host", number=False),
    Column(title="Cores"),
    Column(title="Users, at most"),
    Column(title="Part of NOPM"),
    Column(title="CPU of its cores, at most"),
    Column(title="Delay per transaction"),
    Column(title="Clock ahead"),
    Column(title="Known to"),
    Column(title="Window off the mean"),
)
CAPTION = (
    "Over the runs at all knees. Each host opens and closes its window by its own clock at the same"
    ' moment; "off the mean" is the most that one was early or late. Delay: the load generator\'s'
    " own, which is in no latency. Histograms of hosts are added, never averaged."
)


def section(view: ViewModel) -> Section | None:
    """The table of load hosts; nothing where one machine does all."""
    parts: dict[str, list[tuple[HostTally, int]]] = {}
    for climb in view.climbs:
        for rung in final_rungs(climb):
            orders = sum(one.new_orders for one in rung.tally.hosts)
            for host in rung.tally.hosts:
                parts.setdefault(host.name, []).append((host, orders))
    if not parts:
        return None
    return Section(
        name="load_hosts",
        title="Load hosts",
        sentences=(f"The users ran on {plural(len(parts), 'load host')}.",),
        tables=(
            Table(
                caption=CAPTION,
                columns=COLUMNS,
                rows=tuple(_row(name, some) for name, some in parts.items()),
            ),
        ),
        part="configuration",
    )


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
            time(fmean(one.ahead_s for one in hosts)),
            time(max(one.bound_s for one in hosts)),
            time(off_s),
        )
    )
