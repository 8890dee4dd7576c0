"""The price of work: what a storage costs for the NOPM that it gave at its knee.

Prices are the author's words (`[brief.prices]`), so nothing here is measured but NOPM: the interval
is that of NOPM. What is paid once is divided by NOPM, as TPC's price per tpmC is; what is paid by
the hour or month by the New-Orders of that time.
"""

from __future__ import annotations

from typing import NamedTuple

from kneebench.analysis.knee import knee
from kneebench.analysis.quantity_ratio import NOPM, ComparedQuantity
from kneebench.analysis.wording import value_and_ends
from kneebench.records import Climb, Estimate, PlannedPrice, Results
from kneebench.units import significant

MINUTES = {"hour": 60.0, "month": 60.0 * 24 * 30}
MILLION = 1e6
PER_WORK = ComparedQuantity(
    "price.per_nopm",
    "final_run",
    lambda rung: 1 / rung.tally.nopm if rung.tally.nopm else 0.0,
    "price of work at {}",
    scatters_as=NOPM.name,
)


class PriceOfWork(NamedTuple):
    """The price of a storage, and of its work in `unit`."""

    price: PlannedPrice
    work: Estimate
    unit: str

    @property
    def words(self) -> tuple[str, str]:
        """The price of work with its unit, and its interval."""
        value, ends = value_and_ends(self.work, significant)
        return f"{value} {self.unit}", ends


def price_of_work(climb: Climb, price: PlannedPrice | None) -> PriceOfWork | None:
    """That of a configuration at its knee; None without a price or final runs."""
    found = knee(climb)
    if not price or not found or found.nopm.low <= 0:
        return None
    minutes = MINUTES.get(price.per)
    times = price.amount * MILLION / minutes if minutes else price.amount
    unit = f"{price.currency} per million New-Orders" if minutes else f"{price.currency}/NOPM"
    nopm = found.nopm
    ends = {"value": times / nopm.value, "low": times / nopm.high, "high": times / nopm.low}
    return PriceOfWork(price, nopm.model_copy(update=ends), unit)


def prices_of_work(results: Results) -> dict[str, PriceOfWork]:
    """By configuration."""
    prices = {name: one.price for name, one in results.campaign.resolved.storages.items()}
    found = {
        climb.id: price_of_work(climb, prices.get(climb.configuration.storage))
        for climb in results.climbs
    }
    return {id_: one for id_, one in found.items() if one}


def ratio_of_prices(nopm: Estimate, price: PlannedPrice, against: PlannedPrice) -> Estimate:
    """The ratio of the prices of work, from that of NOPM."""
    times = price.amount / against.amount
    ends = {"value": times / nopm.value, "low": times / nopm.high, "high": times / nopm.low}
    return nopm.model_copy(update=ends)
