"""The JSON Schema of every document in a campaign's folder, for those who read results with other
tools.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from kneebench.results.formats import DOCUMENTS, FORMAT

FILE = Path(__file__).with_name("schemas.json")

SERIES = {
    "at_s": "DOUBLE",
    "quantity": "VARCHAR",
    "source": "VARCHAR",
    "unit": "VARCHAR",
    "value": "DOUBLE",
}
"""Columns of series/<order key>.parquet; `at_s` counts from the rung's start."""

SECONDS = {
    "at_s": "INTEGER",
    "transaction": "VARCHAR",
    "committed": "BIGINT",
    "rolled_back": "BIGINT",
    "failed": "BIGINT",
    "unknown": "BIGINT",
    "mean_s": "DOUBLE",
    "p50_s": "DOUBLE",
    "p99_s": "DOUBLE",
    "p999_s": "DOUBLE",
    "max_s": "DOUBLE",
    "histogram": "VARCHAR",
}
"""Columns of seconds/<order key>.parquet; `at_s` counts from go, `histogram` is HDR V2 in base64.
"""

SWEEP = {
    "sweep": "VARCHAR",
    "storage": "VARCHAR",
    "database": "VARCHAR",
    "configuration": "VARCHAR",
    "reference": "BOOLEAN",
    "memory_bytes": "BIGINT",
    "engine_memory_bytes": "BIGINT",
    "cores": "INTEGER",
    "databases": "INTEGER",
    "users": "DOUBLE",
    "nopm": "DOUBLE",
    "nopm_low": "DOUBLE",
    "nopm_high": "DOUBLE",
    "runs": "INTEGER",
    "relative": "DOUBLE",
    "relative_low": "DOUBLE",
    "relative_high": "DOUBLE",
    "bound": "VARCHAR",
    "read_bytes_per_s": "DOUBLE",
    "write_bytes_per_s": "DOUBLE",
    "busy": "DOUBLE",
    "least_busy_core": "DOUBLE",
    "cache_hit_share": "DOUBLE",
    "read_bytes_per_transaction": "DOUBLE",
    "still_warming": "VARCHAR",
}
"""Columns of a table of sweeps (analysis/sweep_rows.py, SweepRow); NULL where something was not
measured."""


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """All of them, by kind. `make docs` writes the file: making them takes half a second.

    >>> list(schemas())
    ['campaign', 'rung', 'climb', 'conditions', 'finished']
    """
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def made_schemas() -> dict[str, dict[str, Any]]:
    """The same, made of the records as the code has them."""
    return {
        kind: {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$comment": f"kneebench results, format {FORMAT}",
            **document.model_json_schema(
                mode="serialization" if kind == "campaign" else "validation"
            ),
        }
        for kind, document in DOCUMENTS.items()
    }
