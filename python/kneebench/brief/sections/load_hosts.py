"""The hosts: the database's and the network to it, what each load host did at the knees, and how
far their clocks and windows were apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from kneebench.analysis.knee import final_rungs
from kneebench.analysis.wording import plural
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.topology import topology
from kneebench.brief.view_model import ViewModel
from kneebench.records import HostTally
from kneebench.units import bit_rate, rounded, size, time

PLACE = 119
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
