"""The benchmarks' rows for people: a table in the terminal, and docs/performance.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from textwrap import fill

from rich.console import Console
from rich.table import Table

from bench.ratio import Ratio
from kneebench.records import Host
from kneebench.units import significant


def printed(rows: Sequence[Ratio]) -> str:
    """The rows as a table: name, ratio, interval, aim, holds or missed; a line of what stands
    beside each.
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
    """holds, or missed; uncertain where the interval also allows the other; "-" without an aim."""
    if row.aim is None:
        return "-"
    return ("holds" if row.holds else "missed") + (" (uncertain)" if row.doubtful else "")


def performance_page(page: str, measured: Mapping[str, Sequence[Ratio]], host: Host) -> str:
    """docs/performance.md with the sections that were measured in place of those it has."""
    head, *sections = re.split(r"^## ", page, flags=re.MULTILINE)
    texts = {one.split("\n", 1)[0]: f"## {one.rstrip()}\n" for one in sections}
    texts |= {name: _section(name, rows, host) for name, rows in measured.items()}
    return "\n".join([f"{head.rstrip()}\n", *(text for _, text in sorted(texts.items()))])


def _section(name: str, rows: Sequence[Ratio], host: Host) -> str:
    lines = [
        f"| {r.name} | {_number(r, r.value)} | {_interval(r)} | {r.n} | {_aim(r)} | {verdict(r)} |"
        for r in rows
    ]
    notes = [
        _wrapped(f"- {r.name}: {'; '.join(filter(None, (_beside(r), r.note)))}", indent="  ")
        for r in rows
        if r.beside or r.note
    ]
    table = ["| | ratio | 95% CI | n | goal | |", "|---|---|---|---|---|---|"]
    head = [f"## {name}", "", _machine(host), *table]
    return "\n".join([*head, *lines, "", *notes]).rstrip() + "\n"


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
    return f"{significant(value)}{space}{row.unit}"


def _interval(row: Ratio) -> str:
    return f"{significant(row.low)} to {significant(row.high)}"


def _aim(row: Ratio) -> str:
    if row.aim is None:
        return "-"
    percent = "%" if row.unit == "%" else ""
    return f"at {'most' if row.at_most else 'least'} {row.aim:g}{percent}"


def _beside(row: Ratio) -> str:
    named = {re.sub("^cpu_", "CPU ", name): value for name, value in row.beside.items()}
    return ", ".join(f"{name.replace('_', ' ')} {value:,.4g}" for name, value in named.items())
