"""An estimate: the only form in which a number leaves the analysis."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import core_schema

from kneebench import units
from kneebench.records.record import Record

Unit = Literal["", "s", "x", "users", "NOPM", "TPM", "mW/NOPM"]


class Estimate(Record):
    """A number that may leave the analysis: value, 95% CI, number of runs, method. Files do
    not have its unit: there the name of the field which holds it says it.

    >>> print(Estimate(value=0.00487, low=0.0042, high=0.0051, n=3, unit="s"))
    4.87 ms (4.2 ms to 5.1 ms, n=3)
    >>> print(Estimate(value=33908.2, low=33104, high=34733, n=3, unit="NOPM"))
    33,908 NOPM (33,104 to 34,733, n=3)
    >>> 1 in Estimate(value=1.1, low=0.9, high=1.3, n=3)
    True
    >>> nopm = Estimate(value=33908.2, low=33104, high=34733, n=3, unit="NOPM")
    >>> float(nopm), f"{nopm:,.0f}", f"{nopm}"
    (33908.2, '33,908', '33,908 NOPM (33,104 to 34,733, n=3)')
    >>> print(Estimate(value=1.69, low=1.2, high=2.3, n=5, unit="x"))
    1.69x (1.20x to 2.30x, n=5)
    """

    value: float
    """Value that was estimated."""
    low: float
    """Lower end of the 95% confidence interval."""
    high: float
    """Upper end of the 95% confidence interval."""
    n: int
    """Number of runs behind it; of a ratio, of pairs of runs."""
    method: str = ""
    """Method of the interval, in words."""
    unit: Unit = Field(default="", exclude=True)
    """Unit of the record's field which holds it ("s", "x", "users", "NOPM", "TPM", "mW/NOPM"; empty
    where no field says one)."""

    def in_unit(self, unit: Unit) -> Estimate:
        """The same number with its unit: nothing is converted."""
        return self if self.unit == unit else self.model_copy(update={"unit": unit})

    def __contains__(self, value: float) -> bool:
        """Whether a number is within the interval."""
        return self.low <= value <= self.high

    def __float__(self) -> float:
        """The value alone."""
        return self.value

    def __format__(self, spec: str) -> str:
        """The value alone by a format of numbers; without one, the value with its interval."""
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        numbers = self.value, self.low, self.high
        value, low, high = (
            units.times_and_ends(*numbers)
            if self.unit == "x"
            else map(_WRITTEN[self.unit], numbers)
        )
        unit = "" if self.unit in _WITHOUT else f" {self.unit}"
        return f"{value}{unit} ({low} to {high}, n={self.n})"


def _number(value: float) -> str:
    """Four digits, with thousands separators."""
    return f"{Decimal(f'{value:.4g}'):,f}"


_WITHOUT = ("", "s", "x")
"""No unit behind the interval: there is none, or each number has it."""
_WRITTEN: dict[str, Callable[[float], str]] = {
    "": _number,
    "s": units.time,
    "mW/NOPM": units.significant,
    **dict.fromkeys(("users", "NOPM", "TPM"), units.count),
}


class _In(NamedTuple):
    """The unit of a field's estimate, which the estimate is given; `help` prints it."""

    unit: Unit

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def given(one: Estimate) -> Estimate:
            return one.in_unit(self.unit)

        return core_schema.no_info_after_validator_function(given, handler(source))


InSeconds = Annotated[Estimate, _In("s")]
InUsers = Annotated[Estimate, _In("users")]
InNopm = Annotated[Estimate, _In("NOPM")]
InTpm = Annotated[Estimate, _In("TPM")]
InMilliwatts = Annotated[Estimate, _In("mW/NOPM")]
InTimes = Annotated[Estimate, _In("x")]
"""A ratio."""
