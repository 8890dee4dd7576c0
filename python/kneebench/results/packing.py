"""Packing: a campaign becomes a result archive, with its names or with stand-ins."""

from __future__ import annotations

from pathlib import Path

from kneebench.errors import KneebenchError, Refused
from kneebench.records import Results
from kneebench.results.archive import entries, write_archive
from kneebench.results.campaign_reader import load
from kneebench.results.lock import held
from kneebench.results.private_names import names_of_this_machine
from kneebench.results.redaction import Replacement, redacted, redaction_of


def pack(results: Results, file: Path, *, redact: bool = False) -> tuple[Replacement, ...]:
    """Write a campaign's result archive and give what `redact` replaced.

    Raises Refused while the campaign is measured or where the file is there already, and
    KneebenchError where a redacted campaign could not be read.
    """
    folder = results.folder
    if folder is None:
        raise KneebenchError(
            f"cannot write {file}", seen="the campaign has no folder", do="load it from one"
        )
    if held(folder):
        seen, do = "a kneebench run writes to it", "wait for it to finish"
        raise Refused(f"cannot read {folder}", seen=seen, do=do)
    if not redact:
        write_archive(file, entries(folder))
        return ()
    found = list(entries(folder))
    redaction = redaction_of(folder, found, names_of_this_machine())
    write_archive(file, redacted(folder, found, redaction))
    try:
        load(file)
    except KneebenchError as error:
        file.unlink()
        seen = f"with stand-ins it could not be read ({error.seen})"
        do = "give storages and hosts names that are no words of the results' format"
        raise KneebenchError(f"cannot write {file}", seen=seen, do=do) from error
    return redaction.replaced
