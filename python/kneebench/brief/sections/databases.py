"""Databases on the same storage: what each pair of an engine and its settings did, and what that
can and cannot mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kneebench import units
from kneebench.analysis.databases import (
    MEANING,
    QUANTITIES,
    DatabaseQuantity,
    DatabaseRow,
    database_rows,
)
from kneebench.analysis.quantity_ratio import P999
from kneebench.analysis.undecided import UNCERTAIN, not_shown
from kneebench.analysis.wording import (
    FEW,
    FEW_MEANS,
    known,
    times_and_interval,
    value_and_ends,
)
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.view_model import ViewModel

Written = Callable[[float, int], str]
WRITTEN: dict[str, Written] = {"nopm": units.significant}
"""How a quantity is written, where it is neither a time nor a size."""


def section(view: ViewModel) -> Section | None:
    """A table for each storage under each constraint: the databases side by side, and their ratios
    to the first; None for one database.
    """
    places: dict[str, list[DatabaseRow]] = {}
    for row in database_rows(view.results):
        places.setdefault(row.place, []).append(row)
    if not places:
        return None
    few = any(not row.p999_certain for rows in places.values() for row in rows)
    caption = (
        "Users, NOPM, log write and what a transaction (tx) costs: at the knee. Latencies: in open"
        " loop at the fixed rate, which is the same for all. Ratios are to the first database; in"
        f" parentheses: 95% CIs.{f' {FEW_MEANS}' if few else ''}"
    )
    tables = [_figures(place, rows) for place, rows in places.items()]
    tables[0] = tables[0].model_copy(update={"caption": caption})
    return Section(
        name="databases",
        title="Databases",
        sentences=MEANING,
        tables=(_engines(view), *tables),
    )


def _engines(view: ViewModel) -> Table:
    """What each name stands for: the engine, its version, and the settings that shape it most."""
    rows = (
        Row(
            cells=(
                name,
                f"{plan.engine.label} {view.databases.version(name)}".strip(),
                _settings(view, name),
            )
        )
        for name, plan in view.databases.plans.items()
    )
    titles = ("Database", "Engine", "Settings from its sizing rules and the plan")
    columns = tuple(Column(title=title, number=False) for title in titles)
    return Table(columns=columns, rows=tuple(rows), narrow=True)


def _settings(view: ViewModel, name: str) -> str:
    table = view.databases.plans[name].database
    in_force = {one.name: one.value for one in view.databases.settings(name)}
    sized = (table.cache_setting, *table.sized_settings)
    shown = {one: in_force[one] for one in sized if one in in_force}
    shown |= {one: in_force.get(one, str(value)) for one, value in table.settings.items()}
    return ", ".join(f"{one} = {_sized(value)}" for one, value in shown.items()) or units.NOTHING


def _sized(value: str) -> str:
    """A setting's value; of a whole number of MiB, which a server names in bytes, the size.

    >>> _sized("1224736768"), _sized("3008MB"), _sized("8000000")
    ('1168 MiB', '3008MB', '8000000')
    """
    whole = value.isdecimal() and int(value) and not int(value) % units.SIZE["MiB"]
    return units.exact_size(int(value)) if whole else value


def _figures(place: str, rows: Sequence[DatabaseRow]) -> Table:
    first, *others = rows
    titles = [first.database]
    for row in others:
        titles += [row.database, f"Vs. {first.database}"]
    users = [[_users(first)], *([_users(row), ""] for row in others)]
    return Table(
        columns=(Column(title=f"On {place}", number=False), *(Column(title=t) for t in titles)),
        rows=(
            Row(cells=("Users", *(cell for cells in users for cell in cells))),
            *(_row(one, rows) for one in QUANTITIES),
        ),
        narrow=True,
    )


def _row(of: DatabaseQuantity, rows: Sequence[DatabaseRow]) -> Row:
    """Strong where any database differs."""
    first, *others = rows
    cells = [_value(of, first)]
    for row in others:
        cells += [_value(of, row), _ratio(of, row, first)]
    compared = (row.against.get(of.compared.name) for row in others)
    differs = any(one and one.differs for one in compared)
    return Row(cells=(of.heading, *cells), tone="strong" if differs else "plain")


def _users(row: DatabaseRow) -> str:
    return f"{row.users.value:.0f}" if row.users else units.NOTHING


def _value(of: DatabaseQuantity, row: DatabaseRow) -> str:
    name = of.compared.name
    if not (figure := row.figures.get(name)):
        return units.NOTHING
    written = WRITTEN.get(name, units.size if "bytes" in name else units.time)
    if name == "latency.p999" and not row.p999_certain:
        return f"{written(figure.value, 3)}\n({FEW})"
    return "{}\n({})".format(*value_and_ends(figure, written))


def _ratio(of: DatabaseQuantity, row: DatabaseRow, first: DatabaseRow) -> str:
    found = row.against.get(of.compared.name)
    if found is None:
        return "not compared" if row.not_compared else units.NOTHING
    if of.compared is P999 and not (row.p999_certain and first.p999_certain):
        return FEW
    if not known(found.ratio):
        return UNCERTAIN.lower()
    value, sure = times_and_interval(found.ratio)
    unsure = "" if found.differs else f"\n{not_shown(found.ratio).lower()}"
    return f"{value}\n({sure}){unsure}"
