"""Two campaigns side by side, for the terminal and for programs: what is simulated is said first,
the fair-use line last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kneebench.analysis.wording import DERIVED
from kneebench.results import CampaignRow
from kneebench.results.cross_campaign import DRIFT
from kneebench.screen import tables


def printed(
    rows: Sequence[CampaignRow], differing: Sequence[str], disturbed: Sequence[str] = ()
) -> Iterator[RenderableType]:
    """The parts to print, in order."""
    if simulated := _simulated(rows):
        yield Text(f"SIMULATED: {' and '.join(simulated)}", style="bold")
    yield from (Text(f"CAVEAT  {sentence}", style="yellow") for sentence in disturbed)
    yield tables.campaign_rows(rows)
    if not all(row.interleaved for row in rows):
        yield Text(f"\n{DRIFT[:1].upper()}{DRIFT[1:]}.")
    yield from tables.differences(differing)
    yield Text(f"\n{DERIVED}", style="dim")


def document(
    rows: Sequence[CampaignRow], differing: Sequence[str], disturbed: Sequence[str] = ()
) -> dict[str, Any]:
    """The same for programs; `simulated` where either campaign is, and each row says it of its
    own.
    """
    storages = [row.model_dump(mode="json") for row in rows]
    drift = "" if all(row.interleaved for row in rows) else DRIFT
    return {
        "derived": DERIVED,
        "simulated": bool(_simulated(rows)),
        "drift": drift,
        "disturbances": list(disturbed),
        "storages": storages,
        "differences": list(differing),
    }


def _simulated(rows: Sequence[CampaignRow]) -> list[str]:
    return list(dict.fromkeys(row.campaign for row in rows if row.simulated))
