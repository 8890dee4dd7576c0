"""Reliefs: what is changed in the plan of one configuration so that one resource is no longer short
there.

Each is cheap to try, and takes away one limit only: a log in memory, more cores, more memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from kneebench import units
from kneebench.analysis.wording import plural
from kneebench.plan.amounts import amount_text
from kneebench.plan.constraints import named
from kneebench.plan.default import MEMORY
from kneebench.plan.study import Study
from kneebench.plan.volume import LEAST_BYTES, EmulatedDrive, Volume
from kneebench.records import Configuration

MIB = 2**20
LOG_BYTES = (2 * 2**30, 8 * 2**30)
"""Least and most of a log volume in memory; between them a quarter of what is free."""
TIMES_MEMORY, TIMES_WAREHOUSES, TIMES_DATA = 4, 4, 1.5
TIMES_NEEDED = 1.25
"""What a climb needs, with its file system."""
NOT_OURS = "the storage names no directory or drives"
IN_MEMORY = "it is in memory as the plan has it"


class Spare(NamedTuple):
    """What this machine has: its cores, and memory that is free; and what the knee used: so many
    cores of the database, and threads of the load generator.
    """

    cores: tuple[int, ...]
    free_bytes: int
    used_cores: int = 0
    threads: int = 1


class Side(NamedTuple):
    """One configuration of a proof: its study, which has only this configuration. `relief`: empty
    for the configuration as it was.
    """

    relief: str
    study: Study
    configuration: Configuration


class ReliefError(Exception):
    """A relief that cannot be had here, and why."""


Change = Callable[[Study, Configuration, Spare], Study]


def as_it_was(
    study: Study,
    configuration: Configuration,
    users: int,
    settings: Mapping[str, str] | None = None,
) -> Side:
    """The configuration alone, at a fixed number of users. `settings`: those that its server had by
    the sizing rules, which see another plan now.
    """
    alone = study.alone(configuration.database)
    database = alone.only_database
    own = database.ladder_on(configuration.storage)
    update: dict[str, object] = {"users": users, "checkpoints": 0, "prove": "none"}
    if own.rounds == "short" and not _side_by_side(study, configuration):
        update |= {"rounds": "long", "final_window": max(own.final_window, own.window)}
    ladder = own.model_copy(update=update)
    given = {**(settings or {}), **database.database.settings}
    changed = alone.changed(
        database=database.database.model_copy(update={"settings": given}),
        storages={configuration.storage: study.storages[configuration.storage]},
        workload=study.workload,
        constraints=named(configuration.constraint, configuration),
        ladder=ladder,
        baseline="",
        raw_profile=False,
    )
    return _side("", changed)


def _side_by_side(study: Study, configuration: Configuration) -> bool:
    """Whether two servers of ours can be up on the storage at once: neither on the same drives nor
    twice in memory.
    """
    storage = study.storages[configuration.storage]
    in_memory = _is_in_memory(storage, storage.path)
    return not (storage.volumes or in_memory or study.only_database.urls[configuration.storage])


def relieved(side: Side, relief: str, spare: Spare) -> Side:
    """The side with one resource relieved. Raises ReliefError where that is impossible here."""
    return _side(relief, RELIEFS[relief](side.study, side.configuration, spare))


def _side(relief: str, study: Study) -> Side:
    [configuration] = study.configurations
    return Side(relief, study, configuration)


def _log_in_memory(study: Study, configuration: Configuration, spare: Spare) -> Study:
    storage = study.storages[configuration.storage]
    if _is_in_memory(storage.log or storage, storage.log_path or storage.path):
        raise ReliefError(IN_MEMORY)
    if _may_be_files(study, configuration):
        change: dict[str, object] = {"log_path": MEMORY, "log": None}
    else:
        size = min(LOG_BYTES[1], max(LOG_BYTES[0], spare.free_bytes // 4))
        change = {"log_path": None, "log": _in_memory(size, spare)}
    return _other_storage(study, configuration, "log in memory", change)


def _data_in_memory(study: Study, configuration: Configuration, spare: Spare) -> Study:
    """The log stays where it was."""
    storage = study.storages[configuration.storage]
    if _is_in_memory(storage, storage.path):
        raise ReliefError(IN_MEMORY)
    needed = study.only_database.engine.footprint.climb_bytes(study.workload.sized_as)
    volume = _in_memory(round(TIMES_NEEDED * needed), spare)
    if _may_be_files(study, configuration):
        change: dict[str, object] = {"path": MEMORY}
    else:
        change = {"path": None, **{key: getattr(volume, key) for key in Volume.model_fields}}
    if not storage.log_apart:
        own = Volume(**{key: getattr(storage, key) for key in Volume.model_fields})
        change |= {"log": own} if storage.drives else {"log_path": storage.path}
    return _other_storage(study, configuration, "data in memory", change)


def _is_in_memory(volume: Volume, path: Path | None) -> bool:
    """Whether all drives of a volume, or its directory without drives, are in memory."""
    if volume.drives:
        return all(one.emulated == "memory" for one in volume.emulated_drives) and not (
            volume.named_drives
        )
    return path is not None and path.is_relative_to(MEMORY)


def _may_be_files(study: Study, configuration: Configuration) -> bool:
    """Whether a directory in memory will do: below a limit, its files would count as the server's
    memory, and a volume is compared with a volume.
    """
    storage = study.storages[configuration.storage]
    if not (storage.path or storage.drives):
        raise ReliefError(NOT_OURS)
    return not storage.drives and _memory_bytes(study, configuration) is None


def _memory_bytes(study: Study, configuration: Configuration) -> int | None:
    """The database's limit: the configuration's, or the plan's for all configurations."""
    return configuration.memory_bytes or getattr(study.only_database.database, "memory", None)


