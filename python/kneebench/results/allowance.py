"""Allowance: how much a campaign's folder may contain, so that a folder from elsewhere cannot fill
the memory of whoever looks at it.

What a real campaign has: 33 kB and 600 values per rung, 16 kB and 600 values in its head, about 100
readings per second on two cores and some 500 on 64. Each limit is a large multiple of that, or more
than a week of measuring can fill.
"""

from __future__ import annotations

from pathlib import Path

from kneebench.errors import KneebenchError

MOST_DOCUMENT_BYTES = 16 * 2**20
"""Of one JSON document: 500 times a rung's."""
MOST_DOCUMENT_VALUES = 250_000
"""Of one JSON document: 400 times a rung's. A document that is wrong in each of its values costs
about 1 kB of memory for each."""
MOST_VALUES = 10_000_000
"""Of all rungs, climbs and conditions together: those of 16,000 rungs."""
MOST_BYTES = 2**30
"""Of all rungs, climbs and conditions together: those of 30,000 rungs."""
MOST_FILES = 20_000
"""In each directory of a campaign: a rung every 30 s for a week."""
MOST_TABLE_BYTES = 4 * 2**30
"""Of one Parquet file: the readings of MOST_ROWS take a tenth of it."""
MOST_FOOTER_BYTES = 2 * 2**20
"""Of what a Parquet file says of itself: several times that of MOST_ROWS."""
MOST_ROWS = 50_000_000
"""Of one Parquet file: a day of 500 readings per second is 43 million. Kept in Parquet, that many
equal readings are a few kilobytes."""
MOST_READ_ROWS = 10_000_000
"""That are read at once, of the quantities wanted: 100 per second through a day. They take
1 GiB of memory and ten seconds or more."""
MOST_SECONDS = 4_000_000
"""Rows of seconds that are read at once: a week of five transaction types is 3 million."""
MOST_SERIES = 10_000
"""Quantities times sources in one file: 500 on 64 cores."""
LONGEST_NAME = 1_000
"""Characters in the name of a quantity, source, unit or transaction."""
LATEST_S = 31 * 86_400.0
"""After a rung's start: a window is at most a week, and its warm-up less."""


class Allowance:
    """What the JSON documents of a folder may have together, counted as they are read."""

    def __init__(self) -> None:
        self._bytes = self._values = 0

    def take(self, file: Path, written: bytes) -> None:
        """Count a document; raises KneebenchError, which names it, for one too many.

        Its values are counted by its commas, before anything is made of them.
        """
        values = written.count(b",") + 1
        self._bytes += len(written)
        self._values += values
        if values > MOST_DOCUMENT_VALUES:
            seen = f"it has more than {MOST_DOCUMENT_VALUES:,} values"
        elif self._bytes > MOST_BYTES or self._values > MOST_VALUES:
            seen = f"the files of this folder together have more than {MOST_VALUES:,} values"
            if self._bytes > MOST_BYTES:
                seen = "the files of this folder together have more than 1 GiB"
        else:
            return
        raise KneebenchError(f"cannot read {file}", seen=seen, do="restore the folder from a copy")
