"""Whether a storage is memory in truth."""

from __future__ import annotations

from kneebench.plan.default import MEMORY
from kneebench.plan.storage import Storage
from kneebench.records import Climb


def in_memory(storage: Storage | None, climb: Climb) -> bool:
    """Whether a configuration's files lay in memory: a path on tmpfs, or a note of a rung that says
    so.
    """
    paths = [path for path in (storage.path, storage.log_path) if path] if storage else []
    notes = " ".join(note for rung in climb.rungs for note in rung.notes).lower()
    backed = any(MEMORY in (path, *path.parents) for path in paths)
    return backed or "tmpfs" in notes or "memory-backed" in notes
