"""A/A pairs and the noise floors of this machine, for the terminal and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kneebench.analysis.disturbance import campaigns_disturbed
from kneebench.analysis.noise_floor import ENOUGH, QUANTITIES, NoisePair, noise_floor_of, noise_pair
from kneebench.analysis.outcome import exit_code
from kneebench.analysis.quantity_ratio import MEAN, NOPM, P999
from kneebench.analysis.wording import (
    DERIVED,
    behind_label,
    percent,
    plural,
    times_with_interval,
)
from kneebench.brief.campaigns.comparison_page import as_documents, caveats_section
from kneebench.brief.section import Row, Section, Table, columns
from kneebench.brief.terminal import parts
from kneebench.records import NoiseFloor, Results
from kneebench.results.noise_pairs import MachinePairs
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
    label, question = found[0].campaign.label, found[0].campaign.resolved.question
    claimed = sum(bool(pair.claimed) for pair in pairs)
    said = (f"{claimed} of {plural(len(pairs), 'pair')} claimed a difference.",)
    table = _pairs(pairs, [exit_code(results) for results in found])
    yield Text(behind_label(label.upper(), question), style="bold")
    yield from parts(
        (
            caveats_section(campaigns_disturbed(found)),
            Section(name="pairs", title="Pairs", sentences=said, tables=(table,)),
            _floor_section(floor) if floor else None,
        )
    )
    yield Text(f"\n{DERIVED}", style="dim")


def _floor_section(floor: NoiseFloor) -> Section:
    few = (FEW_PAIRS.format(ENOUGH - floor.pairs),) if floor.pairs < ENOUGH else ()
    title = f"Noise floor of this machine, from {plural(floor.pairs, 'pair')}"
    return Section(name="floor", title=title, sentences=few, tables=(_floor(floor),))


def document(found: Sequence[Results], floor: NoiseFloor | None) -> dict[str, Any]:
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
        said = (
            f"{measured.engine}, {measured.rounds} rounds; {plural(floor.pairs, 'pair')}, the"
            f" newest {_age(floor.measured_at)} old: {pairs[-1].campaign}"
        )
        where = measured.storage or measured.server or "model"
        tables = (_floor(floor),)
        yield from parts([Section(name="known", title=where, sentences=(said,), tables=tables)])


def known_document(machine: MachinePairs) -> dict[str, Any]:
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
    rows = []
    for pair, code in zip(pairs, codes, strict=True):
        ratios = (pair.ratios.get(name) for name in COMPARED)
        claimed = ", ".join(CALLED[name] for name in pair.claimed) or "no difference"
        cells = (
            pair.campaign,
            *(times_with_interval(one.ratio) if one else "not measured" for one in ratios),
            f"not kept: exit code {code}" if code else claimed,
        )
        rows.append(Row(cells=cells, tone="alarm" if code else "plain"))
    titles = columns("campaign", *(CALLED[name] for name in COMPARED), "claimed")
    return Table(columns=titles, rows=tuple(rows))


def _floor(floor: NoiseFloor) -> Table:
    rows = (Row(cells=(CALLED.get(name, name), percent(one))) for name, one in floor.shares.items())
    return Table(columns=columns("quantity", ">noise floor"), rows=tuple(rows))


def _age(measured_at: str) -> str:
    age = datetime.now(UTC) - datetime.fromisoformat(measured_at)
    return rough_time(age.total_seconds()) if age.days < 2 else plural(age.days, "day")
