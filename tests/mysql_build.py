"""The MySQL that `make debian` fetches."""

from __future__ import annotations

from pathlib import Path

import pytest

BIN = Path(__file__).parent.parent / ".tools" / "mysql" / "bin"
WITHOUT = pytest.mark.skipif(
    not (BIN / "mysqld").exists(), reason="make debian has fetched no MySQL (Maven brings it)"
)
