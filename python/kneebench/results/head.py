"""The head of a campaign's folder: made when the campaign begins, read when others need it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from kneebench.errors import KneebenchError
from kneebench.lab.host import kneebench_version
from kneebench.plan.study import Study
from kneebench.records import Campaign, Host
from kneebench.results.formats import read_kept
from kneebench.started import recorded_command_line
from kneebench.visible import is_plain

LONGEST_ID = 200
"""Bytes of an id: an ending can follow it in the name of a file."""
LONGEST_SHOWN = 60
"""Characters of an unfit id in its error."""


def new_head(
    name: str,
    study: Study,
    host: Host,
    at: datetime,
    *,
    command: str = "",
    notes: Sequence[str] = (),
) -> Campaign:
    """That of a campaign of this plan, which begins now; `command`: this process's own if empty."""
    return Campaign(
        id=name,
        kneebench=kneebench_version(),
        started_at=at.isoformat(timespec="seconds"),
        plan=study.document,
        resolved=study.resolved,
        host=host,
        simulated=not study.measures_real_hardware,
        command=command or recorded_command_line(),
        notes=tuple(notes),
    )


def read_head(folder: Path) -> Campaign:
    """That of a folder; an error names a file that is damaged, or has an id that is no name of one
    folder: whoever made it, files are named after it.
    """
    file = folder / "campaign.json"
    head = read_kept(file, Campaign)
    if not _names_a_folder(head.id):
        seen = f"its id is {head.id[:LONGEST_SHOWN]!r}, which is no folder's name"
        raise KneebenchError(f"cannot read {file}", seen=seen, do="restore the file from a copy")
    return head


def study_of(campaign: Campaign) -> Study:
    """The study that is measured into a campaign. Raises KneebenchError for a plan of another
    version.
    """
    try:
        return Study.kept(campaign.plan)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise KneebenchError(
            f"cannot read the plan of {campaign.id}",
            seen=f"{'.'.join(map(str, first['loc']))}: {first['msg']}",
            do="use the kneebench version that measured it, or measure again",
        ) from None


def _names_a_folder(name: str) -> bool:
    if not name or name.startswith((".", "-")) or "/" in name:
        return False
    return is_plain(name) and len(os.fsencode(name)) <= LONGEST_ID
