"""The plan's key `erase`: drives whose contents may be erased."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from kneebench.plan.values import Name, wrong

WWID = "WWIDs in quotes, as `kneebench drives` prints them"


def _each_is_one_drive(given: tuple[str, ...]) -> tuple[str, ...]:
    """None of them by accident, nor all by a pattern."""
    for name in given:
        if not name.strip() or name != name.strip() or re.search(r"[*?]", name):
            raise wrong(sentence=f"{WWID}: no empty text, no pattern, no space around it")
    if len(set(given)) < len(given):
        raise wrong(sentence="each drive once")
    return given


Erasable = Annotated[
    tuple[Name, ...],
    Field(
        max_length=100,
        description=(
            "Drives whose contents may be erased, by WWID (loop devices: by file); `run --erase`"
            " confirms it"
        ),
    ),
    AfterValidator(_each_is_one_drive),
]
