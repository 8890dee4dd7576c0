"""Rungs with other remarks, as tests need them."""

from __future__ import annotations

from kneebench.records import Remark, Rung, noted


def invalid(rung: Rung, words: str = "disturbed") -> Rung:
    """The rung, invalid for one reason, or valid where there are no words."""
    kept = tuple(one for one in rung.remarks if one.severity != "invalid")
    return rung.model_copy(update={"remarks": (*kept, *why_invalid(words))})


def why_invalid(words: str) -> tuple[Remark, ...]:
    """The remark; none without words."""
    return (Remark(kind="test", severity="invalid", words=words),) if words else ()


def with_notes(rung: Rung, *notes: str) -> Rung:
    """The rung with these notes alone."""
    return rung.model_copy(update={"remarks": noted("test", *notes)})
