"""The big numbers of a sweep: what the smallest size does of the largest one's throughput."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench import units
from kneebench.analysis.sweep import Sweep, SweptConfiguration, amount, sweeps, value_of
from kneebench.analysis.wording import interval, number_of_users, times_and_interval
from kneebench.brief.section import Number
from kneebench.records import Results


def sweep_numbers(results: Results) -> Iterator[Number]:
    """The ratio of each sweep; of one sweep alone also the NOPM of both sizes."""
    found = sweeps(results)
    for sweep in found:
        yield from _ratio(sweep)
        if len(found) == 1:
            yield from _nopm(sweep, sweep.configurations[-1])
            yield from _nopm(sweep, sweep.configurations[0])


def _ratio(sweep: Sweep) -> Iterator[Number]:
    smallest, largest = sweep.configurations[0], sweep.configurations[-1]
    if smallest.relative:
        value, sure = times_and_interval(smallest.relative)
        sizes = f"{_size(sweep, smallest)} in place of {_size(sweep, largest)}"
        bound = f", {smallest.bound}" if smallest.bound else ""
        yield Number(value=value, says=f"NOPM on {sweep.name} with {sizes}{bound}", sure=sure)


def _nopm(sweep: Sweep, one: SweptConfiguration) -> Iterator[Number]:
    if one.nopm and one.users:
        at_least = ", at least" if one.warming else ""
        yield Number(
            value=units.significant(one.nopm.value),
            says=f"NOPM with {_size(sweep, one)}, at {number_of_users(one.users.value)}{at_least}",
            sure=interval(one.nopm),
        )


def _size(sweep: Sweep, one: SweptConfiguration) -> str:
    return amount(value_of(one.configuration, sweep.resource) or 0, sweep.resource)
