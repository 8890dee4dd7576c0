"""What a value of the plan may be: text, numbers, times, places.

A value of another kind is an error that names its line.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, Strict
from pydantic_core import PydanticCustomError

from kneebench.records import Record
from kneebench.units import Seconds
from kneebench.visible import is_plain

PLAIN = "one line of text without control characters"
WEEK_S, MONTH_S = 7 * 86_400.0, 30 * 86_400.0
_PART_BYTES, _PATH_BYTES = 255, 4000
"""Of a name in a directory, and of a whole path with what kneebench adds to it (limits.h)."""
LATEST = "latest"
"""The newest campaign, wherever a campaign is named."""
ARCHIVE = ".kneebench"
"""Ending of a result archive's name, which no folder of a campaign has."""
_CORES = 8192
"""The most that Linux can be built for (NR_CPUS)."""


class Part(Record):
    """A table of the plan; unknown keys are refused."""


def wrong(*key: str | int, sentence: str) -> PydanticCustomError:
    """An error of a rule that spans fields: `key` is the path of the key that the reader points at,
    `sentence` what is allowed.
    """
    return PydanticCustomError("rule", "{sentence}", {"key": key, "sentence": sentence})


def _plain(text: str) -> str:
    if not is_plain(text):
        raise wrong(sentence=PLAIN)
    return text


def _told(text: str) -> str:
    if not text.strip():
        raise wrong(sentence="a text that is not empty")
    return text


def _folder_name(text: str) -> str:
    if text and not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", text):
        raise wrong(sentence='letters and digits, with "-", "_" or "." between them')
    if text == LATEST:
        raise wrong(sentence=f"another name: {LATEST} is the newest campaign")
    if text.endswith(ARCHIVE):
        raise wrong(sentence=f"another name: what ends in {ARCHIVE} is a result archive")
    return text


def _shell(text: str) -> str:
    _plain(re.sub(r"[\n\r\t]", " ", text))
    return text


def _usable(path: Path) -> Path:
    if not is_plain(str(path)):
        raise wrong(sentence=f"a path: {PLAIN}")
    if len(os.fsencode(path)) > _PATH_BYTES or any(
        len(os.fsencode(part)) > _PART_BYTES for part in path.parts
    ):
        raise wrong(
            sentence=f"a path of at most {_PATH_BYTES} bytes, and {_PART_BYTES} bytes per component"
        )
    return path


Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
Switch = Annotated[bool, Strict()]
Text = Annotated[str, Field(max_length=4000), AfterValidator(_plain)]
Sentence = Annotated[str, Field(max_length=500), AfterValidator(_plain)]
Note = Annotated[Sentence, AfterValidator(_told)]
Name = Annotated[str, Field(max_length=100), AfterValidator(_plain)]
FolderName = Annotated[str, Field(max_length=29), AfterValidator(_folder_name)]
"""Part of a folder's name: with a date it has 40 characters."""
Shell = Annotated[str, AfterValidator(_shell)]
Directory = Annotated[Path, AfterValidator(_usable)]
Cores = Annotated[tuple[Annotated[Whole, Field(ge=0, lt=_CORES)], ...], Field(max_length=1024)]
WhileSeconds = Annotated[Seconds, Field(gt=0, le=WEEK_S)]
"""How long something is done or waited for, which is never nothing."""