def _in_memory(size_bytes: int, spare: Spare) -> Volume:
    size = max(LEAST_BYTES, -(-size_bytes // MIB) * MIB)
    if size > spare.free_bytes / 2:
        needed, free = units.size(size), units.size(spare.free_bytes)
        raise ReliefError(f"it needs {needed} of memory, and {free} is free")
    return Volume(drives=(EmulatedDrive(emulated="memory", size=size),))


def _other_storage(
    study: Study, configuration: Configuration, words: str, change: Mapping[str, object]
) -> Study:
    storage = study.storages[configuration.storage].model_copy(update=change)
    return study.changed(storages={f"{configuration.storage}, {words}": storage})


def _more_memory(study: Study, configuration: Configuration, spare: Spare) -> Study:
    """Enough for all data, if it is there. Its warm-up ends when throughput and reads are steady: a
    cache takes time to fill.
    """
    if (limit := _memory_bytes(study, configuration)) is None:
        raise ReliefError("the database's memory is not limited")
    wanted = max(TIMES_MEMORY * limit, round(TIMES_DATA * study.only_database.data_bytes))
    memory = min(wanted, spare.free_bytes // 2)
    if memory < 2 * limit:
        free = units.size(spare.free_bytes)
        raise ReliefError(f"twice its memory is not free ({free} is)")
    warm = study.changed(ladder=study.ladder.model_copy(update={"warm_up": "auto"}))
    return _other_limits(warm, configuration, memory_bytes=memory // MIB * MIB)


def _more_cores(study: Study, configuration: Configuration, spare: Spare) -> Study:
    """All of this machine that the load generator leaves; where it leaves none, it shares them."""
    own, every = spare.used_cores, spare.cores
    if not own or own >= len(every):
        raise ReliefError("the database has every core of this machine")
    generator = study.workload.load_generator_cores
    left = tuple(core for core in every if core not in generator)
    if len(left) <= own:
        left, generator = every, ()
    change = {
        "database": study.only_database.database.model_copy(update={"cores": left}),
        "workload": study.workload.model_copy(update={"load_generator_cores": generator}),
    }
    limits = {"cores": len(left), "numa_node": None, "siblings": True}
    return _other_limits(study.changed(**change), configuration, **limits)


def _other_limits(study: Study, configuration: Configuration, **limits: int | None) -> Study:
    """Under a constraint that is named by what it allows."""
    after = configuration.model_copy(update=limits)
    words = [f"{after.cores} cores"] if after.cores else []
    words += [amount_text(after.memory_bytes)] if after.memory_bytes else []
    return study.changed(constraints=named(", ".join(words), after))


def _more_warehouses(study: Study, configuration: Configuration, spare: Spare) -> Study:
    warehouses = TIMES_WAREHOUSES * study.workload.warehouses
    workload = study.workload.model_copy(update={"warehouses": warehouses})
    other = _other_storage(study, configuration, f"{warehouses} warehouses", {})
    return other.changed(workload=workload)


def _more_load_generator(study: Study, configuration: Configuration, spare: Spare) -> Study:
    """Twice the threads, on all cores of this machine."""
    threads = 2 * spare.threads
    if threads > len(spare.cores):
        seen = f"it has {plural(spare.threads, 'thread')} on {len(spare.cores)} cores"
        raise ReliefError(f"there is no further core for the load generator: {seen}")
    change = {"load_generator_threads": threads, "load_generator_cores": spare.cores}
    other = _other_storage(study, configuration, f"{threads} load generator threads", {})
    return other.changed(workload=study.workload.model_copy(update=change))


RELIEFS: dict[str, Change] = {
    "log in memory": _log_in_memory,
    "data in memory": _data_in_memory,
    "more memory": _more_memory,
    "more cores": _more_cores,
    "more warehouses": _more_warehouses,
    "another load generator core": _more_load_generator,
}
"""By name, as the bottleneck's rules call them."""
