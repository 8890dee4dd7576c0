"""The lock of a base image on a server: one run at a time uses the image."""

from __future__ import annotations

from kneebench.errors import Refused

KILLED_S = 3
"""Within this time, a busy server ends the session of a run that was killed, and frees its lock."""


def locking(image: str) -> str:
    """What is being done, for errors."""
    return f"locking the base image {image}"


def in_use(image: str) -> Refused:
    """The error where another run still holds it."""
    return Refused(
        locking(image),
        seen="another kneebench run uses it",
        do="wait for it to finish, or use another server",
    )
