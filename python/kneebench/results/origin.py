"""Whose campaign a folder is: its plan is run again, and it is resumed, only as one of our own.

Whoever made a folder chose every key of its plan. So when a campaign is recorded, a code of its id,
its time and its plan is put beside its head, made with a key that only the state directory of this
user has (HMAC-SHA256), and with the number of this machine. A folder of another user or machine, or
with another plan in its head, has no such code; nor has one of a time before there were codes, or
whose state directory was lost. They can all be read.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import stat
from pathlib import Path

from kneebench.directories import make_private, state_directory
from kneebench.errors import KneebenchError
from kneebench.lab.host import machine_number
from kneebench.records import Campaign
from kneebench.regular_file import content
from kneebench.results.atomic_write import write_text
from kneebench.secrets import clean

FILE = "origin"
KEY = "origin.key"
NOT_OWN = "is not a campaign that this user recorded on this machine"
_KEY_BYTES = 32


def sign(folder: Path, campaign: Campaign) -> None:
    """Record that a campaign, as its head has it now, is our own."""
    kept = clean(campaign.plan)
    write_text(folder / FILE, f"{_code(_key(make=True), campaign, kept)}\n")


def is_own(folder: Path | None, campaign: Campaign) -> bool:
    """Whether this user recorded a campaign on this machine, with this plan as its head has it:
    what others put in place of a password that was taken out is another plan.
    """
    try:
        kept = content((folder or Path()) / FILE, 100).decode("ascii").strip()
        return hmac.compare_digest(kept, _code(_key(make=False), campaign, campaign.plan))
    except (KneebenchError, OSError, ValueError, RuntimeError):
        return False


def _code(key: bytes, campaign: Campaign, plan: object) -> str:
    said = [machine_number(), os.geteuid(), campaign.id, campaign.started_at, plan]
    text = json.dumps(said, sort_keys=True)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _key(*, make: bool) -> bytes:
    """This user's. Raises KneebenchError or OSError where there is none that only we can read."""
    file = make_private(state_directory()) / KEY
    if make and not os.path.lexists(file):
        _make(file)
    seen = file.lstat()
    if seen.st_uid != os.geteuid() or stat.S_IMODE(seen.st_mode) & 0o077:
        do = "remove it: campaigns from before are then like those of others"
        raise KneebenchError(f"cannot use {file}", seen="others could read it", do=do)
    key = content(file, _KEY_BYTES)
    if len(key) != _KEY_BYTES:
        raise KneebenchError(f"cannot use {file}", seen="it is damaged", do="remove it")
    return key


def _make(file: Path) -> None:
    """A new key, there as a whole or not at all; that of another process stays."""
    draft = file.with_name(f"{KEY}.{os.getpid()}-{secrets.token_hex(4)}.draft")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(secrets.token_bytes(_KEY_BYTES))
            out.flush()
            os.fsync(handle)
        with contextlib.suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink(missing_ok=True)
