"""Options of mkfs and mount, and sysctls, that a plan may have: `allowed.toml`, read once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

LARGEST = {"int": 2**31 - 1, "long": 2**63 - 1}
"""The largest value of a setting that the kernel keeps as an int, or as a long."""
Known = Mapping[str, tuple[str, ...] | str]
"""Options by name, each with the forms of the entries of its list, or with its kind of value; an
empty kind is an option without a value."""


class AllowedOptions(NamedTuple):
    """What a plan may have; the reasons are in the file."""

    mkfs: Mapping[str, Known]
    """By file system."""
    mkfs_names: Mapping[str, Mapping[str, str]]
    """Other names of options, by file system."""
    mount: Mapping[str, tuple[str, ...]]
    """By file system; "any" has those of all."""
    refused_sysctls: Mapping[str, tuple[str, ...]]
    """Patterns that are refused, by what each does."""
    sysctls: Mapping[str, tuple[int, int]]
    """Least and most value."""


@cache
def read_allowed() -> AllowedOptions:
    """All of the file."""
    found = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    mkfs = {
        kind: {name: _words(one) if isinstance(one, str) else one["is"] for name, one in of.items()}
        for kind, of in found["mkfs"].items()
    }
    mount, refused = (
        {name: _words(one) for name, one in found[key].items()}
        for key in ("mount", "refused_sysctls")
    )
    ranges = {name: _range(*one.split()) for name, one in found["sysctls"].items()}
    return AllowedOptions(mkfs, found["mkfs_names"], mount, refused, ranges)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _range(least: str, most: str) -> tuple[int, int]:
    return int(least), LARGEST.get(most) or int(most)
