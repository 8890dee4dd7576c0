"""The properties that all databases by a driver have (engine_properties.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from kneebench.databases.odbc import footprint as footprint
from kneebench.databases.odbc.dialect import class_of_state, dialect_in
from kneebench.engine_properties import (
    ErrorClass,
    Listens,
    Quantity,
    SafetySetting,
    ServerProgram,
    WaitClass,
)
from kneebench.records import Setting

postponed = ""
publishing = ""
measures_real_hardware = True
packages: Sequence[str] = ()
PASSWORD = "KNEEBENCH_ODBC_PASSWORD"  # noqa: S105
password_variable = PASSWORD
listens: Listens = "never"
answers_queries = False
server_program: ServerProgram | None = None
named_settings: Sequence[str] = ()
safety_settings: Sequence[SafetySetting] = ()
own_quantities: Mapping[str, Quantity] = {}


def major_version(settings: Sequence[Setting]) -> str:
    """The first number of what its query of the version gave.

    >>> major_version([Setting(name="version", value="15.7 (Debian)")])
    '15'
    """
    value = next((one.value for one in settings if one.name == "version"), "")
    return value.partition(".")[0]


def checkpoint_cycle_s(settings: Sequence[Setting]) -> float:
    """Not known; taken for five minutes."""
    return 300.0


CLASSES: Mapping[str, ErrorClass] = {
    "retry": "retry",
    "full": "full",
    "refused": "refused",
    "lost": "stopped",
}
"""What the core's classes mean for a campaign."""


def classes_by(folder: Path) -> Callable[[str], ErrorClass]:
    """The class of an error by its code, as the dialect in this folder says."""

    def error_class(code: str) -> ErrorClass:
        known = dict(dialect_in(folder).classes)
        return CLASSES.get(known.get(code, ""), class_of_state(code))

    return error_class


def wait_class(event: str) -> WaitClass:
    """The dialect's query says it: an event that has none is another."""
    return next((one for one in get_args(WaitClass) if one == event), "other")
