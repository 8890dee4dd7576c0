"""Parameters of tests: some always, all with --long."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some(values: Iterable[Any], always: Collection[Any]) -> list[Any]:
    """All values as parameters; those that do not always run are marked as long."""
    found = list(values)
    assert set(always) <= set(found), "a value that always runs is none of the parameters"
    long = [pytest.mark.long]
    return [pytest.param(one, marks=[] if one in always else long) for one in found]
