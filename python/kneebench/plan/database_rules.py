"""Rules for a plan of several databases, and for configurations that are measured side by side."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from pydantic_core import PydanticCustomError

from kneebench.engine_properties import engine_properties
from kneebench.plan.database import Database
from kneebench.plan.server_url import server_of
from kneebench.plan.storage import Storage
from kneebench.plan.values import wrong
from kneebench.shelf import ENGINES


@contextlib.contextmanager
def about(name: str) -> Iterator[None]:
    """Rules of `[database]` in the block are about the database of this name; empty for a plan
    with only one.
    """
    try:
        yield
    except PydanticCustomError as error:
        context = error.context or {}
        table, *key = context.get("key") or ("",)
        if not name or table != "database":
            raise
        raise wrong("databases", name, *key, sentence=context["sentence"]) from None


def check_databases(
    databases: Mapping[str, Database], storages: Mapping[str, Storage], *, both: bool
) -> None:
    """Raise the rule's error for several databases that no campaign can have; `both`: the plan has
    a table `[database]` too.
    """
    if both:
        sentence = "either [database] for one database, or [databases.NAME] for several"
        raise wrong("database", sentence=sentence)
    if "" in databases:
        raise wrong("databases", "", sentence="a name")
    for name, one in storages.items():
        if one.url:
            sentence = "no value together with [databases]: each of them has its own url"
            raise wrong("storages", name, "url", sentence=sentence)
    real = {
        name: engine_properties(one.engine).measures_real_hardware
        for name, one in databases.items()
        if one.engine in ENGINES.names()
    }
    first = next(iter(real.values()), True)
    if other := next((name for name, one in real.items() if one != first), ""):
        sentence = "models only, or none: a simulated database compares with no real one"
        raise wrong("databases", other, "engine", sentence=sentence)
    _check_backups(databases, storages)


def _check_backups(databases: Mapping[str, Database], storages: Mapping[str, Storage]) -> None:
    """Databases may share a backup only if each would write the same one."""
    known: dict[str, tuple[str, object]] = {}
    for name, one in databases.items():
        place, shape = one.own_backup(storages)
        first, first_shape = known.setdefault(place, (name, shape))
        if shape != first_shape:
            sentence = f"another file than that of {first!r}, which is of other options or files"
            raise wrong("databases", name, "backup", sentence=sentence)


def check_rounds(
    storages: Mapping[str, Storage], urls: Sequence[str], configurations_per_storage: int
) -> None:
    """Raise the rule's error where the configurations of a plan cannot be up side by side, as short
    rounds need them: on one server, or on the same drives. `urls`: of external servers, one per
    configuration.
    """
    servers = [server_of(url) for url in urls]
    if len(set(servers)) < len(servers):
        sentence = '"long": storages on one external server cannot be measured side by side'
        raise wrong("ladder", "rounds", sentence=sentence)
    volumes = [one.volumes for one in storages.values()]
    names = [
        name for some in volumes for name in {name for one in some for name in one.named_drives}
    ]
    if len(set(names)) < len(names):
        sentence = '"long": storages that share drives cannot be measured side by side'
        raise wrong("ladder", "rounds", sentence=sentence)
    if any(volumes) and configurations_per_storage > 1:
        sentence = '"long": two configurations on the same drives cannot be measured side by side'
        raise wrong("ladder", "rounds", sentence=sentence)
