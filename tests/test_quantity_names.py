"""A quantity whose name is wrong would be read as one that was not measured: all names in the code
are those of quantities that there are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import kneebench
from kneebench.measurement.quantities import RATIOS, READ
from kneebench.plan.engine_table import table_of
from kneebench.shelf import ENGINES
from tests.recordings import recorded

HOUSE = Path(kneebench.__file__).parent
NAME = re.compile(r"[a-z_]+\.[a-z_0-9]+")
OTHERS = {
    "server.log": "a file",
    "waits.sessions": "what the model calls them",
}
"""Names that look like a quantity's."""


def literals(text: str) -> Iterator[str]:
    """The texts in a module that look like the name of a quantity."""
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and NAME.fullmatch(node.value)
        ):
            yield node.value


def quantities() -> set[str]:
    """Those that meters read, their ratios, and what a real rung has besides."""
    rungs = [rung for climb in recorded("emulated").climbs for rung in climb.rungs]
    return {*READ, *RATIOS, *(name for rung in rungs for name in rung.quantities)}


def unknown(text: str) -> set[str]:
    """Names in a module that begin as a quantity does, and are none; keys of the plan's table
    `[database]` are not meant.
    """
    known = quantities()
    starts = {name.partition(".")[0] for name in known}
    keys = {f"database.{key}" for key in database_keys()}
    return {
        name
        for name in literals(text)
        if name.partition(".")[0] in starts and name not in {*known, *keys, *OTHERS}
    }


def database_keys() -> set[str]:
    """The keys of the plan's table `[database]`, of all engines."""
    return {key for name in ENGINES.names() for key in table_of(name).model_fields}


def test_every_quantity_that_the_code_names_is_one() -> None:
    found = {
        str(file.relative_to(HOUSE)): names
        for file in HOUSE.rglob("*.py")
        if (names := unknown(file.read_text()))
    }
    assert found == {}


def test_a_wrong_name_would_be_found() -> None:
    assert unknown('rung.quantity("device.write")') == {"device.write"}
    assert unknown('rung.quantity("device.writes")') == set()
