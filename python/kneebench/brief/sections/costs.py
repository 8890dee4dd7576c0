"""What a transaction cost at every rung: bytes, CPU, checkpoints, and how long the restore took."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench import units
from kneebench.analysis.background import CHECKPOINTS
from kneebench.analysis.wording import percent
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.sections.rungs import label
from kneebench.brief.view_model import ViewModel
from kneebench.records import Rung

PLACE = 90
BEFORE = (
    Column(title="Storage", number=False),
    Column(title="Rung", number=False),
    Column(title="Users"),
    Column(title="Log per tx"),
    Column(title="Read per tx"),
    Column(title="Written per tx"),
    Column(title="Full-page images"),
    Column(title="Checkpoints"),
    Column(title="Commits per flush"),
    Column(title="Cache hits"),
)
AFTER = (
    Column(title="Server CPU per tx"),
    Column(title="Load gen. CPU per tx"),
    Column(title="Load gen. delay per tx"),
    Column(title="Restore"),
)
"""The columns before and after those of the engine's own quantities."""


def section(view: ViewModel) -> Section | None:
    """A higher NOPM from cheaper orders is not faster storage: here they are priced."""
    own = {name: one for name, one in view.plan.engine.own_quantities.items() if one.heading}
    columns = (*BEFORE, *(Column(title=one.heading) for one in own.values()), *AFTER)
    rows = tuple(_row(view, rung, list(own)) for climb in view.climbs for rung in climb.rungs)
    shares = "Full-page images are a share of log records."
    caption = (
        "Per window, over all five transaction types (tx: transaction, load gen.: load generator)."
        f" {shares} {units.NOTHING} means not measured, never 0."
    )
    tables = (Table(caption=caption, columns=columns, rows=rows),)
    return (
        Section(
            name="costs",
            title="Cost per transaction",
            sentences=_drifts(view),
            tables=tables,
            fold=True,
        )
        if rows
        else None
    )


def _row(view: ViewModel, rung: Rung, own: Sequence[str]) -> Row:
    begun = [value for name in CHECKPOINTS if (value := rung.quantity(name)) is not None]
    return Row(
        cells=(
            view.name(rung.order.cell),
            label(view, rung),
            str(rung.users),
            units.size(rung.quantity("log.bytes_per_transaction")),
            units.size(rung.quantity("device.read_bytes_per_transaction")),
            units.size(rung.quantity("device.write_bytes_per_transaction")),
            percent(rung.quantity("log.full_page_image_share")),
            f"{sum(begun) * rung.tally.window_s:.0f}" if begun else units.NOTHING,
            units.count(rung.quantity("log.commits_per_flush")),
            percent(rung.quantity("cache.hit_ratio")),
            *(units.count(rung.quantity(name)) for name in own),
            units.time(rung.quantity("server.cpu_per_transaction")),
            units.time(rung.quantity("load_generator.cpu_per_transaction")),
            units.time(rung.quantity("load_generator.delay")),
            units.time(rung.restore_s),
        ),
        tone="plain" if rung.order.phase in ("final_run", "fixed_load") else "light",
    )


def _drifts(view: ViewModel) -> tuple[str, ...]:
    """The first rung against itself, measured again last: data grows, bloats and is cleaned up
    during a climb.
    """
    return tuple(f"{view.name(climb.cell.id)}: {found.sentence}." for climb, found in view.drifts)
