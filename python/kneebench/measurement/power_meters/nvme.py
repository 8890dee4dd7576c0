"""What the makers of NVMe drives rate: the power of their largest power state (program nvme).

A rating is no measurement. It is listed, and a meter of drives that shows twice the rating of the
drives it covers is not believed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from kneebench.errors import PlanError
from kneebench.lab.programs import found, run_program
from kneebench.measurement.power_meters.power_source import NoAnswer, PlainSource, PowerReading
from kneebench.plan.power import PowerMeter, Private
from kneebench.plan.values import Name
from kneebench.records import Scope

PROGRAM = "nvme"
CENTI = 0.01


class NvmeMeter(PowerMeter):
    """Ratings of NVMe drives, for what is plausible: never a measurement."""

    of_scope: ClassVar[Scope | None] = "drive"
    means: ClassVar[str] = "the maker's rating, not measured"
    rates_only: ClassVar[bool] = True
    drives: Annotated[
        tuple[Name, ...],
        Private("WWID"),
        Field(max_length=100, description="Drives, such as nvme0; none: all"),
    ] = ()

    @property
    def on_database_host(self) -> bool:
        """The drives are there."""
        return True


class Ratings(PlainSource):
    """The drives' ratings."""

    def __init__(self, watts: dict[str, float]) -> None:
        self.rated_w, self.drives = sum(watts.values()), tuple(watts)
        each = ", ".join(f"{name} {rated:g} W" for name, rated in watts.items())
        self.described = f"rated at most: {each}"

    def read(self) -> PowerReading:
        """Nothing is measured."""
        raise NoAnswer("a rating, not measured")


def most_w(states: Any) -> float:
    """The largest power of a controller's states, as `nvme id-ctrl -o json` prints them.

    >>> most_w({"psds": [{"max_power": 2500}, {"max_power": 900}]})
    25.0
    """
    powers = [one.get("max_power", 0) for one in states.get("psds", [])]
    return max(powers, default=0) * CENTI


def open_source(table: PowerMeter) -> Ratings:
    """The drives of this machine. Raises PlanError where there is none, or no program."""
    assert isinstance(table, NvmeMeter)
    what = f"power meter {table.name}"
    names = table.drives or tuple(sorted(path.name for path in Path("/sys/class/nvme").glob("*")))
    if not names:
        raise PlanError(what, seen="there is no NVMe drive", do="leave it out")
    if not found(PROGRAM):
        raise PlanError(what, seen=f"{PROGRAM} is missing", do="apt-get install nvme-cli")
    watts = {}
    for name in map(os.path.basename, names):
        try:
            printed = run_program(PROGRAM, "id-ctrl", "-o", "json", f"/dev/{name}", limit_s=10.0)
            watts[name] = most_w(json.loads(printed))
        except (OSError, ValueError) as error:
            raise PlanError(f"{what}: {name}", seen=str(error), do="run as root") from None
    return Ratings(watts)


def found_here(sysfs: Path, dev: Path) -> Iterator[dict[str, object]]:
    """One meter of all drives."""
    if any((sysfs / "class/nvme").glob("nvme*")):
        yield {"name": "nvme"}


TABLE = NvmeMeter
