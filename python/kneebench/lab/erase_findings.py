"""Findings on the drives that a plan allows to be erased; nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.errors import KneebenchError
from kneebench.lab.inventory import identities, named
from kneebench.plan.study import Study
from kneebench.records import Finding


def erase_findings(study: Study) -> Iterator[Finding]:
    """Warnings of entries of `erase` that allow nothing, because no storage of the plan has such a
    drive.
    """
    try:
        here = identities() if study.erase and study.drives else []
        there = [named(here, name) for name in study.drives] if here else []
    except KneebenchError:  # said by the volume's own findings
        return
    wwids = {drive.path: drive.wwid for drive in there}
    for entry in study.erase:
        if entry in wwids.values():
            continue
        do = "remove it, or name the WWID of a drive in [storages] (`kneebench drives` prints it)"
        if own := wwids.get(entry) or wwids.get(f"/dev/{entry}"):
            do = f'name the WWID of that drive: "{own}"'
        seen = (
            f'no storage of the plan has a drive with the WWID "{entry}": nothing is erased by it'
        )
        yield Finding(level="warning", subject="erase", seen=seen, do=do)
