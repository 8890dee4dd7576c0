"""Passwords of meters: from the environment, or from a file that nobody else can read. They are in
no plan and in no result.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

from kneebench.errors import PlanError
from kneebench.plan.power import MeterLogIn

MOST_BYTES = 4096


def password(table: MeterLogIn, meter: str) -> str:
    """The password of a meter; empty where its table names no place. Raises PlanError for one that
    is not there, or that others can read.
    """
    if name := table.password_variable:
        return _of_variable(name, meter)
    return _of_file(table.password_file, meter) if table.password_file else ""


def log_in(table: MeterLogIn, secret: str) -> dict[str, str]:
    """The header of a request by HTTP; empty without a user."""
    given = base64.b64encode(f"{table.user}:{secret}".encode()).decode()
    return {"Authorization": f"Basic {given}"} if table.user else {}


def only_encrypted(url: str, secret: str, meter: str) -> None:
    """Raises PlanError where a password would be sent by HTTP."""
    if secret and not url.startswith("https://"):
        do = "use https://, so that its password is not sent in the clear"
        raise PlanError(f"power meter {meter}", seen="its address is not encrypted", do=do)


def _of_variable(name: str, meter: str) -> str:
    if not (found := os.environ.get(name, "")):
        seen, do = f"the environment has no {name}", f"set {name}, or name a password_file"
        raise PlanError(f"power meter {meter}", seen=seen, do=do)
    return found


def _of_file(file: Path, meter: str) -> str:
    what = f"power meter {meter}: password_file {file}"
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        seen = error.strerror or str(error)
        raise PlanError(what, seen=seen, do="write the password into it, mode 0600") from None
    try:
        others = os.fstat(handle).st_mode & 0o077
        if others:
            seen = f"its mode is {os.fstat(handle).st_mode & 0o777:04o}: others can read it"
            raise PlanError(what, seen=seen, do=f"chmod 600 {file}")
        found = os.read(handle, MOST_BYTES).decode(errors="replace").strip()
    finally:
        os.close(handle)
    if not found:
        raise PlanError(what, seen="it is empty", do="write the password into it")
    return found
