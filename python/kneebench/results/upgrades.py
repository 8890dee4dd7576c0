"""Upgrades from each old results format to the next, and the file names that an old format used."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kneebench.engine_properties import WaitClass, engine_properties
from kneebench.plan.database import DEFAULT
from kneebench.plan.engine_table import table_of
from kneebench.plan.explanation import RENAMED
from kneebench.records import Order
from kneebench.shelf import ENGINES
from kneebench.workload.specification import STREAM_NAMES

Document = dict[str, Any]
PHASES = {old: new for new, old in STREAM_NAMES.items()}
"""Phases that format 2 renamed."""
STOPS = {"client": "load_generator", "fixed": "fixed_load"}
"""Stop reasons that format 2 renamed."""
OLD_NAME = re.compile(rf"(.+)\.({'|'.join(PHASES)})-(\d+(?:-\d+)?)")
"""Stem of a rung's file in format 1: its key with the old name of the phase."""


def old_key(order: Order) -> str:
    """The key of an order in format 1.

    >>> old_key(Order(configuration="disk", phase="final_run", users=8, repeat=1))
    'disk.report-8-1'
    """
    users_and_repeat = order.key.removeprefix(f"{order.configuration}.{order.phase}")
    return f"{order.configuration}.{STREAM_NAMES.get(order.phase, order.phase)}{users_and_repeat}"


def rename_files(folder: Path) -> None:
    """Give a rung's file of format 1 its current name; other names stay.

    A second call after a crash completes the first.
    """
    for file in folder.iterdir():
        if found := OLD_NAME.fullmatch(file.stem):
            file.rename(file.with_name(f"{found[1]}.{PHASES[found[2]]}-{found[3]}{file.suffix}"))


def _renamed(document: Mapping[str, Any], names: Mapping[str, str]) -> Document:
    return {names.get(key, key): value for key, value in document.items()}


def _order(order: Document) -> Document:
    return {**order, "phase": PHASES.get(order["phase"], order["phase"])}


TALLY = {
    "client_cpu_s": "load_generator_cpu_s",
    "client_workers": "load_generator_threads",
    "client_cores": "load_generator_cores",
}
"""Fields of a tally that format 2 renamed."""


def _wait_class(event: str) -> WaitClass:
    """The class of a wait in format 1, which knew two engines with different names for their
    waits.
    """
    classes = (engine_properties(name).wait_class(event) for name in ("simulated", "postgres"))
    return next((found for found in classes if found != "other"), "other")


def _classified(quantities: Document) -> Document:
    """Format 1 had the waits of all classes in one quantity: the highest second of a class is known
    only where there was no other.
    """
    whole = quantities.get("waits.sessions", {"sources": {}})
    found: dict[str, dict[str, float]] = {}
    for event, sessions in whole["sources"].items():
        found.setdefault(f"waits.{_wait_class(event)}", {})[event] = sessions
    high = whole["high"] if len(found) == 1 else None
    waits = {
        name: {**whole, "value": sum(sources.values()), "high": high, "sources": sources}
        for name, sources in found.items()
    }
    return {name: value for name, value in quantities.items() if name != "waits.sessions"} | waits


def _rung(rung: Document) -> Document:
    quantities = {
        re.sub(r"^client\.", "load_generator.", name): value
        for name, value in rung.get("quantities", {}).items()
    }
    return {
        **rung,
        "order": _order(rung["order"]),
        "tally": _renamed(rung["tally"], TALLY),
        "quantities": _classified(quantities),
    }


def _climb(climb: Document) -> Document:
    results = [
        {**_renamed(one, {"mark": "flag"}), "stop": STOPS.get(one["stop"], one["stop"])}
        for one in climb.get("verdicts", ())
    ]
    kept = {name: value for name, value in climb.items() if name != "verdicts"}
    return {
        **kept,
        "stop_results": results,
        "stopped_by": STOPS.get(climb.get("stopped_by", ""), climb.get("stopped_by", "")),
    }


def _of_its_engine(database: Document, *, by_url: bool) -> Document:
    """Of an engine that this version does not know, all of it."""
    engine = database.get("engine", DEFAULT)
    known = table_of(engine).model_fields if engine in ENGINES.names() else database
    unused = ("memory",) if by_url or database.get("url") else ()
    return {name: value for name, value in database.items() if name in known and name not in unused}


