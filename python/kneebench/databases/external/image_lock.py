"""The lock of a base image on a server: one run at a time uses the image."""

from __future__ import annotations

from kneebench.errors import Refused

KILLED_S = 3
"""Within this time, a busy server ends the session of a run that was killed, and frees its lock."""


def not_locked(image: str) -> str:
    """What failed, for errors."""
    return f"cannot lock the base image {image}"


def in_use(image: str) -> Refused:
    """The error where another run still holds it."""
    return Refused(
        not_locked(image),
        seen="another kneebench run uses it",
        do="wait for it to finish, or use another server",
    )
