"""What all records have in common, and the words that several of them use."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

TRANSACTIONS = ("new_order", "payment", "order_status", "delivery", "stock_level")
Phase = Literal[
    "warm_up", "search", "bisection", "drift_check", "fixed_load", "final_run", "fixed_rate"
]
Role = Literal["data", "log", "temporary files"]
"""What a directory of a server, or the volume under it, holds."""
Scope = Literal["wall", "dc", "cpu", "drive"]
"""What a meter of power measures: all that is plugged in at the wall, what is behind the power
supplies, processors with their memory, or drives."""
Verdict = Literal["suspected", "proved", "refuted"]
"""Of a resource that was short: seen only, or also relieved."""


class Record(BaseModel):
    """A frozen value; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")

    def __dir__(self) -> list[str]:
        """Names for tab completion: the record's fields and the two ways to JSON, without those of
        pydantic.
        """
        own = {*super().__dir__()} - {*dir(BaseModel)} | {"model_dump", "model_dump_json"}
        return sorted(name for name in own if not name.startswith("_"))
