"""The shelf of meters: one file each, each says where its numbers come from."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.measurement.meters.meter import (
    Meter,
    MeterContext,
    SampledServerMeter,
    ServerMeter,
    only_by_server,
)
from kneebench.shelf import METERS

__all__ = ["Meter", "MeterContext", "open_meters"]


def open_meters(
    wanted: Sequence[str], context: MeterContext, *, real_hardware: bool = True
) -> tuple[Meter, ...]:
    """The meters of a plan, each read by the server where it answers that name, else from this
    machine.

    Beside a model (`real_hardware` is False) this machine's own meters would be nonsense: what its
    server does not answer is not measured. A meter with `EVERY_S` samples a real server so often;
    a model's clock stands between two ticks. Raises UnknownPart with the names there are.
    """
    return tuple(_open(name, context, real_hardware) for name in wanted)


def _open(name: str, context: MeterContext, real_hardware: bool) -> Meter:
    module = METERS.module(name)
    quantities: tuple[str, ...] = module.QUANTITIES
    if name in context.server.measures:
        if real_hardware and (every_s := getattr(module, "EVERY_S", None)):
            return SampledServerMeter(name, quantities, context.server, every_s)
        return ServerMeter(name, quantities, context.server)
    if not real_hardware:
        return only_by_server(name, quantities)
    meter: Meter = module.open_meter(context)
    return meter
