"""What the plan's author says of the storages, and what no file of the machine says."""

from __future__ import annotations

from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.view_model import ViewModel

PLACE = 122
COLUMNS = tuple(Column(title=title, number=False) for title in ("Note", "In the author's words"))


def section(view: ViewModel) -> Section | None:
    """A row for each storage that they describe, and for each note; nothing without any."""
    storages = {f"Storage: {name}": said for name, said in view.plan.brief.storages.items()}
    rows = tuple(Row(cells=note) for note in {**storages, **view.plan.notes}.items())
    if not rows:
        return None
    table = Table(
        caption="Written by the author of the plan. kneebench did not check them.",
        columns=COLUMNS,
        rows=rows,
        narrow=True,
    )
    return Section(name="notes", title="Notes of the author", tables=(table,), part="configuration")
