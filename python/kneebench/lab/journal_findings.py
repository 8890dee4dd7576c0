"""Findings on the journal of changes: other runs, and what an earlier one left."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.lab.journal import Journal
from kneebench.records import Finding


def others(journal: Journal) -> Iterator[Finding]:
    """A refusal while another kneebench run is active: the two would disturb each other."""
    if active := journal.others():
        pids = ", ".join(map(str, sorted({entry.owner for entry in active})))
        seen = f"another kneebench run is active (PID {pids}); the two would disturb each other"
        yield Finding(
            level="refused",
            subject="machine",
            seen=seen,
            do="wait for it to finish, or stop it; `kneebench list` shows its campaign",
        )


def left_over(journal: Journal) -> Iterator[Finding]:
    """Damaged entries, and what an earlier run left that the next one removes."""
    for one in journal.damaged():
        yield Finding(level="warning", subject="journal", seen=one.seen, do=one.do)
    left = journal.leftovers()
    if left:
        seen = f"an earlier run left {', '.join(entry.what for entry in left)}"
        yield Finding(
            level="note",
            subject="left over",
            seen=seen,
            do=(
                "no action needed: the next run removes it; `kneebench clean` removes it now or"
                " prints how"
            ),
        )
