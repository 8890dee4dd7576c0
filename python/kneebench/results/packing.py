"""Packing: a campaign becomes a result archive, with its names or with stand-ins."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kneebench.errors import KneebenchError, Refused
from kneebench.plan.values import ARCHIVE
from kneebench.records import Results
from kneebench.results.archive import entries, write_archive
from kneebench.results.campaign_reader import load
from kneebench.results.lock import held
from kneebench.results.private_names import names_of_this_machine
from kneebench.results.redaction import Replacement, redacted, redaction_of


class Packed(NamedTuple):
    """A result archive, and what was replaced in it."""

    file: Path
    replaced: tuple[Replacement, ...] = ()


def pack(results: Results, file: Path | None = None, *, redact: bool = False) -> Packed:
    """Write a campaign's result archive: to a file, or here under the id that is in it.

    Raises Refused while the campaign is measured or where the file is there already, and
    KneebenchError where a redacted campaign could not be read.
    """
    folder = results.folder
    if folder is None:
        raise KneebenchError(
            "cannot pack a campaign", seen="it has no folder", do="load it from one"
        )
    if held(folder):
        seen, do = "a kneebench run writes to it", "wait for it to finish"
        raise Refused(f"cannot read {folder}", seen=seen, do=do)
    if not redact:
        file = file or _named(results.campaign.id)
        write_archive(file, entries(folder))
        return Packed(file)
    found = list(entries(folder))
    redaction = redaction_of(folder, found, names_of_this_machine())
    file = file or _named(redaction.text(results.campaign.id))
    write_archive(file, redacted(folder, found, redaction))
    try:
        load(file)
    except KneebenchError as error:
        file.unlink()
        seen = f"with stand-ins it could not be read ({error.seen})"
        do = "give storages and hosts names that are no words of the results' format"
        raise KneebenchError(f"cannot write {file}", seen=seen, do=do) from error
    return Packed(file, redaction.replaced)


def _named(id: str) -> Path:
    return Path(f"{id}{ARCHIVE}")
