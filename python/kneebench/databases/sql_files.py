"""A file of SQL, statement by statement."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


def statements(file: Path, end: str = ";") -> list[str]:
    """The statements of a file, without the lines that are comments. `end`: the pattern that ends
    each, which none holds.

    >>> {len(statements(file)) for file in HERE.glob("**/schema.sql")}
    {9}
    >>> {len(statements(file)) for file in HERE.glob("engines/*/keys.sql")}
    {10}
    """
    text = re.sub(r"(?m)^\s*--.*$", "", file.read_text())
    return [one.strip() for one in re.split(end, text) if one.strip()]
