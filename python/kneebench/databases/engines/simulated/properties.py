"""The properties of the simulated engine (engine_properties.py): its clock and its drives are a
model's.
"""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.databases.engines.simulated import footprint as footprint
from kneebench.engine_properties import ErrorClass, Listens, Quantity, WaitClass
from kneebench.records import Setting

label = "Simulated"
postponed = ""
publishing = ""
named_settings = ()
safety_settings = ()
measures_real_hardware = False
packages = ()
password_variable = ""
listens: Listens = "never"
answers_queries = False
server_program = None
own_quantities = {
    "tables.dead_tuples": Quantity("rows", "gauge", heading="Dead rows"),
    "tables.autovacuums": Quantity("1/s", "counter", event="autovacuum finished on a table"),
}
CHECKPOINT_EVERY = "simulated.checkpoint_every"
NO_CHECKPOINTS_S = 300.0
"""How long a checkpoint is waited for where the model makes none."""
_ERRORS: dict[str, ErrorClass] = {"40P01": "retry", "53300": "full"}
_WAITS: dict[str, WaitClass] = {
    "CPU": "cpu",
    "IO:DataFileRead": "data_read",
    "IO:WalSync": "log",
    "Lock:transactionid": "lock",
}


def major_version(settings: Sequence[Setting]) -> str:
    """Empty: a model has no versions."""
    return ""


def checkpoint_cycle_s(settings: Sequence[Setting]) -> float:
    """The model's time between checkpoints."""
    found = (float(setting.value) for setting in settings if setting.name == CHECKPOINT_EVERY)
    return next(found, 0.0) or NO_CHECKPOINTS_S


def error_class(code: str) -> ErrorClass:
    """By the codes that the model gives."""
    return _ERRORS.get(code, "other")


def wait_class(event: str) -> WaitClass:
    """By the names that the model gives."""
    return _WAITS.get(event, "other")
