"""The tables that people read: rungs, findings, the answer for each storage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kneebench import units
from kneebench.analysis.words import known, named, times_with_interval
from kneebench.records import Comparison, Estimate, Finding
from kneebench.results import Across, Listed
from kneebench.screen.answer import Answer
from kneebench.screen.progress import MARK, UNCERTAIN, Line

_STORAGES_A_TABLE = 3
LEVELS = {"ok": "[green]ok[/]", "note": "[cyan]note[/]", "warning": "[yellow]warning[/]", "error": "[red]error[/]", "refused": "[red]refused[/]"}


def rungs(lines: Sequence[Line], title: str = "") -> Table:
    """The rungs measured, as they came."""
    table = _table("storage", "phase", ">users", ">NOPM", ">mean", ">P99.9", ">log write", "note", title=title)
    for line in lines:
        table.add_row(escape(line.storage), named(line.phase), str(line.users), units.count(line.nopm), *_times_of(line), f"[yellow]{escape(line.note)}[/]")
    _explain(table, (line.p999_certain for line in lines))
    return table


def _times_of(line: Line) -> Iterator[str]:
    yield _time(line.mean_s)
    yield _time(line.p999_s) + _doubt(line.p999_certain)
    yield _time(line.log_write_s)


def _doubt(certain: bool) -> str:
    return "" if certain else UNCERTAIN


def _explain(table: Table, certain: Iterable[bool]) -> None:
    """Put the mark's meaning below the table, where the mark is in it."""
    if not all(certain):
        table.caption, table.caption_justify = MARK, "left"


def findings(found: Iterable[Finding]) -> Table:
    """What `check` found."""
    table = _table("", "what", "seen", "to do")
    for finding in found:
        table.add_row(LEVELS[finding.level], escape(finding.subject), escape(finding.seen), escape(finding.do))
    return table


def answers(found: Sequence[Answer]) -> Iterator[Table]:
    """One column a storage, a few to a table: what it reached, and what stopped it."""
    for first in range(0, len(found), _STORAGES_A_TABLE):
        some = found[first : first + _STORAGES_A_TABLE]
        table = _table("", *(escape(answer.storage) for answer in some))
        for name, cells in _facts(some):
            table.add_row(f"[dim]{name}[/]", *(escape(cell) for cell in cells))
        if first + _STORAGES_A_TABLE >= len(found):
            _explain(table, (answer.p999_certain for answer in found))
        yield table


def _facts(found: Sequence[Answer]) -> Iterator[tuple[str, list[str]]]:
    rate = next((answer.rate_per_s for answer in found if answer.rate_per_s), None)
    at = f" at {units.count(rate)}/s" if rate else ""
    point = found[0].point
    yield f"{point}, users", [_users(answer.users) for answer in found]
    yield "NOPM", [_interval(answer.nopm) for answer in found]
    yield "TPM", [_interval(answer.tpm) for answer in found]
    yield f"mean latency{at}", [_times(answer.mean_s) for answer in found]
    yield f"P99.9 latency{at}", [_times(answer.p999_s, answer.p999_certain) for answer in found]
    yield f"log write, at the {point}", [_times(answer.log_write_s) for answer in found]
    yield "stopped by", [answer.stopped_by for answer in found]
    yield "bottleneck", [answer.bottleneck for answer in found]


def across(rows: Iterable[Across]) -> Table:
    """The knees (or fixed loads) of two campaigns, against the first one's baseline; the latency beside."""
    rows = tuple(rows)
    rate = rows[0].rate_per_s
    at = f"at {units.count(rate)}/s" if rate else f"at the {rows[0].point}"
    table = _table("campaign", "storage", f"{rows[0].point}, users", f"NOPM\nmean latency {at}", "against the first baseline")
    for row in rows:
        found = row.knee
        knee = (_users(found.users), f"{_interval(found.nopm)}\n{_times(row.mean_s)}") if found else ("none", "none")
        table.add_row(*map(escape, (row.campaign, row.storage, *knee, _against(row))))
    return table


def differences(sentences: Sequence[str]) -> Iterator[Text]:
    """What two campaigns differ in besides their storages, a line each; nothing where they are alike."""
    if sentences:
        yield Text("\nBesides the storages these differ:", style="yellow")
    yield from (Text(f"  {sentence}") for sentence in sentences)


def _against(row: Across) -> str:
    if row.against is None:
        return row.sentence
    return f"NOPM {_ratio(row.against)}\nlatency {_ratio(row.latency_against)}"


def _ratio(found: Comparison | None) -> str:
    if found is None:
        return "not measured"
    return times_with_interval(found.ratio) + ("" if found.differs else ", no difference shown")


def campaigns(listed: Iterable[Listed]) -> Table:
    """What `list` lists."""
    table = _table("campaign", "started", ">rungs", "state", "question")
    for one in listed:
        state = f"damaged: {one.damaged}" if one.damaged else "finished" if one.finished else "unfinished"
        marks = f"{state}, exit {one.exit_code}" if one.exit_code else state
        simulated = " (simulated)" if one.simulated else ""
        table.add_row(escape(one.folder.name), one.started_at[:16].replace("T", " "), str(one.rungs), escape(marks + simulated), escape(one.question))
    return table


def _table(*columns: str, title: str = "") -> Table:
    """A table without lines; a column that begins with > holds numbers."""
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        number = column.startswith(">")
        table.add_column(column.removeprefix(">"), justify="right" if number else "left", no_wrap=number, overflow="fold")
    return table


def _time(value_s: float | None) -> str:
    return "not measured" if value_s is None else units.time(value_s)


def _times(value: Estimate | None, certain: bool = True) -> str:
    return "not measured" if value is None else f"{units.time(value.value)}{_doubt(certain)} ({_range(value, units.time)})"


def _users(users: Estimate | None) -> str:
    if users is None:
        return "none"
    return f"{users.value:g}" + (f" ({users.low:g} to {users.high:g})" if users.low < users.high else "")


def _range(value: Estimate, written: Callable[[float], str]) -> str:
    """The interval; one or two runs that scatter allow none that says anything."""
    return f"{written(value.low)} to {written(value.high)}" if known(value) else "interval unknown"


def _interval(value: Estimate | None) -> str:
    return "none" if value is None else f"{units.count(value.value)} ({_range(value, units.count)}, n={value.n})"
