"""The shelf of meters: one file each, each says where its numbers come from."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module

from kneebench.errors import UnknownPart
from kneebench.measurement.meters.meter import Meter, MeterContext, ServerMeter, UnavailableMeter

__all__ = ["Meter", "MeterContext", "names", "open_meters"]


def names() -> list[str]:
    """The meters that a plan may name.

    >>> names()
    ['checkpoints', 'cores', 'devices', 'log_writes', 'pressure', 'processes', 'tables', 'waits']
    """
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "meter")


def open_meters(wanted: Sequence[str], context: MeterContext, simulated: bool = False) -> tuple[Meter, ...]:
    """The meters of a plan, each read by the server where it answers that name, else from this machine.

    Beside a simulated server this machine's own meters would be nonsense: what that server does not
    answer is not measured. Raises UnknownPart with the names there are.
    """
    return tuple(_opened(name, context, simulated) for name in wanted)


def _opened(name: str, context: MeterContext, simulated: bool) -> Meter:
    if name not in names():
        raise UnknownPart("meter", name, names())
    module = import_module(f"{__name__}.{name}")
    quantities: tuple[str, ...] = module.QUANTITIES
    if name in context.server.measures:
        return ServerMeter(name, quantities, context.server)
    if simulated:
        return UnavailableMeter(name, quantities, f"{name} not measured: the simulated server has none")
    meter: Meter = module.open_meter(context)
    return meter
