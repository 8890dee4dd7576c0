"""A plan to start from for storages that a person names, sized for this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from kneebench.analysis.path_tails import path_tails
from kneebench.errors import PlanError
from kneebench.plan.default import (
    MEMORY,
    Free,
    fitting_warehouses,
    free_bytes,
    short_ladder,
    warm_database,
)
from kneebench.plan.engine_table import EngineStorage
from kneebench.plan.plan import Plan
from kneebench.plan.workload import Workload
from kneebench.records import Host

_DRIVE = re.compile(r"(?:/dev/)?(?:nvme\d+n\d+|sd[a-z]+|vd[a-z]+|loop\d+|disk/by-id/.+)(?:p?\d+)?")


def new_plan(named: Sequence[str], host: Host) -> Plan:
    """The plan of a first look at these storages, each PATH, DRIVE or NAME=PATH: short rounds of
    the default plan, on as many warehouses as fit everywhere. Raises PlanError for one that is
    neither a directory nor a drive, and where nothing fits.
    """
    storages = dict(map(_storage, _told_apart(named)))
    if len(storages) < len(named):
        seen, do = "two storages have one name", "name them: --storage fast=/mnt/a"
        raise PlanError("--storage", seen=seen, do=do)
    return Plan(
        question=_question(list(storages)),
        baseline=next(iter(storages)),
        database=warm_database(),
        workload=Workload(warehouses=_warehouses(storages, host)),
        ladder=short_ladder(),
        storages=storages,
    )


def _told_apart(named: Sequence[str]) -> list[str]:
    """The storages, those without a name whose paths end alike as NAME=PATH.

    >>> _told_apart(["m1/pg", "m2/pg", "/mnt/fast"])
    ['m1-pg=m1/pg', 'm2-pg=m2/pg', '/mnt/fast']
    """
    paths = {text: Path(text).absolute() for text in named if "=" not in text}
    ends = [path.name for path in paths.values()]
    alike = [text for text, path in paths.items() if ends.count(path.name) > 1]
    tails = dict(zip(alike, path_tails([paths[text] for text in alike]), strict=True))
    return [f"{_joined(tails[text])}={text}" if text in tails else text for text in named]


def _joined(tail: Path) -> str:
    return "-".join(part for part in tail.parts if part != tail.root)


def _storage(text: str) -> tuple[str, EngineStorage]:
    """A storage with its name: its own, or what its path ends with.

    >>> name, storage = _storage("fast=/tmp")
    >>> name, str(storage.path)
    ('fast', '/tmp')
    """
    name, sign, place = text.partition("=")
    place = place if sign else text
    own = name if sign else (Path(place).name or place)
    if _DRIVE.fullmatch(place):
        return own, EngineStorage.model_validate({"drives": [place]})
    if not Path(place).is_dir():
        do = "name a directory on it, or a drive (`kneebench drives` lists them)"
        raise PlanError(f"--storage {text}", seen=f"{place} is no directory and no drive", do=do)
    return own, EngineStorage(path=Path(place))


def _question(names: Sequence[str]) -> str:
    """What the brief answers.

    >>> _question(["a"]), _question(["a", "b"])
    ('What does a give this database?', 'What does b buy this database over a?')
    """
    first, *others = names
    if not others:
        return f"What does {first} give this database?"
    return f"What does {' or '.join(others)} buy this database over {first}?"


def _warehouses(storages: Mapping[str, EngineStorage], host: Host) -> int:
    """By the fullest of the directories; a drive is empty when it is measured."""
    places = [path for one in storages.values() for path in one.paths]
    least = min(map(free_bytes, [*places, Path()]))
    tmpfs = min(least, free_bytes(MEMORY)) if MEMORY in places else least
    free = Free(psutil.virtual_memory().available, tmpfs, least)
    return fitting_warehouses(host.cores, host.memory_bytes, free)
