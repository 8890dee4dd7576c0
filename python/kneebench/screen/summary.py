"""A campaign in a terminal: what failed first, then the answer for each storage, then every rung if
asked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kneebench.analysis.answers import answers, beside
from kneebench.analysis.comparison import compare
from kneebench.analysis.configuration_summary import configuration_summaries
from kneebench.analysis.databases import MEANING, database_sentences
from kneebench.analysis.final_estimates import rounds_of
from kneebench.analysis.headline import headline, subtitle
from kneebench.analysis.levelling import levelling
from kneebench.analysis.levelling_words import sentence
from kneebench.analysis.memory import limited_memory
from kneebench.analysis.outcome import (
    failed_checks,
    invalid_rungs,
    never_steady,
    without_figure,
)
from kneebench.analysis.sweep import sweeps
from kneebench.analysis.wording import DERIVED_FROM, behind_label, capital, plural
from kneebench.brief.campaigns.campaigns_page import said
from kneebench.brief.section import Section
from kneebench.brief.sections import cautions, queries
from kneebench.brief.terminal import parts
from kneebench.brief.view_model import ViewModel
from kneebench.errors import KneebenchError
from kneebench.records import Results
from kneebench.screen import tables
from kneebench.screen.progress import rung_line

DATABASES = "Databases, each with its settings, on one storage"


def printed(results: Results, *, every_rung: bool = False) -> Iterator[RenderableType]:
    """The parts to print, in order."""
    unfinished = "" if results.finished else " (unfinished)"
    question = f"{results.campaign.resolved.question}{unfinished}"
    yield Text(behind_label(results.campaign.label.upper(), question), style="bold")
    yield from parts(_sections(results, every_rung=every_rung))
    yield Text(f"\n{DERIVED_FROM[results.campaign.resolved.workload]}", style="dim")


def _sections(results: Results, *, every_rung: bool) -> Iterator[Section | None]:
    yield said("memory", "", (one.sentence for one in limited_memory(results)))
    alarms = tuple(_alarms(results))
    yield Section(name="alarms", title="", sentences=alarms, tone="alarm")
    yield said("caveats", "", beside(results), caveats=True)
    if results.campaign.resolved.workload == "tproc-h":
        yield from _of_queries(results)
    else:
        yield from _of_knees(results)
    if every_rung:
        lines = [
            rung_line(rung, {climb.id: climb.configuration})
            for climb in results.climbs
            for rung in climb.rungs
        ]
        yield Section(name="rungs", title="", tables=(tables.rungs(lines),))


def _of_queries(results: Results) -> Iterator[Section | None]:
    """The brief's own tables."""
    said = (f"{one}." for one in (headline(results), subtitle(results)) if one)
    yield Section(name="answers", title="", sentences=(*said,))
    with contextlib.suppress(KneebenchError):  # the brief cannot be written
        if found := queries.section(ViewModel(results)):
            yield Section(name="queries", title="", tables=found.tables)


def _of_knees(results: Results) -> Iterator[Section | None]:
    summaries = configuration_summaries(results)
    table = tables.configuration_summaries(summaries, by_row=bool(sweeps(results)))
    yield Section(name="summaries", title="", tables=(table,))
    yield Section(name="answers", title="", sentences=("", *_answers(results)))
    yield said("databases", DATABASES, _of_databases(results))


def _alarms(results: Results) -> Iterator[str]:
    """What must not be quoted."""
    yield from (f"FAILED CHECK  {sentence}" for sentence in failed_checks(results))
    yield from (f"INVALID  {sentence}" for sentence in invalid_rungs(results))
    yield from (f"NO FIGURE  {sentence}" for sentence in without_figure(results))
    yield from (f"STILL WARMING  {one.words}" for one in never_steady(results).values())


def _answers(results: Results) -> Iterator[str]:
    yield from (f"{comparison.sentence}." for comparison in compare(results))
    yield from (sentence(levelling(sweep)) for sweep in sweeps(results))
    if rounds := rounds_of(results):
        yield f"{capital(rounds.sentence)}."
    with contextlib.suppress(KneebenchError):  # the brief cannot be written
        if found := cautions.section(ViewModel(results)):
            yield f"The brief lists {plural(len(found.sentences), 'caveat')}."


def _of_databases(results: Results) -> Iterator[str]:
    """The comparison of databases, with what it means; nothing for one database."""
    if sentences := list(database_sentences(results)):
        yield from (f"{sentence}." for sentence in sentences)
        yield from MEANING


def results_json(results: Results) -> dict[str, Any]:
    """The same for programs: what it answers, failed checks, every rung's line."""
    configurations = {climb.id: climb.configuration for climb in results.climbs}
    return {
        "campaign": results.campaign.id,
        "folder": str(results.archive or results.folder or ""),
        "simulated": results.campaign.simulated,
        "emulated_drives": results.campaign.emulated,
        **answers(results),
        "failed_checks": list(failed_checks(results)),
        "invalid_rungs": list(invalid_rungs(results)),
        "without_figure": list(without_figure(results)),
        "rungs": [
            rung_line(rung, configurations)._asdict()
            for climb in results.climbs
            for rung in climb.rungs
        ],
    }
