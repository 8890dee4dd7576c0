"""A schema that another tool built (HammerDB): measured as it stands or as a copy, with nothing of
ours left in it. Here is what is the same on all engines that measure one.

Measuring writes into the tables: new orders, payments, deliveries. So a plan says whose tables
these may be: a copy (restore = "template"), those that a command puts back, or with restore =
"none" the user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import PlanError
from kneebench.records import Finding
from kneebench.units import size

CHANGED = "measuring adds orders, payments and history to HammerDB's tables in {}, {}"


class Existing(NamedTuple):
    """The database that has the schema.

    `no_copy`: why it may not be copied, and what to do; empty where it may. `instead`: how it keeps
    its contents on an engine without restore = "template"; empty with it.
    """

    database: str
    size_bytes: int = 0
    no_copy: tuple[str, str] = ("", "")
    instead: str = ""


def facts(
    database: str, tables: Collection[str], count: Callable[[], int], warehouses: int
) -> dict[str, str]:
    """What is known of the schema, by the names of its tables and the count of its warehouses.

    Raises PlanError where there is none, or one of another size.
    """
    if missing := [name for name in LARGEST_FIRST if name not in tables]:
        raise PlanError(
            f"cannot find HammerDB's schema in {database}",
            seen=f"no table {', '.join(missing)}",
            do="build the schema with HammerDB, or correct the URL",
        )
    if (there := count()) != warehouses:
        raise PlanError(
            f"cannot use HammerDB's schema in {database}",
            seen=f"it has {there} warehouse{'' if there == 1 else 's'}",
            do=f"set workload.warehouses = {there}",
        )
    return {"reused": "yes", "schema_from": "hammerdb", "warehouses": str(there)}


def findings(
    schema: Existing, subject: str, how: str, *, stated: bool, changed: str = CHANGED
) -> Iterator[Finding]:
    """What becomes of the user's tables; refused if the plan does not state it. `changed`: what
    measuring does to those of a database, and whether they are restored.
    """

    def finding(level: str, seen: str, do: str = "") -> Finding:
        given = {"level": level, "subject": subject, "seen": seen, "do": do}
        return Finding.model_validate(given)

    database, copied = schema.database, _copied(schema)
    instead = schema.instead or f'set restore = "template": {copied}'
    not_restored = "and nothing restores them"
    no_copy, do_for_copy = schema.no_copy
    if how == "none" and not stated:
        do = f'{instead}; or set restore = "none" if they may change'
        yield finding("refused", changed.format(database, not_restored), do)
    elif how == "none":
        yield finding("warning", changed.format(database, not_restored), instead)
    elif how == "command":
        restored = "which restore_command restores before each climb, but not after the last"
        do = "run restore_command once more at the end"
        yield finding("note", changed.format(database, restored), do)
    elif no_copy:
        yield finding("error", no_copy, do_for_copy)
    else:
        yield finding("ok", copied)


def _copied(schema: Existing) -> str:
    """What becomes of it by template.

    >>> _copied(Existing("tpcc", 2 * 2**30))
    'a copy of 2 GiB is measured and dropped; tpcc is not changed'
    """
    measured = f"a copy of {size(schema.size_bytes)} is measured and dropped"
    return f"{measured}; {schema.database} is not changed"
