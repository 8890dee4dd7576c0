"""The shelf of changes that a journal may record: one file per kind, with what it changed and how
that is undone.
"""

from __future__ import annotations

import json

from kneebench.errors import UnknownPart
from kneebench.lab.changes.change import Change
from kneebench.shelf import CHANGES

__all__ = ["Change", "kind", "read"]


def kind(name: str) -> type[Change]:
    """The class of changes of that kind; raises UnknownPart with the kinds there are."""
    found: type[Change] = CHANGES.module(name).KIND
    return found


def read(text: bytes) -> Change:
    """The change in a file of the journal.

    Raises ValueError for one that is damaged or of an unknown kind.
    """
    fields = json.loads(text)
    if not isinstance(fields, dict):
        raise ValueError("it is no JSON object")
    try:
        made = kind(str(fields.get("kind", "")))
    except UnknownPart as error:
        raise ValueError(str(error)) from error
    return made.model_validate(fields)
