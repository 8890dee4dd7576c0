"""Output of a brief to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kneebench.errors import PlanError

if TYPE_CHECKING:
    from kneebench.records import Results


def write(results: Results, out: Path | None = None) -> Path:
    """Write the brief of a campaign as HTML or, to a .json file, as JSON; return its path."""
    from kneebench.brief import Brief
    from kneebench.results.store import BRIEF

    path = _checked(out or (results.folder or Path()) / BRIEF)
    if path.suffix == ".json":
        path.write_text(Brief(results).json())
    else:
        Brief(results).write(path)
    return path


def _checked(path: Path) -> Path:
    if path.suffix not in (".html", ".json"):
        raise PlanError(f"writing {path}", seen=f"unsupported format {path.suffix!r}", do="use .html or .json")
    if not path.parent.is_dir():
        raise PlanError(f"writing {path}", seen=f"no directory {path.parent}", do="create it, or choose another path")
    return path
