"""The documents on disk: their format number, how an old one becomes a current one, and what a
damaged one says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from kneebench.errors import KneebenchError
from kneebench.plan.plan import Workload
from kneebench.records import Campaign, Check, Climb, Order, Record, Rung
from kneebench.regular_file import content
from kneebench.results.agreement import disagreement
from kneebench.results.allowance import MOST_DOCUMENT_BYTES, Allowance
from kneebench.results.atomic_write import write_text
from kneebench.results.upgrades import UPGRADES, Document
from kneebench.secrets import clean

FORMAT = 5
NEWER = "install a newer kneebench"
"""What to do about a newer format: in an archive, too."""
LONGEST_WORDS = 300
"""Characters of a damaged file's own words that a message repeats."""


class KeptRung(Record):
    """rungs/<order key>.json: a rung, and when the campaign measured it."""

    format: int = FORMAT
    """Number of the document's format."""
    number: int
    """Place in the order in which the campaign measured, from 1."""
    rung: Rung
    """Rung with all but its seconds and series."""


class KeptClimb(Record):
    """climbs/<configuration id>.json: the climb without its rungs and without the checks after
    final runs, which have files of their own.
    """

    format: int = FORMAT
    """Number of the document's format."""
    climb: Climb
    """Climb as it ended."""


class KeptConditions(Record):
    """conditions/<order key>.json: the consistency conditions, checked after a final run."""

    format: int = FORMAT
    """Number of the document's format."""
    last: Order
    """Order of the rung that the final run measured last."""
    checks: tuple[Check, ...]
    """Check of each condition."""


class Finished(Record):
    """finished.json: everything that the plan asked for was measured."""

    format: int = FORMAT
    """Number of the document's format."""
    at: str
    """Time of day when everything was measured."""
    exit_code: int = 0
    """Exit code of the run, as on the command line (docs/cli.md)."""
    rungs: int = 0
    """Number of files in rungs/ at that time; 0 in old formats."""
    awaits_brief: bool = False
    """Whether a brief was due; if it is missing, writing it was interrupted."""
    finding: str = ""
    """Finding in a line, with its interval; empty in older campaigns."""


DOCUMENTS: dict[str, type[Record]] = {
    "campaign": Campaign,
    "rung": KeptRung,
    "climb": KeptClimb,
    "conditions": KeptConditions,
    "finished": Finished,
}
INNER = (KeptRung, KeptClimb, KeptConditions)
"""Documents in a directory of the campaign's folder; the others are in the folder itself."""
Kept = TypeVar("Kept", bound=Record)


def current(
    document: Document,
    file: Path,
    upgrades: Mapping[int, Callable[[Document], Document]] = UPGRADES,
) -> Document:
    """The document in the current format; a newer format than ours, or one that nothing upgrades,
    is refused.
    """
    while (number := document.get("format")) != FORMAT:
        what = f"cannot read {file}"
        if not isinstance(number, int):
            raise KneebenchError(
                what,
                seen=f"format {repr(number)[:LONGEST_WORDS]} is not a number",
                do="restore the file from a copy, or remove it",
            )
        if number > FORMAT:
            raise KneebenchError(
                what,
                seen=(
                    f"format {number} is newer than {FORMAT}, the newest that this kneebench"
                    " version reads"
                ),
                do=NEWER,
            )
        if number not in upgrades:
            raise KneebenchError(
                what,
                seen=f"no upgrade for format {number}",
                do="read it with the kneebench version that wrote it",
            )
        try:
            document = {**upgrades[number](document), "format": number + 1}
        except (KeyError, TypeError, AttributeError) as error:
            raise damaged(file, f"{type(error).__name__}: {error}") from error
    return document


def damaged(file: Path, what: str) -> KneebenchError:
    """The error that names a damaged file; of what was found, no more than fits a message."""
    what = what if len(what) <= LONGEST_WORDS else f"{what[:LONGEST_WORDS]}..."
    do = (
        "restore the file from a copy; in an unfinished campaign, remove it to measure its content"
        " again"
    )
    return KneebenchError(f"cannot read {file}", seen=f"the file is damaged ({what})", do=do)


def read_kept(file: Path, kind: type[Kept], allowance: Allowance | None = None) -> Kept:
    """A document of this kind from its file; a file that is damaged, or no regular file, gives an
    error that names it. `allowance`: what the folder's documents may have together.
    """
    what = f"cannot read {file}"
    try:
        written = content(file, MOST_DOCUMENT_BYTES, inner=kind in INNER)
        (allowance or Allowance()).take(file, written)
        document = json.loads(written)
    except OSError as error:
        raise KneebenchError(
            what, seen=error.strerror or str(error), do="use a campaign folder"
        ) from error
    except (ValueError, RecursionError) as error:
        raise damaged(file, str(error)) from error
    if not isinstance(document, dict):
        raise damaged(file, "not a JSON object")
    try:
        upgraded = current(document, file)
        return kind.model_validate_json(written if upgraded is document else json.dumps(upgraded))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise damaged(file, f"{where}: {first['msg']}") from error


def read_rung(
    file: Path, workload: Workload | None, allowance: Allowance | None = None
) -> KeptRung:
    """A rung's file; an error names one that disagrees with itself."""
    kept = read_kept(file, KeptRung, allowance)
    if found := disagreement(kept.rung, workload):
        raise damaged(file, f"it contradicts itself: {found}")
    return kept


def write_kept(file: Path, document: Record) -> None:
    """Write a document whole or not at all."""
    write_text(file, kept_text(document))


def kept_text(document: Record) -> str:
    """A document as it is written, with no password in it."""
    found = clean(document.model_dump(mode="json"))
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"
