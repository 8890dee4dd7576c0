"""Stacked bars, one for each storage: the parts of a transaction's mean time, with the whole of it
beside the bar.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kneebench import units
from kneebench.analysis.evidence import CLASSES
from kneebench.analysis.wording import capital, percent
from kneebench.brief import chart_theme
from kneebench.brief.bars import GAP, axis_end, names_beside
from kneebench.brief.labels import LINE, PLAIN
from kneebench.records import TimeShare

COLOURS = {
    "cpu": "#009E73",
    "log": chart_theme.LOG,
    "data_read": chart_theme.READ,
    "data_write": chart_theme.WRITTEN,
    "lock": "#D55E00",
    "lightweight_lock": "#AA4499",
    "queue": "#56B4E9",
    "other": "#9aa5b1",
    "rest": chart_theme.LINE,
}
BLACK = "#111820"
INKS = {"rest": chart_theme.INK, "data_read": BLACK, "queue": BLACK, "other": BLACK}
"""Of numbers upon light parts; others are white. A page that is read in the dark changes INK, as it
does the colour of the rest, and leaves BLACK."""
SEEN = 0.005
"""Least share that is drawn."""
Split = Mapping[str, TimeShare]


def time_bars(splits: Mapping[str, Split]) -> dict[str, Any]:
    """The chart, of the splits by the storages' names."""
    import altair as alt

    rows = [row for name, split in splits.items() for row in _rows(name, split)]
    seen = [
        name
        for name in CLASSES
        if any(name in split and split[name].share >= SEEN for split in splits.values())
    ]
    names, lines, width = names_beside([*splits])
    end = axis_end(({"end": 1.0, "label": row["whole"]} for row in rows if row["whole"]), width)
    shared = chart_theme.chart(rows).encode(y=names)
    across = alt.X(
        "from:Q",
        title="Share of a transaction's mean time",
        scale=alt.Scale(domain=[0, end], nice=False),
        axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format="%", grid=True),
    )
    colours = alt.Scale(
        domain=[capital(CLASSES[one]) for one in seen], range=[COLOURS[one] for one in seen]
    )
    legend = alt.Legend(columns=2, columnPadding=16, labelLimit=0)
    drawn = alt.layer(
        shared.mark_bar(height=22).encode(
            x=across, x2="to:Q", color=alt.Color("part:N", scale=colours, legend=legend)
        ),
        *(_numbers(shared, ink, width / end) for ink in ("white", BLACK, chart_theme.INK)),
        shared.transform_filter("isValid(datum.whole)")
        .mark_text(align="left", dx=GAP)
        .encode(x=alt.datum(1), text="whole:N"),
    )
    step = max(40 if len(splits) < 5 else 32, LINE * lines)
    return chart_theme.specification(drawn.properties(width=width, height={"step": step}))


def _numbers(shared: Any, ink: str, whole: float) -> Any:
    """The numbers that are set in this ink, within the parts that have room for theirs; `whole`:
    pixels of a bar.
    """
    import altair as alt

    fits = f"{whole} * datum.share > {PLAIN + 1} * length(datum.text)"
    return (
        shared.transform_filter(f"datum.ink === '{ink}' && {fits}")
        .mark_text(color=ink)
        .encode(x=alt.X("middle:Q"), text="text:N")
    )


def _rows(storage: str, split: Split) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    so_far = 0.0
    for name, one in split.items():
        if one.share < SEEN:
            continue
        rows.append(
            {
                "name": storage,
                "part": capital(CLASSES[name]),
                "share": one.share,
                "from": so_far,
                "to": so_far + one.share,
                "middle": so_far + one.share / 2,
                "text": percent(round(one.share, 2)),
                "ink": INKS.get(name, "white"),
                "whole": None,
            }
        )
        so_far += one.share
    rows[-1]["whole"] = units.time(sum(one.seconds for one in split.values()))
    return rows
