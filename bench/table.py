"""The benchmarks' rows for people: a table in the terminal, and docs/performance.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from textwrap import fill
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.ratio import Ratio
from kneebench.records import Host

PREAMBLE = """# Performance

What kneebench itself costs. Every figure is a ratio measured side by side in one run on one
machine; `make bench` writes this page. Ratios vary less between machines than times do, but they
are not constants: check the 95% intervals, and measure your own.
"""


def printed(rows: Sequence[Ratio]) -> str:
    """The rows as a table: name, ratio, interval, aim, holds or not; a line of what stands beside
    each.
    """
    table = Table("", "ratio", "95%", "n", "aim", "", box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(
            row.name, _number(row, row.value), _interval(row), str(row.n), _aim(row), verdict(row)
        )
        if beside := _beside(row):
            table.add_row(f"  {beside}", style="dim")
    console = Console(width=140)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def verdict(row: Ratio) -> str:
    """holds, or not; "holds?" and "not?" where the interval also allows the other; "-" without an
    aim.
    """
    if row.aim is None:
        return "-"
    return ("holds" if row.holds else "not") + ("?" if row.doubtful else "")


def performance_page(rows: Mapping[str, Sequence[Mapping[str, Any]]], host: Host) -> str:
    """docs/performance.md from all rows that are kept."""
    parts = [PREAMBLE, _machine(host)]
    for name, kept in sorted(rows.items()):
        found = [
            Ratio.model_validate({k: v for k, v in row.items() if k not in ("holds", "doubtful")})
            for row in kept
        ]
        lines = [
            f"| {r.name} | {_number(r, r.value)} | {_interval(r)} | {r.n} | {_aim(r)} |"
            f" {verdict(r)} |"
            for r in found
        ]
        notes = [
            _wrapped(f"- {r.name}: {'; '.join(filter(None, (_beside(r), r.note)))}", indent="  ")
            for r in found
            if r.beside or r.note
        ]
        head = [f"## {name}", "", "| | ratio | 95% CI | n | goal | |", "|---|---|---|---|---|---|"]
        parts.append("\n".join([*head, *lines, "", *notes]).rstrip() + "\n")
    return "\n".join(parts)


def _wrapped(text: str, indent: str = "") -> str:
    """A paragraph or a list's entry in lines of at most 100 columns."""
    return fill(text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _machine(host: Host) -> str:
    gib = host.memory_bytes / 2**30
    return (
        _wrapped(
            f"Measured on {datetime.now(UTC):%Y-%m-%d}: {host.cores} cores of {host.cpu}, {gib:.1f}"
            f" GiB, {host.system}, Linux {host.kernel}."
        )
        + "\n"
    )


def _number(row: Ratio, value: float) -> str:
    space = "" if row.unit in ("x", "%") else " "
    return f"{value:.3g}{space}{row.unit}"


def _interval(row: Ratio) -> str:
    return f"{row.low:.3g} to {row.high:.3g}"


def _aim(row: Ratio) -> str:
    if row.aim is None:
        return "-"
    return f"at {'most' if row.at_most else 'least'} {row.aim:g}"


def _beside(row: Ratio) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:,.4g}" for name, value in row.beside.items())
