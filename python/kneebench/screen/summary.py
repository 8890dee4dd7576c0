"""A campaign in a terminal: what failed first, then the answer for each storage, then every rung if
asked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kneebench.analysis.comparison import all_pairs, compare
from kneebench.analysis.configuration_summary import configuration_summaries
from kneebench.analysis.control import control_caveats, controls
from kneebench.analysis.databases import MEANING, database_document, database_sentences
from kneebench.analysis.disturbance import disturbances
from kneebench.analysis.final_estimates import rounds_of
from kneebench.analysis.fixed_rate import rate_caveats, wait_caveats
from kneebench.analysis.levelling import levelling
from kneebench.analysis.levelling_words import sentence, sweep_document
from kneebench.analysis.memory import limited_memory, memory_document
from kneebench.analysis.outcome import (
    exit_code,
    failed_checks,
    invalid_rungs,
    never_steady,
    without_figure,
)
from kneebench.analysis.power import doubts
from kneebench.analysis.proof import bottlenecks
from kneebench.analysis.quoted_load import limit_caveats, quoted_loads
from kneebench.analysis.sweep import sweeps
from kneebench.analysis.wording import DERIVED, capital, plural
from kneebench.brief.sections import cautions
from kneebench.brief.view_model import ViewModel
from kneebench.errors import KneebenchError
from kneebench.records import Results
from kneebench.screen import tables
from kneebench.screen.progress import rung_line


def printed(results: Results, *, every_rung: bool = False) -> Iterator[RenderableType]:
    """The parts to print, in order."""
    label = f"{results.campaign.label.upper()}: " if results.campaign.label else ""
    unfinished = "" if results.finished else " (unfinished)"
    yield Text(f"{label}{results.campaign.resolved.question}{unfinished}", style="bold")
    yield from (Text(one.sentence, style="dim") for one in limited_memory(results))
    yield from (
        Text(f"FAILED CHECK  {sentence}", style="red") for sentence in failed_checks(results)
    )
    yield from (Text(f"INVALID  {sentence}", style="red") for sentence in invalid_rungs(results))
    yield from (Text(f"NO FIGURE  {sentence}", style="red") for sentence in without_figure(results))
    yield from (
        Text(f"STILL WARMING  {one.words}", style="red") for one in never_steady(results).values()
    )
    yield from (Text(f"CAVEAT  {sentence}", style="yellow") for sentence in _caveats(results))
    yield Text()
    summaries = configuration_summaries(results)
    if sweeps(results) or len(summaries) > tables.MOST_COLUMNS:
        yield tables.configuration_rows(summaries)
        yield Text()
    else:
        for table in tables.configuration_summaries(summaries):
            yield table
            yield Text()
    yield from (Text(f"{comparison.sentence}.") for comparison in compare(results))
    yield from _of_databases(results)
    yield from (Text(sentence(levelling(sweep))) for sweep in sweeps(results))
    if rounds := rounds_of(results):
        yield Text(f"{capital(rounds.sentence)}.")
    yield from _in_the_brief(results)
    if every_rung:
        yield Text()
        yield tables.rungs(
            [
                rung_line(rung, {climb.id: climb.configuration})
                for climb in results.climbs
                for rung in climb.rungs
            ]
        )
    yield Text(f"\n{DERIVED}", style="dim")


def _caveats(results: Results) -> Iterator[str]:
    """What limits the figures, in the order of the brief."""
    yield from doubts(results.climbs, results.campaign.power)
    yield from (one.words for one in disturbances(results))
    yield from limit_caveats(results)
    yield from rate_caveats(results.climbs)
    yield from wait_caveats(results)
    yield from control_caveats(results)


def _in_the_brief(results: Results) -> Iterator[Text]:
    """How many caveats the brief has; nothing where it has none, or cannot be written."""
    with contextlib.suppress(KneebenchError):
        if found := cautions.section(ViewModel(results)):
            yield Text(f"The brief lists {plural(len(found.sentences), 'caveat')}.")


def _of_databases(results: Results) -> Iterator[Text]:
    """The comparison of databases, with what it means; nothing for one database."""
    if sentences := list(database_sentences(results)):
        yield Text("\nDatabases, each with its settings, on one storage:", style="bold")
        yield from (Text(f"{sentence}.") for sentence in sentences)
        yield from (Text(sentence, style="dim") for sentence in MEANING)


def results_json(results: Results) -> dict[str, Any]:
    """The same for programs: answers and what disturbed them, bottlenecks with their evidence,
    comparisons, failed checks, every rung's line.
    """
    configurations = {climb.id: climb.configuration for climb in results.climbs}
    return {
        "campaign": results.campaign.id,
        "folder": str(results.archive or results.folder or ""),
        "simulated": results.campaign.simulated,
        "emulated_drives": results.campaign.emulated,
        "finished": results.finished,
        "limited_memory": memory_document(results),
        "exit_code": exit_code(results),
        "failed_checks": list(failed_checks(results)),
        "invalid_rungs": list(invalid_rungs(results)),
        "disturbances": [one.model_dump() for one in disturbances(results)],
        "power_doubts": list(doubts(results.climbs, results.campaign.power)),
        "controls": {id: found.model_dump() for id, found in controls(results.climbs).items()},
        "still_warming": {id: one.model_dump() for id, one in never_steady(results).items()},
        "without_figure": list(without_figure(results)),
        "configurations": [
            summary.model_dump(mode="json") for summary in configuration_summaries(results)
        ],
        "bottlenecks": {
            configuration: found.model_dump(mode="json")
            for configuration, found in bottlenecks(results).items()
        },
        "quoted_loads": quoted_loads(results),
        "rounds": rounds._asdict() if (rounds := rounds_of(results)) else None,
        "comparisons": [comparison.model_dump(mode="json") for comparison in compare(results)],
        "pairs": [comparison.model_dump(mode="json") for comparison in all_pairs(results)],
        "databases": database_document(results),
        "sweep": sweep_document(results),
        "rungs": [
            rung_line(rung, configurations)._asdict()
            for climb in results.climbs
            for rung in climb.rungs
        ],
    }
