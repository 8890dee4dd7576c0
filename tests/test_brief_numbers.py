"""Every number in the front of a brief is one of its JSON's, whatever was measured.

A recording is changed at random: the throughput, latency and readings of every rung, each by a
factor of its own. The front is then written from the changed figures, and every number in it must
be one that the JSON has, as people read it. A number that stayed as it was recorded is found by
this, as it is in no figure any more.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kneebench import units
from kneebench.analysis.wording import times
from kneebench.brief import Brief
from kneebench.records import Results, Rung
from tests.recordings import each, recorded, with_throughput

TOKEN = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
"""A number in a text, without its unit; not the digits of a name (P99.9, RAID0)."""
FIXED = {"95", "2", "3", "1", "100"}
"""Numbers of the words themselves: 95% CI, n of something."""
APART = ("rungs", "superseded_rungs", "campaign", "sections", "title", "subtitle")


def changed(results: Results, seed: int) -> Results:
    """The recording with other figures in every rung."""
    chance = random.Random(seed)

    def other(rung: Rung) -> Rung:
        rung = with_throughput(rung, rung.tally.throughput_per_s * chance.uniform(0.5, 2.0))
        factor = chance.uniform(0.5, 2.0)
        latency = rung.tally.latency
        scaled = latency and latency.model_copy(
            update={
                name: factor * getattr(latency, name)
                for name in type(latency).model_fields
                if name.endswith("_s")
            }
            | {"histogram": ""}
        )
        quantities = {
            name: one.model_copy(
                update={
                    "value": (by := chance.uniform(0.6, 1.0)) * one.value,
                    "sources": {source: by * value for source, value in one.sources.items()},
                }
            )
            for name, one in rung.quantities.items()
        }
        tally = rung.tally.model_copy(update={"latency": scaled})
        tpm = rung.tpm * chance.uniform(0.5, 2.0)
        return rung.model_copy(update={"tally": tally, "quantities": quantities, "tpm": tpm})

    for climb in range(len(results.climbs)):
        results = each(results, climb, other)
    return results


def figures(brief: Brief) -> set[float]:
    """Every number of the brief's JSON that is an answer or was planned: not those of single rungs,
    of which there are so many that any number is among them.
    """
    document = json.loads(brief.json())
    campaign = document["campaign"]
    answers = {name: one for name, one in document.items() if name not in APART}
    planned = {name: campaign[name] for name in ("plan", "resolved", "host", "noise_floor")}
    return {*leaves(answers), *leaves(planned)}


def leaves(document: Any) -> Iterator[float]:
    """Every number of a JSON document, also in its texts."""
    if isinstance(document, int | float) and not isinstance(document, bool):
        yield float(document)
    elif isinstance(document, str):
        yield from (float(one.replace(",", "")) for one in TOKEN.findall(document))
    elif isinstance(document, dict | list):
        for value in document.values() if isinstance(document, dict) else document:
            yield from leaves(value)


def shown(value: float) -> set[str]:
    """A number in every way that people read it."""
    texts = {units.count(value), units.significant(value), units.time(value), units.size(value)}
    texts |= {units.rounded(value, digits) for digits in (1, 2, 3)}
    for scale in (1.0, 60.0, 1 / 60, 1e3, 1e-6):
        texts |= {units.count(scale * value), units.significant(scale * value)}
    for one in (value, abs(value - 1), abs(1 - value)):
        texts |= {f"{100 * one:.{digits}f}" for digits in (0, 1, 2)}
        texts |= {f"{100 * one:.3g}"}
    if 0 <= value < 1e4:
        texts |= {times(value, digits) for digits in (0, 1, 2, 3)}
    return {token for text in texts for token in TOKEN.findall(text)}


def front(brief: Brief) -> Iterator[str]:
    """Every text of the front."""
    yield from (brief.title, brief.subtitle)
    for section in (one for _, some in brief.parts["front"] for one in some):
        yield from section.sentences
        yield from (text for one in section.numbers for text in (one.value, one.says, one.sure))
        yield from (one.sentence for one in section.stop_reasons)
        yield from (text for one in section.figures for text in (one.title, one.caption))
        yield from (cell for table in section.tables for row in table.rows for cell in row.cells)


def unknown(brief: Brief, of: Brief) -> list[str]:
    """Numbers in the front of a brief that are no figures of another."""
    known = FIXED.union(*map(shown, figures(of)))
    tokens = (token for text in front(brief) for token in TOKEN.findall(text))
    return [token for token in tokens if token not in known]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["plateau", "log_bound", "saturated"])
def test_every_number_of_the_front_is_one_of_the_json(name: str, seed: int) -> None:
    brief = Brief(changed(recorded(name), seed))
    assert unknown(brief, of=brief) == []


def test_numbers_that_did_not_follow_would_be_found() -> None:
    stale, brief = Brief(recorded()), Brief(changed(recorded(), 1))
    assert len(unknown(stale, of=brief)) > 50
