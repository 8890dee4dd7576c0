"""Extras: packages that are needed only for some work and are installed only when wanted."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from shutil import which

from kneebench.errors import PlanError

MODULES = {
    "live": ("fastapi", "prometheus_client", "uvicorn"),
    "pdf": ("typst",),
    "power": ("cryptography", "pysnmp"),
    "ray": ("ray",),
}
"""The modules that each extra of pyproject.toml installs."""
_RECEIPT, _PIPX = "uv-receipt.toml", "pipx_metadata.json"
"""Files of the environments that `uv tool install` and `pipx install` make."""


def require_extra(extra: str, what: str) -> None:
    """Raises PlanError where a module of the extra is not installed, with the command that installs
    it. `what` needs it.
    """
    if missing := _missing(extra):
        raise PlanError(
            what,
            seen=f"the package {missing[0].replace('_', '-')} is not installed",
            do=f"install it with: {install_command(extra)}",
        )


def install_command(extra: str) -> str:
    """The command that adds an extra to this installation, by the program that made it.

    `uv tool install` makes the environment again, so its command names the extras that are there,
    and the file that kneebench was installed from. The others find kneebench where it is.
    """
    prefix = Path(sys.prefix)
    if (prefix / _RECEIPT).exists():
        there = ",".join(one for one in MODULES if one == extra or not _missing(one))
        return f"{_uv()} tool install {quote(f'kneebench[{there}]{_origin()}')}"
    wanted = quote(f"kneebench[{extra}]")
    if (prefix / _PIPX).exists():
        return f"pipx inject kneebench {wanted}"
    python = quote(sys.executable)
    if find_spec("pip") is None:
        return f"{_uv()} pip install --python {python} {wanted}"
    return f"{python} -m pip install {wanted}"


def _uv() -> str:
    """uv where the shell finds it, else what fetches it."""
    return "uv" if which("uv") else "pip install uv && uv"


def _missing(extra: str) -> list[str]:
    return [name for name in MODULES[extra] if find_spec(name) is None]


def _origin() -> str:
    """The file that kneebench was installed from, as a requirement ends; empty for an index."""
    try:
        written = distribution("kneebench").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    return f" @ {json.loads(written)['url']}" if written else ""
