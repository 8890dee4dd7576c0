"""Bottlenecks: which resource each storage's database had too little of, and what would prove
it.
"""

from __future__ import annotations

from kneebench import units
from kneebench.analysis.bottleneck import BY_KEY
from kneebench.analysis.proof import status
from kneebench.analysis.sweep import sweeps
from kneebench.brief.section import Column, Row, Section, Table, has_paragraphs, part_of_each
from kneebench.brief.view_model import ViewModel
from kneebench.records import Bottleneck

VERDICTS = tuple(
    Column(title=title, number=False) for title in ("Storage", "Bottleneck", "Status", "Finding")
)


def section(view: ViewModel) -> Section | None:
    """A row for each storage."""
    found = view.bottlenecks.items()
    if not found:
        return None
    tried = _with_more_memory(view)
    rows = tuple(_verdict_row(view, configuration, one, tried) for configuration, one in found)
    columns = VERDICTS
    if not any(row.cells[-1] for row in rows):  # the paragraphs of the storages say it
        columns = columns[:-1]
        rows = tuple(row.model_copy(update={"cells": row.cells[:-1]}) for row in rows)
    table = Table(caption=_caption(view), columns=columns, rows=rows)
    return Section(
        name="bottlenecks", title="Bottlenecks", tables=(table,), part=part_of_each(view)
    )


def _caption(view: ViewModel) -> str:
    """How a verdict came about, and what would change it."""
    suspected = any(one.verdict == "suspected" for one in view.bottlenecks.values())
    first = (
        "Each row names the first resource over its limit, of waits for the storage the longest;"
        " data reads that wait behind writes count as writes."
    )
    return first + (
        " Suspected: inferred from the measurements. Proof is a change that raises the throughput:"
        " the data or the log in memory, more cores, or more memory."
        if suspected
        else ""
    )


def _with_more_memory(view: ViewModel) -> set[str]:
    """The configurations whose sweep has larger sizes of memory, which show what it does."""
    return {
        one.configuration.id
        for sweep in sweeps(view.results)
        if sweep.resource == "memory_bytes"
        for one in sweep.configurations[:-1]
    }


def _verdict_row(view: ViewModel, configuration: str, one: Bottleneck, tried: set[str]) -> Row:
    verdict = units.NOTHING if one.resource == "unknown" else status(one)
    resource = BY_KEY.get(one.resource)
    shown = configuration in tried and resource and "more memory" in resource.reliefs
    proof = "more memory: see the sweep" if shown else f"to prove it: {one.relief}"
    relief = f"\n({proof})" if one.verdict == "suspected" and one.relief else ""
    said = "" if has_paragraphs(view) else one.sentence
    finding = f"{said} {one.next_limit}".strip()
    return Row(cells=(view.name(configuration), one.name, f"{verdict}{relief}", finding))
