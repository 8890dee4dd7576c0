"""The acceptance table of a plan: differences from a baseline that do not matter, and limits."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kneebench.plan.values import Number, Part, WhileSeconds


class Accept(Part):
    """Margins and limits of `kneebench accept`. A difference from the baseline within the margins
    counts as the same. Limits hold for every storage, whatever the baseline had.

    Margins are fractions, the same factor on either side of 1: 0.05 is 1/1.05 to 1.05 times the
    baseline.
    """

    margin: Annotated[
        Number,
        Field(
            gt=0,
            lt=1,
            description="Margin for NOPM or queries per hour, as a fraction of the baseline's",
        ),
    ] = 0.05
    latency_margin: Annotated[
        Number,
        Field(
            gt=0,
            lt=1,
            description="Margin for mean latency and log writes, as a fraction of the baseline's",
        ),
    ] = 0.10
    p999_margin: Annotated[
        Number,
        Field(
            gt=0,
            lt=1,
            description="Margin for P99.9 latency, as a fraction; tails repeat less well",
        ),
    ] = 0.25
    power_margin: Annotated[
        Number, Field(gt=0, lt=1, description="Margin for power per NOPM, as a fraction")
    ] = 0.05
    nopm_limit: Annotated[
        Annotated[Number, Field(gt=0)] | None, Field(description="Smallest NOPM accepted")
    ] = None
    latency_limit: Annotated[
        WhileSeconds | None,
        Field(description="Largest mean latency at the fixed rate accepted, such as 5ms"),
    ] = None
    p999_limit: Annotated[
        WhileSeconds | None,
        Field(description="Largest P99.9 latency at the fixed rate accepted"),
    ] = None
    log_write_limit: Annotated[
        WhileSeconds | None,
        Field(description="Largest mean log write accepted, at the fixed rate or else at the knee"),
    ] = None
    power_limit: Annotated[
        Annotated[Number, Field(gt=0)] | None,
        Field(description="Largest mW/NOPM accepted, whatever the baseline had"),
    ] = None

    @property
    def limits(self) -> dict[str, float | None]:
        """The limits by key; None: none."""
        keys = [key for key in type(self).model_fields if key.endswith("_limit")]
        return {key: getattr(self, key) for key in keys}
