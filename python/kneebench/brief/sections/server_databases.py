"""The databases of one server that share its users: their throughput, and how even it is."""

from __future__ import annotations

from kneebench import units
from kneebench.analysis.estimate import estimate
from kneebench.analysis.knee import final_rungs, knee
from kneebench.analysis.wording import value_and_ends
from kneebench.brief.section import Row, Section, Table, columns, part_of_each
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb, Estimate, Rung


def section(view: ViewModel) -> Section | None:
    """None where no server has several databases with users."""
    found = [(climb, _runs(climb)) for climb in view.climbs]
    if not any(runs for _, runs in found):
        return None
    caption = (
        f"At the {view.point}. Users are spread over the databases, one after the other. NOPM each:"
        " of all, over their number. Slowest over mean: 100% if the users of all databases had the"
        " same NOPM per user, by each database's own count of New-Orders."
    )
    titles = ("Storage", ">Databases", ">NOPM in all", ">NOPM each", ">Slowest over mean")
    table = Table(
        caption=caption,
        columns=columns(*titles),
        rows=tuple(
            Row(cells=(view.name(one.id), *_cells(one, runs))) for one, runs in found if runs
        ),
    )
    return Section(
        name="server-databases",
        title="Databases on one server",
        tables=(table,),
        part=part_of_each(view),
    )


def _runs(climb: Climb) -> tuple[Rung, ...]:
    """Final runs on several databases, or on one of a sweep over their number."""
    swept = climb.configuration.databases is not None
    return tuple(one for one in final_rungs(climb) if swept or each_of(one))


def each_of(rung: Rung) -> tuple[int, ...]:
    """New-Orders of each database of the server; empty where it has one."""
    return rung.counted.by_database if rung.counted else ()


def fairness(rung: Rung) -> float:
    """New-Orders per user of the slowest database over the mean of those with users; 1 for one."""
    each, users = each_of(rung), rung.users
    own = [(users - nth + len(each) - 1) // len(each) for nth in range(len(each))]
    rates = [orders / there for orders, there in zip(each, own, strict=True) if there]
    return min(rates) * len(rates) / sum(rates) if sum(rates) else 1.0


def _cells(climb: Climb, runs: tuple[Rung, ...]) -> tuple[str, ...]:
    number, found = len(each_of(runs[0])) or 1, knee(climb)
    assert found, "a climb with final runs has a knee"
    nopm, slowest = found.nopm, estimate([fairness(rung) for rung in runs])
    ends = {name: getattr(nopm, name) / number for name in ("value", "low", "high")}
    share = f"{100 * slowest.value:.1f}%" if number > 1 else units.NOTHING
    return str(number), _said(nopm), _said(nopm.model_copy(update=ends)), share


def _said(of: Estimate) -> str:
    value, ends = value_and_ends(of)
    return f"{value} ({ends})"
