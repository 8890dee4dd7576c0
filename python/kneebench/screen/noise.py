"""A/A pairs and the noise floors of this machine, for the terminal and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kneebench.analysis.disturbance import campaigns_disturbed
from kneebench.analysis.noise_floor import ENOUGH, QUANTITIES, NoisePair, noise_floor_of, noise_pair
from kneebench.analysis.outcome import exit_code
from kneebench.analysis.quantity_ratio import MEAN, NOPM, P999
from kneebench.analysis.wording import DERIVED, percent, plural, times_with_interval
from kneebench.records import NoiseFloor, Results
from kneebench.results.noise_pairs import MachinePairs
from kneebench.screen.compared import as_documents, caveats
from kneebench.screen.tables import plain_table
from kneebench.units import rough_time

CALLED = {quantity.name: called for quantity, called in QUANTITIES.items()}
FEW_PAIRS = (
    f"Preliminary: only {ENOUGH} pairs or more show how pairs differ. Measure more: kneebench noise"
    " --pairs {}"
)
COMPARED = (NOPM.name, MEAN.name, P999.name)
"""What a campaign's brief compares."""


def printed(found: Sequence[Results], floor: NoiseFloor | None) -> Iterator[RenderableType]:
    """The pairs that were measured, how many of them claimed a difference, and the noise floor."""
    pairs = [noise_pair(results) for results in found]
    label = f"{found[0].campaign.label.upper()}: " if found[0].campaign.label else ""
    yield Text(f"{label}{found[0].campaign.resolved.question}\n", style="bold")
    yield from caveats(campaigns_disturbed(found))
    yield _pairs(pairs, [exit_code(results) for results in found])
    claimed = sum(bool(pair.claimed) for pair in pairs)
    yield Text(f"\n{claimed} of {plural(len(pairs), 'pair')} claimed a difference.")
    if floor:
        yield Text(f"\nNoise floor of this machine, from {plural(floor.pairs, 'pair')}:")
        yield _floor(floor)
        if floor.pairs < ENOUGH:
            yield Text(FEW_PAIRS.format(ENOUGH - floor.pairs))
    yield Text(f"\n{DERIVED}", style="dim")


def document(found: Sequence[Results], floor: NoiseFloor | None) -> dict[str, Any]:
    """The same for programs."""
    pairs = [noise_pair(results) for results in found]
    return {
        "simulated": found[0].campaign.simulated,
        "pairs": [
            {**pair.model_dump(mode="json"), "exit_code": exit_code(results)}
            for pair, results in zip(pairs, found, strict=True)
        ],
        "claimed": sum(bool(pair.claimed) for pair in pairs),
        "disturbances": as_documents(campaigns_disturbed(found)),
        "noise_floor": floor and floor.model_dump(mode="json"),
    }


def known(machine: MachinePairs, host: str) -> Iterator[RenderableType]:
    """What is kept for this machine, by storage, with its age; `host`: its name."""
    yield Text(f"Noise floors of {host}")
    for measured, pairs in machine.series():
        floor = noise_floor_of(pairs)
        where = measured.storage or measured.server or "model"
        yield Text(where, style="bold")
        yield Text(
            f"{measured.engine}, {measured.rounds} rounds; {plural(floor.pairs, 'pair')}, the"
            f" newest {_age(floor.measured_at)} old: {pairs[-1].campaign}"
        )
        yield _floor(floor)
        yield Text()


def known_document(machine: MachinePairs) -> dict[str, Any]:
    """The same for programs."""
    series = [
        {
            **measured.model_dump(mode="json"),
            "noise_floor": noise_floor_of(pairs).model_dump(mode="json"),
            "pairs": [pair.model_dump(mode="json") for pair in pairs],
        }
        for measured, pairs in machine.series()
    ]
    return {"series": series, "ignored": list(machine.ignored)}


def _pairs(pairs: Sequence[NoisePair], codes: Sequence[int]) -> Table:
    table = plain_table("campaign", *(CALLED[name] for name in COMPARED), "claimed")
    table.columns[0].no_wrap = True
    for pair, code in zip(pairs, codes, strict=True):
        ratios = (pair.ratios.get(name) for name in COMPARED)
        claimed = ", ".join(CALLED[name] for name in pair.claimed) or "no difference"
        table.add_row(
            escape(pair.campaign),
            *(times_with_interval(one.ratio) if one else "not measured" for one in ratios),
            f"[red]not kept: exit code {code}[/]" if code else claimed,
        )
    return table


def _floor(floor: NoiseFloor) -> Table:
    table = plain_table("quantity", ">noise floor")
    for name, share in floor.shares.items():
        table.add_row(CALLED.get(name, escape(name)), percent(share))
    return table


def _age(measured_at: str) -> str:
    age = datetime.now(UTC) - datetime.fromisoformat(measured_at)
    return rough_time(age.total_seconds()) if age.days < 2 else plural(age.days, "day")
