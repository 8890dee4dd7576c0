"""The toy engine, put on the shelf beside the engines that come with kneebench."""

from __future__ import annotations

from pathlib import Path

import pytest

import kneebench.databases.engines


def put_on_the_shelf(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A folder `toy` beside the other engines': nothing else in kneebench knows it."""
    (folder / "toy").mkdir(parents=True)
    for module in ("__init__", "engine", "properties", "table"):
        (folder / "toy" / f"{module}.py").write_text("from tests.toy_engine import *\n")
    patch.setattr(
        kneebench.databases.engines,
        "__path__",
        [*kneebench.databases.engines.__path__, str(folder)],
    )
