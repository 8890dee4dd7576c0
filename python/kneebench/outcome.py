"""What a campaign came to: which of its checks failed, what may not be used or is missing, and the exit code that says so."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.consistency import conditions
from kneebench.analysis.missing_figures import missing_figures
from kneebench.analysis.wording import named, number_of_users
from kneebench.errors import CheckFailed, InvalidMeasurement
from kneebench.records import Results


def exit_code(results: Results) -> int:
    """0, or that of CheckFailed, or that of InvalidMeasurement: a failed check weighs more, for it puts every figure in doubt."""
    if any(failed_checks(results)):
        return CheckFailed.exit_code
    return InvalidMeasurement.exit_code if any(invalid_rungs(results)) or any(without_figure(results)) else 0


def failed_checks(results: Results) -> Iterator[str]:
    """A sentence for each self-check that failed, of a rung or of the data after a climb or a final run, with where it was seen."""
    for climb in results.climbs:
        for when, checks in conditions(climb):
            yield from (f"{climb.cell.storage}, {when}: {check.sentence}" for check in checks if not check.passed)
        for rung in climb.rungs:
            place = f"{climb.cell.storage}, {named(rung.order.phase)} at {number_of_users(rung.users)}"
            yield from (f"{place}: {check.sentence}" for check in rung.checks if not check.passed)


def invalid_rungs(results: Results) -> Iterator[str]:
    """A sentence for each rung that must not be used."""
    for climb in results.climbs:
        for rung in climb.rungs:
            if rung.invalid:
                yield f"{climb.cell.storage}, {named(rung.order.phase)} at {number_of_users(rung.users)}: {rung.invalid}"


def without_figure(results: Results) -> Iterator[str]:
    """A sentence for each storage of a finished campaign that has no usable figure."""
    yield from (f"{one.cell.storage}: {one.sentence}" for one in missing_figures(results))
