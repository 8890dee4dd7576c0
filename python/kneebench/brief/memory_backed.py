"""Whether a storage is memory in truth."""

from __future__ import annotations

from kneebench.plan.default import MEMORY
from kneebench.plan.storage import Storage
from kneebench.records import Climb


def in_memory(storage: Storage | None, climb: Climb) -> bool:
    """Whether a configuration's files lay in memory: a path on tmpfs, or a remark of a rung."""
    paths = [path for path in (storage.path, storage.log_path) if path] if storage else []
    backed = any(MEMORY in (path, *path.parents) for path in paths)
    kinds = {one.kind for rung in climb.rungs for one in rung.remarks}
    return backed or "memory_backed" in kinds
