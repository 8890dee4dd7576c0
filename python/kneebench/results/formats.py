"""The documents on disk: their format number, how an old one becomes a current one, and what a damaged one says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from kneebench.errors import KneebenchError
from kneebench.records import Campaign, Climb, Record, Rung
from kneebench.results.whole import write_text
from kneebench.secrets import clean

FORMAT = 1
Document = dict[str, Any]
UPGRADES: dict[int, Callable[[Document], Document]] = {}
"""By old format number: what turns a document of that format into one of the next. Each format that was ever released has one."""


class KeptRung(Record):
    """rungs/<order key>.json: `number` is its place in the order in which the campaign measured."""

    format: int = FORMAT
    number: int
    rung: Rung


class KeptClimb(Record):
    """climbs/<cell id>.json: the climb without its rungs, which have files of their own."""

    format: int = FORMAT
    climb: Climb


class Finished(Record):
    """finished.json: everything that the plan asked for was measured. `exit_code` as on the command line (errors.py); `rungs`: how many
    files there were then, 0 in campaigns of old."""

    format: int = FORMAT
    at: str
    exit_code: int = 0
    rungs: int = 0


DOCUMENTS: dict[str, type[Record]] = {"campaign": Campaign, "rung": KeptRung, "climb": KeptClimb, "finished": Finished}
Kept = TypeVar("Kept", bound=Record)


def current(document: Document, file: Path, upgrades: Mapping[int, Callable[[Document], Document]] = UPGRADES) -> Document:
    """The document in the current format; a newer format than ours, or one that nothing upgrades, is refused."""
    while (number := document.get("format")) != FORMAT:
        doing = f"reading {file}"
        if not isinstance(number, int):
            raise KneebenchError(doing, seen=f"its format is {number!r}, not a number", do="restore the file from a copy, or remove it")
        if number > FORMAT:
            raise KneebenchError(
                doing, seen=f"its format {number} is newer than {FORMAT}, the newest that this kneebench knows", do="install a newer kneebench"
            )
        if number not in upgrades:
            raise KneebenchError(doing, seen=f"nothing upgrades its format {number}", do="read it with the kneebench that wrote it")
        document = {**upgrades[number](document), "format": number + 1}
    return document


def read_kept(file: Path, kind: type[Kept]) -> Kept:
    """A document of this kind from its file; a file that is damaged gives an error that names it."""
    doing, do = f"reading {file}", "restore the file from a copy, or remove it where the campaign is unfinished: what it held is then measured again"
    try:
        written = file.read_bytes()
        document = json.loads(written)
    except OSError as error:
        raise KneebenchError(doing, seen=error.strerror or str(error), do="name a campaign's folder") from error
    except ValueError as error:
        raise KneebenchError(doing, seen=f"the file is damaged ({error})", do=do) from error
    if not isinstance(document, dict):
        raise KneebenchError(doing, seen="the file is damaged (no JSON object)", do=do)
    try:
        upgraded = current(document, file)
        return kind.model_validate_json(written if upgraded is document else json.dumps(upgraded))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise KneebenchError(doing, seen=f"the file is damaged ({where}: {first['msg']})", do=do) from error


def write_kept(file: Path, document: Record) -> None:
    """Write a document whole or not at all, with no password in it."""
    write_text(file, json.dumps(clean(document.model_dump(mode="json")), ensure_ascii=False, indent=1) + "\n")
