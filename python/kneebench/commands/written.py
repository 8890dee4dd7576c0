"""The brief, written where it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kneebench.records import Results


def write(results: Results, out: Path | None = None) -> Path:
    """Write the brief of a campaign, as HTML or (to a file that ends in .json) as JSON; where it was written."""
    from kneebench.brief import Brief

    path = out or (results.folder or Path()) / "brief.html"
    if path.suffix == ".json":
        path.write_text(Brief(results).json())
    else:
        Brief(results).write(path)
    return path
