"""The stop conditions of a plan: what ends a climb."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kneebench.plan.values import Number, Part, WhileSeconds, Whole


class Plateau(Part):
    """Stop when throughput no longer grows with users."""

    elasticity: Annotated[
        Number,
        Field(
            gt=0,
            lt=1,
            description=(
                "Elasticity of throughput, ln(X2/X1) / ln(N2/N1), between neighbouring rungs"
            ),
        ),
    ] = 0.07
    steps: Annotated[
        Whole, Field(ge=1, le=5, description="Consecutive steps below that elasticity")
    ] = 2


class LogLatency(Part):
    """Stop when the database waits too long for its log."""

    limit: Annotated[
        WhileSeconds,
        Field(
            description=(
                "Limit for the mean of write plus sync over 10 s, exceeded in two of three windows;"
                " over the whole window if it is below 15 s"
            )
        ),
    ] = 0.005


class Saturation(Part):
    """Stop when the database's cores are saturated and throughput has nearly stopped growing."""

    busy: Annotated[
        Number, Field(gt=0, le=1, description="Utilization that every database core must reach")
    ] = 0.97
    elasticity: Annotated[
        Number, Field(gt=0, lt=1, description="Elasticity of throughput below which the climb ends")
    ] = 0.10


class Errors(Part):
    """Stop when transactions fail."""

    share: Annotated[
        Number,
        Field(
            ge=0, lt=1, description="Failed or unknown transactions as a fraction of all started"
        ),
    ] = 0.01


class Stops(Part):
    """Stop conditions: one table each; the first that fires ends the climb."""

    plateau: Plateau = Plateau()
    log_latency: LogLatency = LogLatency()
    saturation: Saturation = Saturation()
    errors: Errors = Errors()