def _of_their_engines(plan: Document) -> Document:
    """The plan without keys that older formats kept for engines that do not have them, or that
    had no effect on a server by URL.
    """
    kept, storages = dict(plan), plan.get("storages")
    tables = storages.values() if isinstance(storages, dict) else ()
    by_url = any(isinstance(one, dict) and one.get("url") for one in tables)
    if isinstance(database := plan.get("database"), dict):
        kept["database"] = _of_its_engine(database, by_url=by_url)
    if isinstance(several := plan.get("databases"), dict):
        kept["databases"] = {
            name: _of_its_engine(one, by_url=by_url) for name, one in several.items()
        }
    return kept


def _plan(plan: Document) -> Document:
    names: dict[str, dict[str, str]] = {}
    for (table, old), new in RENAMED.items():
        names.setdefault(table, {})[old] = new
    renamed = {
        table: _renamed(keys, names[table]) if table in names and isinstance(keys, dict) else keys
        for table, keys in plan.items()
    }
    return _of_their_engines(renamed)


PARTS: dict[str, Callable[[Document], Document]] = {
    "rung": _rung,
    "climb": _climb,
    "last": _order,
    "plan": _plan,
}
"""Fields of the documents of format 1 that format 2 changed."""


def _changed(document: Document, parts: Mapping[str, Callable[[Document], Document]]) -> Document:
    return {
        name: parts[name](value) if name in parts and isinstance(value, dict) else value
        for name, value in document.items()
    }


def _from_1(document: Document) -> Document:
    return _renamed(_changed(document, PARTS), {"image": "base_image"})


def _with_configuration(document: Document) -> Document:
    """Format 2 called a configuration a cell."""
    return _renamed(document, {"cell": "configuration", "cells": "configurations"})


def _kind_of(note: str) -> str:
    """The kind of a note in format 2, which had words alone; only of what is asked by its kind."""
    if note.startswith("not steady"):
        return "not_steady"
    in_memory = "tmpfs" in note.lower() or "memory-backed" in note.lower()
    return "memory_backed" if in_memory else "older"


def _with_remarks(rung: Document) -> Document:
    """Format 2 had notes and a reason why a rung is invalid, both in words."""
    kept = {name: value for name, value in rung.items() if name not in ("notes", "invalid")}
    remarks = [
        {"kind": _kind_of(note), "severity": "note", "words": note}
        for note in rung.get("notes", ())
    ]
    if words := rung.get("invalid"):
        remarks += [{"kind": "older", "severity": "invalid", "words": words}]
    return {**kept, "order": _with_configuration(rung["order"]), "remarks": remarks}


def _climb_of_2(climb: Document) -> Document:
    """Format 2 had a flag where a stop's limit was exceeded without ending the climb."""
    results = [
        {
            **{name: value for name, value in one.items() if name != "flag"},
            "severity": "caveat" if one.get("flag") else "note",
        }
        for one in climb.get("stop_results", ())
    ]
    return {**_with_configuration(climb), "stop_results": results}


def _proofs(proofs: Document) -> Document:
    return {
        name: {
            **_with_configuration(proof),
            "relieved": [_with_configuration(one) for one in proof["relieved"]],
        }
        for name, proof in proofs.items()
    }


OF_FORMAT_2: dict[str, Callable[[Document], Document]] = {
    "rung": _with_remarks,
    "climb": _climb_of_2,
    "last": _with_configuration,
    "fixed_rate": _with_configuration,
    "resolved": _with_configuration,
    "proofs": _proofs,
    "plan": _of_their_engines,
}
"""Fields of the documents of format 2 that format 3 changed."""


def _from_2(document: Document) -> Document:
    return _with_configuration(_changed(document, OF_FORMAT_2))


def _from_3(document: Document) -> Document:
    """Format 3 kept the keys of a server for engines that start none."""
    return _changed(document, {"plan": _of_their_engines})


def _with_facts(plan: Document) -> Document:
    """Format 4 had the author's facts about the machine outside of the table of their words."""
    kept = {name: value for name, value in plan.items() if name != "notes"}
    if facts := plan.get("notes"):
        kept["brief"] = {**(plan.get("brief") or {}), "machine": facts}
    return kept


def _from_4(document: Document) -> Document:
    return _changed(document, {"plan": _with_facts})


UPGRADES: dict[int, Callable[[Document], Document]] = {
    1: _from_1,
    2: _from_2,
    3: _from_3,
    4: _from_4,
}
"""By old format number: the upgrade of a document to the next format."""
