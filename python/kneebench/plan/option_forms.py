"""The forms that an option of a program may have in a plan: a name, alone or with a kind of value.

A plan names its drives under `drives` and nowhere else, so no kind of value is a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

KINDS = {
    "NUMBER": r"[0-9]{1,15}",
    "PERCENT": r"[0-9]{1,2}(\.[0-9]{1,3})?",
    "SIZE": r"[0-9]{1,15}[KMGTkmgt]?",
    "UNITS": r"[0-9]{1,15}[BSKMGTbskmgt]?",
    "LABEL": r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,11}",
    "COMPRESSION": r"no|lzo|zlib(:[0-9])?|zstd(:-?[0-9]{1,2})?",
}
"""Patterns of values by kind. A size is in bytes, or has a unit of 1024; UNITS may also be blocks
(b) or sectors (s). A label of 12 characters suits every file system."""


def has_form(option: str, forms: Iterable[str]) -> bool:
    """Whether an option has one of these forms. Square brackets: the value may be left out.

    >>> forms = ("noalign", "agcount=NUMBER", "barrier[=0|1]")
    >>> has_form("agcount=8", forms), has_form("agcount", forms), has_form("agcount=x", forms)
    (True, False, False)
    >>> has_form("noalign", forms), has_form("barrier", forms), has_form("barrier=2", forms)
    (True, True, False)
    """
    name, equals, value = option.partition("=")
    for form in forms:
        known, _, kind = form.replace("[", "").rstrip("]").partition("=")
        bare = not kind or form.endswith("]")
        if name == known and (fits(value, kind) if equals and kind else bare and not equals):
            return True
    return False


def fits(value: str, kind: str) -> bool:
    """Whether a value is of that kind, or one of the words that it lists.

    >>> fits("64k", "SIZE"), fits("/dev/sda", "SIZE"), fits("v2", "v1|v2"), fits("v3", "v1|v2")
    (True, False, True, False)
    """
    if kind in KINDS:
        return re.fullmatch(KINDS[kind], value) is not None
    return value in kind.split("|")


def shown(word: str) -> str:
    """A plan's word in a message, in quotes and no longer than a line.

    >>> shown("-Kf")
    '"-Kf"'
    """
    return f'"{word}"' if len(word) <= 60 else f'"{word[:57]}..."'
