"""What a transaction cost at every rung: bytes, CPU, checkpoints, and how long the restore took."""

from __future__ import annotations

from collections.abc import Mapping

from kneebench import units
from kneebench.analysis.answers import drifts
from kneebench.analysis.background import CHECKPOINTS
from kneebench.analysis.drift import drift_checks
from kneebench.analysis.wording import percent
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.sections.rungs import label
from kneebench.brief.view_model import ViewModel
from kneebench.engine_properties import Quantity
from kneebench.records import Rung

IMAGE_SHARE = "log.full_page_image_share"
WRITTEN = 6
BEFORE = (
    Column(title="Storage", number=False),
    Column(title="Rung", number=False),
    Column(title="Users"),
    Column(title="Log per tx"),
    Column(title="Read per tx"),
    Column(title="Written per tx"),
    Column(title="Checkpoints"),
    Column(title="Commits per flush"),
    Column(title="Cache hits"),
)
IMAGES = Column(title="Full-page images")
"""Of a database whose log has them, after what a transaction writes."""
AFTER = (
    Column(title="Server CPU per tx"),
    Column(title="Load gen. CPU per tx"),
    Column(title="Load gen. delay per tx"),
    Column(title="Restore"),
)
"""The columns before and after those of the engine's own quantities."""


def section(view: ViewModel) -> Section | None:
    """A higher NOPM from cheaper orders is not faster storage: here they are priced."""
    own = {
        name: one
        for plan in view.databases.plans.values()
        for name, one in plan.engine.own_quantities.items()
        if one.heading
    }
    rungs = [rung for climb in view.climbs for rung in climb.rungs]
    images = any(rung.quantity(IMAGE_SHARE) is not None for rung in rungs)
    shown = (*BEFORE[:WRITTEN], IMAGES, *BEFORE[WRITTEN:]) if images else BEFORE
    columns = (*shown, *(Column(title=one.heading) for one in own.values()), *AFTER)
    rows = tuple(_row(view, rung, own, images=images) for rung in rungs)
    shares = "Full-page images are a share of log records." if images else ""
    caption = (
        "Per window, over all five transaction types (tx: transaction, load gen.: load generator)."
        f" {f'{shares} ' if shares else ''}{units.NOTHING} means not measured, never 0."
    )
    tables = (Table(caption=caption, columns=columns, rows=rows),)
    return (
        Section(
            name="costs",
            title="Cost per transaction",
            sentences=_drifts(view),
            tables=tables,
            part="appendix",
        )
        if rows
        else None
    )


def _row(view: ViewModel, rung: Rung, own: Mapping[str, Quantity], *, images: bool) -> Row:
    begun = [value for name in CHECKPOINTS if (value := rung.quantity(name)) is not None]
    return Row(
        cells=(
            view.name(rung.order.configuration),
            label(view, rung),
            str(rung.users),
            units.size(rung.quantity("log.bytes_per_transaction")),
            units.size(rung.quantity("device.read_bytes_per_transaction")),
            units.size(rung.quantity("device.write_bytes_per_transaction")),
            *([percent(rung.quantity(IMAGE_SHARE))] if images else []),
            f"{sum(begun) * rung.tally.window_s:.0f}" if begun else units.NOTHING,
            units.count(rung.quantity("log.commits_per_flush")),
            percent(rung.quantity("cache.hit_ratio")),
            *(
                (units.size if one.unit == "B" else units.count)(rung.quantity(name))
                for name, one in own.items()
            ),
            units.time(rung.quantity("server.cpu_per_transaction")),
            units.time(rung.quantity("load_generator.cpu_per_transaction")),
            units.time(rung.quantity("load_generator.delay")),
            units.time(rung.restore_s),
        ),
        tone="plain" if rung.order.phase in ("final_run", "fixed_load") else "light",
    )


def _drifts(view: ViewModel) -> tuple[str, ...]:
    """The first rung against itself, measured again last: data grows, bloats and is cleaned up
    during a climb. Drifts beyond the noise are caveats.
    """
    found = drift_checks(drifts(view.climbs), len(view.climbs))
    return (found,) if found else ()
