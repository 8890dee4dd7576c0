"""The tables that people read: rungs, findings, the answer for each storage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kneebench import units
from kneebench.analysis.configuration_summary import (
    ConfigurationSummary,
    rows,
    shown_count,
    shown_time,
    shown_users,
)
from kneebench.analysis.undecided import unclaimed
from kneebench.analysis.wording import FEW_MEANS, capital, named, times_with_interval
from kneebench.records import Comparison, Finding
from kneebench.results import CampaignRow
from kneebench.results.cross_campaign import fixed_rate
from kneebench.screen.progress import RungLine
from kneebench.units import rough_time

_STORAGES_A_TABLE = 3
MOST_COLUMNS = 6
"""Configurations that are shown side by side; more have a row each."""
_SUBJECT_COLUMNS = 24
"""The widest subject of a finding; a longer one is folded, so that the finding itself has room in
80 columns."""
MARK = "*"
"""Beside a percentile that too few samples exceed."""
MARK_MEANS = f"{MARK} {FEW_MEANS}"
_URL = re.compile(r"\w+://\S*?(?=:?(?:\s|$))")
LEVELS = {
    "ok": "[green]ok[/]",
    "note": "[cyan]note[/]",
    "warning": "[yellow]warning[/]",
    "error": "[red]error[/]",
    "refused": "[red]refused[/]",
}


def rungs(lines: Sequence[RungLine], title: str = "") -> Table:
    """The rungs measured, as they came."""
    table = plain_table(
        "storage", "phase", ">users", ">NOPM", ">mean", ">P99.9", ">log write", "note", title=title
    )
    for line in lines:
        table.add_row(
            escape(line.name),
            named(line.phase),
            str(line.users),
            units.count(line.nopm),
            *times_of(line),
            f"[yellow]{escape(line.note)}[/]",
        )
    _explain(table, (line.p999_certain for line in lines), MARK_MEANS)
    return table


def times_of(line: RungLine) -> Iterator[str]:
    """Its mean, P99.9 and log write, for a table."""
    yield _time(line.mean_s)
    yield _time(line.p999_s) + ("" if line.p999_certain else f" {MARK}")
    yield _time(line.log_write_s)


def _explain(table: Table, certain: Iterable[bool], means: str = FEW_MEANS) -> None:
    """Put what the words mean below the table, where they are in it."""
    if not all(certain):
        table.caption, table.caption_justify = means, "left"


def findings(found: Iterable[Finding]) -> Iterator[Table | Text]:
    """What `check` found; what to do about it stands below what was seen, so that 80 columns are
    enough. A URL that is wider than its column, and what to do with one, stand below the table:
    they are not broken there.
    """
    table = plain_table("", "subject", "finding")
    table.columns[1].max_width = _SUBJECT_COLUMNS
    urls, below = dict[str, str](), list[str]()
    for finding in found:
        subject = _URL.sub(lambda url: _short(url[0], urls), finding.subject)
        do = finding.do
        if _URL.search(do):
            below.append(f"{subject}: {do}")
            do = "see below"
        shown = f"\n[dim]-> {escape(do)}[/]" if do else ""
        table.add_row(LEVELS[finding.level], escape(subject), escape(finding.seen) + shown)
    yield table
    yield from (Text(f"{name}: {url}") for url, name in urls.items())
    yield from map(Text, below)


def _short(url: str, urls: dict[str, str]) -> str:
    """A name for a URL that is too wide."""
    wide = len(url) > _SUBJECT_COLUMNS
    return urls.setdefault(url, f"URL {len(urls) + 1}") if wide else url


def readiness(found: Sequence[Finding]) -> Text:
    """The last line of `check`: ready or not, how many errors and warnings, how long, how many
    bytes; of a plan that is not ready, what is known of them.

    >>> print(readiness([Finding(level="ok", subject="duration", seen="", takes_s=720.0)]))
    Ready: 0 errors, 0 warnings. About 12 min; writes nothing to storage.
    >>> print(readiness([Finding(level="error", subject="storage", seen="none of it")]))
    Not ready: 1 error, 0 warnings.
    """
    levels = [finding.level for finding in found]
    errors, warnings = levels.count("error") + levels.count("refused"), levels.count("warning")
    takes_s = next((finding.takes_s for finding in found if finding.takes_s is not None), None)
    most = max((finding.writes_bytes for finding in found), default=0)
    kept = sum(finding.keeps_bytes for finding in found)
    parts = []
    if takes_s is not None or not errors:
        parts.append(f"about {rough_time(takes_s or 0.0)}")
    if most:
        by_url = any("://" in finding.subject for finding in found if finding.writes_bytes)
        per = "server" if by_url else "directory"
        parts.append(f"writes up to {units.size(most)} per {per}, removed afterwards")
    elif not errors:
        parts.append("writes nothing to storage")
    if kept:
        parts.append(f"keeps {units.size(kept)}")
    ready, style = ("Not ready", "red") if errors else ("Ready", "green")
    counts = f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}"
    rest = f" {capital('; '.join(parts))}." if parts else ""
    return Text(f"{ready}: {counts}.{rest}", style=style)


def trial_outcome(found: Sequence[Finding]) -> Text:
    """The last line of `check --try`.

    >>> print(trial_outcome([Finding(level="ok", subject="load", seen="")]))
    Everything that was tried works (1 step).
    """
    failed = sum(finding.level in ("error", "refused") for finding in found)
    absent = sum(finding.level == "warning" for finding in found)
    if failed:
        return Text(f"{failed} of {len(found)} steps failed.", style="red")
    if absent:
        return Text(f"It works, with {absent} warning{'s' * (absent != 1)}.", style="yellow")
    steps = f"{len(found)} step{'s' * (len(found) != 1)}"
    return Text(f"Everything that was tried works ({steps}).", style="green")


def configuration_summaries(found: Sequence[ConfigurationSummary]) -> Iterator[Table]:
    """One column per storage, a few to a table: what it reached, and what stopped it."""
    for first in range(0, len(found), _STORAGES_A_TABLE):
        some = found[first : first + _STORAGES_A_TABLE]
        table = plain_table("", *(escape(summary.name) for summary in some))
        for name, cells in rows(some):
            table.add_row(f"[dim]{name}[/]", *(escape(cell) for cell in cells))
        if first + _STORAGES_A_TABLE >= len(found):
            _explain(
                table,
                (
                    one.p999_certain
                    for summary in found
                    for one in (summary, summary.fixed_rate)
                    if one
                ),
            )
        yield table


def configuration_rows(found: Sequence[ConfigurationSummary]) -> Table:
    """One row per configuration, for more than fit side by side; a name is never broken."""
    texts = [(name, cells) for name, cells in rows(found) if name]
    table = plain_table("configuration", *(escape(name) for name, _ in texts))
    table.columns[0].no_wrap = True
    for one, cells in zip(found, zip(*(cells for _, cells in texts), strict=True), strict=True):
        table.add_row(escape(one.name), *map(escape, cells))
    _explain(table, (one.p999_certain for one in found))
    return table


def campaign_rows(rows: Iterable[CampaignRow]) -> Table:
    """The knees (or fixed loads) of two campaigns with their latency, that at the one rate in a
    column of its own, and all against the first one's baseline.
    """
    rows = tuple(rows)
    rate, point = fixed_rate(rows), rows[0].point
    fixed = f"mean latency at {rate}" if rate else ""
    table = plain_table(
        "campaign",
        "storage",
        f"{point}, users",
        f"NOPM\nmean latency at the {point}",
        *filter(None, [fixed]),
        "vs. the first baseline",
    )
    table.columns[0].no_wrap = True
    for row in rows:
        found = row.knee
        knee = (
            (shown_users(found.users), f"{shown_count(found.nopm)}\n{shown_time(found.latency_s)}")
            if found
            else ("none", "none")
        )
        table.add_row(
            *map(
                escape,
                (
                    row.campaign,
                    row.name,
                    *knee,
                    *([shown_time(row.mean_s)] if fixed else []),
                    _against(row, rate),
                ),
            )
        )
    return table


def differences(sentences: Sequence[str]) -> Iterator[Text]:
    """What two campaigns differ in besides their storages, a line each; nothing where they are
    alike.
    """
    if sentences:
        yield Text("\nOther differences:", style="yellow")
    yield from (Text(f"  {sentence}") for sentence in sentences)


def _against(row: CampaignRow, rate: str) -> str:
    if row.against is None:
        return row.sentence
    at = rate or f"the {row.point}"
    return f"NOPM {_ratio(row.against)}\nlatency at {at} {_ratio(row.latency_against)}"


def _ratio(found: Comparison | None) -> str:
    if found is None:
        return "not measured"
    return ", ".join(filter(None, (times_with_interval(found.ratio), unclaimed(found))))


def plain_table(*columns: str, title: str = "") -> Table:
    """A table without lines; a column that begins with > holds numbers."""
    table = Table(
        title=title or None,
        title_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="bold",
    )
    for column in columns:
        number = column.startswith(">")
        table.add_column(
            column.removeprefix(">"),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
        )
    return table


def _time(value_s: float | None) -> str:
    return "not measured" if value_s is None else units.time(value_s)
