"""The page of several drives: each alone, and all at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from kneebench import units
from kneebench.analysis.wording import capital, listed, percent
from kneebench.brief import chart_theme
from kneebench.brief.bars import names_beside
from kneebench.brief.labels import LINE
from kneebench.brief.profile import method
from kneebench.brief.profile.row_table import breaking_at_commas
from kneebench.brief.profile.summary import state
from kneebench.brief.rendering import Page
from kneebench.brief.section import Column, Figure, Row, Section, Table
from kneebench.measurement.profile import Together, TogetherRow

NOTE = (
    "Sequential rows in MB/s, all others in I/Os per second. The share is that of the sum: 100% is"
    " a set of drives that share no limit. Each row was measured once, so small differences mean"
    " nothing."
)
SCATTER = 1.1
"""Of the sum: no drive is that much faster beside another."""
MORE = "more together than alone, so the rows scatter and need more --seconds"
NAMES = 180
"""Width of the names beside the bars."""


class TogetherPage(Page):
    """A page of several drives, from what they did alone and together."""

    def __init__(self, found: Together) -> None:
        self.found = found

    @property
    def title(self) -> str:
        names = listed([one.name for one in self.found.members])
        shares = [share for _, share in _shares(self.found)]
        if not shares:
            return f"{names} together"
        return f"{names} together: {percent(round(min(shares), 2))} of their sum at worst"

    @property
    def subtitle(self) -> str:
        found = self.found
        return (
            f"Each drive alone, then all at the same time; {found.span}, {found.seconds} s per row,"
            f" fio with {found.engine}; about {units.size(found.written_bytes)} written"
        )

    @property
    def version(self) -> str:
        return self.found.kneebench

    @property
    def told(self) -> tuple[Section, ...]:
        found = self.found
        where = tuple(f"{one.directory}: {one.file_system} on {one.name}" for one in found.members)
        return (
            Section(name="drives", title="Drives", sentences=where),
            Section(name="rows", title="Alone and together", tables=(_table(found),)),
            Section(
                name="caveats",
                title="Caveats",
                sentences=(*sentences(found), state(found)),
                tone="alarm" if any(row.invalid for row in found.rows) else "note",
            ),
        )

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        found = self.found
        documents = [one for some in found.fio.values() for one in some]
        where = [
            (method.place(found), f"{one.directory} ({one.file_system})") for one in found.members
        ]
        drives = [drive for one in found.members for drive in one.drives]
        with chart_theme.without_validation():
            figures = (_figure(found),) if _shares(found) else ()
        return (
            *self.told[1:],
            Section(name="shares", title="Shares", figures=figures),
            Section(
                name="machine",
                title="Machine and method",
                sentences=method.sentences(found),
                tables=(method.facts_table([*where, *method.facts_of(found, drives, documents)]),),
            ),
            method.command([one.directory for one in found.members], found),
        )

    def document(self) -> dict[str, Any]:
        """All of it for programs, without fio's own documents."""
        return self.found.model_dump(mode="json", exclude={"fio"})

    def html(self) -> str:
        where = ", ".join(str(one.directory) for one in self.found.members)
        on = "the whole drives" if self.found.raw else "one file in each directory"
        return self.render_page(
            "profile/page.html.j2", started_at=self.found.started_at, where=where, on=on
        )


def columns(found: Together) -> tuple[str, ...]:
    """Titles of the table: a column per directory between the first and the last three."""
    return ("I/O", *(one.name for one in found.members), "Sum", "Together", "Share")


def cells(row: TogetherRow) -> tuple[str, ...]:
    """A row of that table."""
    alone = [_amount(row, one.bytes_per_s, one.iops) for one in row.alone]
    sums = (
        _amount(row, sum(one.bytes_per_s for one in side), sum(one.iops for one in side))
        for side in (row.alone, row.together)
    )
    share = None if row.share is None else round(row.share, 2)
    return (row.name, *alone, *sums, "invalid" if row.invalid else percent(share))


def row_line(row: TogetherRow) -> str:
    """A row as it is measured, on one line."""
    _, *alone, total, both, share = cells(row)
    return f"{row.name}: alone {' + '.join(alone)} = {total}, together {both} ({share})"


def sentences(found: Together) -> Iterator[str]:
    """The rows that must not be quoted, those in which the drives share a limit, and those that
    scatter.
    """
    reasons = dict[str, list[str]]()
    for row in found.rows:
        if reason := _reason(row):
            reasons.setdefault(reason, []).append(row.name)
    for reason, names in reasons.items():
        yield f"{capital(reason)}: {'; '.join(names)}."


def _reason(row: TogetherRow) -> str:
    if row.invalid:
        return f"invalid, {row.invalid}"
    scatters = (row.share or 0.0) > SCATTER
    return row.limited or (MORE if scatters else "")


def _shares(found: Together) -> list[tuple[TogetherRow, float]]:
    """The valid rows, with their shares of the sum."""
    return [(row, row.share) for row in found.rows if row.share is not None and not row.invalid]


def _amount(row: TogetherRow, bytes_per_s: float, iops: float) -> str:
    return units.rate(bytes_per_s) if row.sequential else units.count(iops)


def _table(found: Together) -> Table:
    first, *numbers = columns(found)
    return Table(
        caption=NOTE,
        columns=(Column(title=first, number=False), *(Column(title=one) for one in numbers)),
        rows=tuple(
            Row(
                cells=tuple(map(breaking_at_commas, cells(row))),
                tone="alarm" if row.invalid else "plain",
            )
            for row in found.rows
        ),
    )


def _figure(found: Together) -> Figure:
    shares = _shares(found)
    limited = sum(bool(row.limited) for row, _ in shares)
    title = (
        f"A shared limit shows in {limited} of {len(shares)} rows"
        if limited
        else "No shared limit shows"
    )
    return Figure(
        name="shares",
        number="Fig. 1",
        title=title,
        caption="Throughput of all drives together, as a share of the sum of each alone (dashed).",
        alt=f"Bars. {title}.",
        spec=_spec(shares),
    )


def _spec(shares: list[tuple[TogetherRow, float]]) -> dict[str, Any]:
    import altair as alt

    points = [
        {"name": row.name, "share": share, "label": percent(round(share, 2))}
        for row, share in shares
    ]
    most = max(1.0, *(share for _, share in shares))
    y, lines, width = names_beside([row.name for row, _ in shares], NAMES)
    x = alt.X(
        "share:Q",
        title="Share of the sum",
        scale=alt.Scale(domain=[0, 1.2 * most], nice=False),
        axis=alt.Axis(format="%", tickCount=4, grid=True),
    )
    bars = chart_theme.chart(points).encode(x=x, y=y)
    whole = chart_theme.chart([{"share": 1.0}]).mark_rule(
        color=chart_theme.FAINT, strokeDash=[3, 3]
    )
    drawn = alt.layer(
        bars.mark_bar(height=18, cornerRadiusEnd=2, color=chart_theme.COLOURS[0]),
        whole.encode(x=x),
        bars.mark_text(align="left", dx=6).encode(text=alt.Text("label:N")),
        width=width,
        height={"step": LINE * max(2, lines)},
    )
    return chart_theme.specification(drawn)
