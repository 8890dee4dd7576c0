"""The tables of a terminal: rungs, findings, the answer for each storage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill

from rich.text import Text

from kneebench import units
from kneebench.analysis.configuration_summary import ConfigurationSummary, rows
from kneebench.analysis.wording import FEW_MEANS, capital
from kneebench.brief.section import Row, Table, Tone, columns
from kneebench.brief.terminal import Fitted
from kneebench.records import Finding
from kneebench.screen.progress import RungLine
from kneebench.units import rough_time

MOST_COLUMNS = 6
"""Configurations that are shown side by side; more have a row each."""
_SUBJECT_COLUMNS = 24
"""The widest subject of a finding; a longer one is folded, so that the finding itself has room in
80 columns."""
_SEEN_COLUMNS = 40
"""What is always left for it there."""
MARK = "*"
"""Beside a percentile that too few samples exceed."""
MARK_MEANS = f"{MARK} {FEW_MEANS}"
_URL = re.compile(r"\w+://\S*?(?=:?(?:\s|$))")
LEVELS: dict[str, Tone] = {
    "ok": "good",
    "note": "plain",
    "warning": "doubt",
    "error": "alarm",
    "refused": "alarm",
}


def rungs(lines: Sequence[RungLine]) -> Table:
    """The rungs measured, as they came."""
    if lines and all(line.took_s is not None for line in lines):
        return _of_queries(lines)
    titles = ("storage", "phase", ">users", ">NOPM", ">mean", ">P99.9", ">log write", "note")
    found = (
        Row(
            cells=(
                *(line.name, line.called, str(line.users), line.throughput),
                *times_of(line),
                line.note,
            )
        )
        for line in lines
    )
    few = not all(line.p999_certain for line in lines)
    return Table(caption=MARK_MEANS * few, columns=columns(*titles), rows=tuple(found))


def _of_queries(lines: Sequence[RungLine]) -> Table:
    """Those of queries and their streams, which have a time and no NOPM."""
    rows = (
        Row(cells=(line.name, line.called, str(line.users), _time(line.took_s), line.note))
        for line in lines
    )
    titles = columns("storage", "phase", ">streams", ">time", "note")
    return Table(caption="", columns=titles, rows=tuple(rows))


def times_of(line: RungLine) -> Iterator[str]:
    """Its mean, P99.9 and log write, for a table."""
    yield _time(line.mean_s)
    yield _time(line.p999_s) + ("" if line.p999_certain else f" {MARK}")
    yield _time(line.log_write_s)


def findings(found: Iterable[Finding]) -> Iterator[Fitted | Text]:
    """What `check` found; what to do about it stands below what was seen, so that 80 columns are
    enough. A URL that is wider than its column, and what to do with one, stand below the table:
    they are not broken there.
    """
    rows, urls, below = list[Row](), dict[str, str](), list[str]()
    for finding in found:
        subject = _shortened(finding.subject, _SUBJECT_COLUMNS, urls)
        seen, do = _shortened(finding.seen, _SEEN_COLUMNS, urls), finding.do
        if _URL.search(do):
            below.append(f"{subject}: {do}")
            do = "see below"
        cells = (
            finding.level,
            fill(subject, _SUBJECT_COLUMNS, break_on_hyphens=False),
            seen + (f"\n-> {do}" if do else ""),
        )
        rows.append(Row(cells=cells, tone=LEVELS[finding.level]))
    yield Fitted(Table(columns=columns("", "subject", "finding"), rows=tuple(rows)))
    yield from (Text(f"{name}: {url}") for url, name in urls.items())
    yield from map(Text, below)


def _shortened(text: str, most: int, urls: dict[str, str]) -> str:
    """The text with a name for each URL that is too wide."""

    def short(found: re.Match[str]) -> str:
        url = found[0]
        return urls.setdefault(url, f"URL {len(urls) + 1}") if len(url) > most else url

    return _URL.sub(short, text)


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


def configuration_summaries(
    found: Sequence[ConfigurationSummary], *, by_row: bool = False
) -> Table:
    """What each storage reached, and what stopped it: side by side, or a row each for many, and
    `by_row`.
    """
    named_rows = [*rows(found)]
    if len(found) <= MOST_COLUMNS and not by_row:
        titles = ("", *(summary.name for summary in found))
        cells = [(name, *texts) for name, texts in named_rows]
    else:
        named_rows = [(name, texts) for name, texts in named_rows if name]
        titles = ("configuration", *(name for name, _ in named_rows))
        names = [summary.name for summary in found]
        cells = [*zip(names, *(texts for _, texts in named_rows), strict=True)]
    certain = (
        one.p999_certain for summary in found for one in (summary, summary.fixed_rate) if one
    )
    return Table(
        caption=FEW_MEANS * (not all(certain)),
        columns=columns(*titles),
        rows=tuple(Row(cells=one) for one in cells),
    )


def _time(value_s: float | None) -> str:
    return "not measured" if value_s is None else units.time(value_s)
