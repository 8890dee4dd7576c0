"""The shelf of meters: one file each, each says where its numbers come from."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.measurement.meters.meter import Meter, MeterContext, ServerMeter, UnavailableMeter
from kneebench.shelf import METERS

__all__ = ["Meter", "MeterContext", "open_meters"]


def open_meters(
    wanted: Sequence[str], context: MeterContext, simulated: bool = False
) -> tuple[Meter, ...]:
    """The meters of a plan, each read by the server where it answers that name, else from this
    machine.

    Beside a simulated server this machine's own meters would be nonsense: what that server does not
    answer is not measured. Raises UnknownPart with the names there are.
    """
    return tuple(_opened(name, context, simulated) for name in wanted)


def _opened(name: str, context: MeterContext, simulated: bool) -> Meter:
    module = METERS.module(name)
    quantities: tuple[str, ...] = module.QUANTITIES
    if name in context.server.measures:
        return ServerMeter(name, quantities, context.server)
    if simulated:
        return UnavailableMeter(
            name, quantities, f"{name} not measured: the simulated server has none"
        )
    meter: Meter = module.open_meter(context)
    return meter
