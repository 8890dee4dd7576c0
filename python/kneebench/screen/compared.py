"""Two campaigns side by side, for the terminal and for programs: what is simulated is said first, the fair-use line last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kneebench.analysis.words import DERIVED
from kneebench.results import Across
from kneebench.screen import tables


def printed(rows: Sequence[Across], differing: Sequence[str]) -> Iterator[RenderableType]:
    """The parts to print, in order."""
    if simulated := _simulated(rows):
        yield Text(f"SIMULATED: {' and '.join(simulated)}", style="bold")
    yield tables.across(rows)
    yield from tables.differences(differing)
    yield Text(f"\n{DERIVED}", style="dim")


def document(rows: Sequence[Across], differing: Sequence[str]) -> dict[str, Any]:
    """The same for programs; `simulated` where either campaign is, and each row says it of its own."""
    storages = [row.model_dump(mode="json") for row in rows]
    return {"derived": DERIVED, "simulated": bool(_simulated(rows)), "storages": storages, "differences": list(differing)}


def _simulated(rows: Sequence[Across]) -> list[str]:
    return list(dict.fromkeys(row.campaign for row in rows if row.simulated))
