"""Databases of one campaign: each apart, and against the first of them on the same storage.

A difference between two databases is one of two pairs of an engine and its settings on this machine
(`MEANING`). It is no difference between storages: those are compared within one database
(comparison.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kneebench.analysis.comparison import ratio_of
from kneebench.analysis.fixed_rate import fixed_rate_latency
from kneebench.analysis.knee import final_rungs, knee, metered
from kneebench.analysis.quantity_ratio import MEAN, NOPM, P999, ComparedQuantity
from kneebench.analysis.still_warming import still_warming
from kneebench.records import Climb, Comparison, Estimate, Record, Results, Rung, configuration_name

MEANING = (
    "These figures compare pairs: a database engine with its settings, on one storage of this"
    " machine. They show which pair did more here.",
    "They do not rate an engine in general. Each one sizes its caches and its log by its own rules,"
    " and these settings are part of the result.",
    "Engines differ in how they keep a commit durable, in their page and log formats, and in the"
    " language of their stored procedures.",
    "All had the same transactions and inputs from one load generator. Its own cost per transaction"
    " depends on the protocol.",
    "No figure of this section compares storages: that is done within one database.",
)
"""What a comparison of databases can and cannot mean."""


class DatabaseQuantity(NamedTuple):
    """A quantity by which databases are compared. `heading`: of its column."""

    heading: str
    compared: ComparedQuantity


def _read(name: str, called: str) -> ComparedQuantity:
    def pick(rung: Rung) -> float:
        return rung.quantity(name) or 0.0

    return ComparedQuantity(name, "final_run", pick, f"{called} at {{}}")


QUANTITIES = (
    DatabaseQuantity("NOPM", NOPM),
    DatabaseQuantity("Mean latency", MEAN),
    DatabaseQuantity("P99.9 latency", P999),
    DatabaseQuantity("Log write", _read("log.write_latency", "log write latency")),
    DatabaseQuantity(
        "Server CPU per tx", _read("server.cpu_per_transaction", "server CPU per transaction")
    ),
    DatabaseQuantity("Log per tx", _read("log.bytes_per_transaction", "log per transaction")),
    DatabaseQuantity(
        "Read per tx", _read("device.read_bytes_per_transaction", "bytes read per transaction")
    ),
    DatabaseQuantity(
        "Written per tx",
        _read("device.write_bytes_per_transaction", "bytes written per transaction"),
    ),
)


class DatabaseRow(Record):
    """One database on one storage. `figures`: by the name of the quantity, without those that were
    not measured; `against`: the same as ratios to the first database on the same storage under the
    same constraint, none for that database itself. `p999_certain`: see `FixedRateLatency`.
    `not_compared`: why it has no ratios, though it was measured.
    """

    storage: str
    constraint: str
    database: str
    engine: str
    users: Estimate | None
    figures: dict[str, Estimate]
    against: dict[str, Comparison]
    p999_certain: bool = True
    not_compared: str = ""

    @property
    def place(self) -> str:
        """Storage and constraint."""
        return configuration_name(self.storage, self.constraint)


def by_database(results: Results) -> dict[str, Results]:
    """The campaign of each database, by name: with its climbs alone, as if only it had been
    measured; of one database, "" and the campaign itself.
    """
    names = dict.fromkeys(climb.configuration.database for climb in results.climbs) or {"": None}
    return {name: _only(results, name) if name else results for name in names}


def _only(results: Results, name: str) -> Results:
    climbs = tuple(climb for climb in results.climbs if climb.configuration.database == name)
    return results.model_copy(update={"climbs": climbs})


def database_rows(results: Results) -> tuple[DatabaseRow, ...]:
    """Every database on every storage, those on one storage together, the plan's first database
    first; empty for a campaign of one database.
    """
    places: dict[tuple[str, str], list[Climb]] = {}
    for climb in results.climbs if len(by_database(results)) > 1 else ():
        places.setdefault((climb.configuration.storage, climb.configuration.constraint), []).append(
            climb
        )
    return tuple(_row(results, climb, some[0]) for some in places.values() for climb in some)


def database_sentences(results: Results) -> Iterator[str]:
    """The comparison of each database with the first one by NOPM and latency, a sentence each."""
    for row in database_rows(results):
        for quantity in (NOPM, MEAN, P999):
            if found := row.against.get(quantity.name):
                yield found.sentence


def database_document(results: Results) -> dict[str, Any] | None:
    """The comparison of databases for programs, with what it means; None for one database."""
    rows = database_rows(results)
    if not rows:
        return None
    return {"meaning": MEANING, "rows": [row.model_dump(mode="json") for row in rows]}


def _row(results: Results, climb: Climb, first: Climb) -> DatabaseRow:
    configuration, found, rate = climb.configuration, knee(climb), fixed_rate_latency(climb)
    given = {
        NOPM.name: found and found.nopm,
        MEAN.name: rate and rate.mean_s,
        P999.name: rate and rate.p999_s,
    }
    names = [one.compared.name for one in QUANTITIES]
    figures = {
        name: given[name] if name in given else metered(final_rungs(climb), name) for name in names
    }
    return DatabaseRow(
        storage=configuration.storage,
        constraint=configuration.constraint,
        database=configuration.database,
        engine=results.campaign.engines.get(configuration.database, ""),
        users=found.users if found else None,
        figures={name: figure for name, figure in figures.items() if figure},
        against=_against(results, climb, first),
        p999_certain=rate is None or rate.p999_certain,
        not_compared=still_warming(climb),
    )


def _against(results: Results, climb: Climb, first: Climb) -> dict[str, Comparison]:
    if climb is first:
        return {}
    interleaved = results.campaign.interleaved(climb.id, first.configuration.id)
    ratios = (ratio_of(climb, first, one.compared, interleaved=interleaved) for one in QUANTITIES)
    return {one.quantity: one for one in ratios if one}
