"""What a profile says first: its title, what must not be quoted, the big numbers, the caveats."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench import units
from kneebench.analysis.wording import behind_label, percent, plural
from kneebench.brief.section import Number, Section
from kneebench.measurement.profile import Profile, ProfileRow, Together

STATE = "The figures are those of the drive's current state: new or freshly trimmed flash is faster"
OF_A_FILE = ", and a file smaller than a cache measures the cache"
EMULATED = "Emulated drives: no figure measured on them says anything about a real drive."
FEW = 4
"""Up to so many rows are named in a sentence."""
SAYS = {
    "sequential_read": "128 KiB sequential read",
    "sequential_write": "128 KiB sequential write",
    "random_read": "4 KiB random reads per second",
    "random_write": "4 KiB random writes per second",
}


def title(found: Profile) -> str:
    """The drive's random reads and log writes, as far as they were measured."""
    facts = []
    if row := found.headline.get("random_read"):
        facts.append(f"{units.significant(row.iops)} random reads per second")
    if log := _log_write(found):
        facts.append(f"log write in {units.time(log.mean_s)}")
    where = found.storage or found.drive_names or str(found.directory)
    label = "Emulated drives" if found.emulated else ""
    return behind_label(label, f"{where}: {', '.join(facts) or 'profile'}")


def invalid_rows(found: Profile) -> Section | None:
    """The rows that must not be quoted, above the title."""
    wrong = tuple(f"{row.name}: {row.invalid}." for row in found.rows if row.invalid)
    if not wrong:
        return None
    return Section(name="invalid", title="Do not quote these rows", sentences=wrong, tone="alarm")


def glance(found: Profile) -> Section | None:
    """The figures of a data sheet, and the log write."""
    numbers = [_number(figure, row) for figure, row in found.headline.items()]
    if log := _log_write(found):
        says = "mean 8 KiB log write with fdatasync"
        sure = f"{units.count(log.iops)} per second, one after the other"
        numbers.append(Number(value=units.time(log.mean_s), says=says, sure=sure))
    if copy := next((row for row in found.rows if row.files_per_s), None):
        numbers.append(
            Number(value=units.significant(copy.iops), says="files per second", sure=copy.name)
        )
    return Section(name="glance", title="At a glance", numbers=tuple(numbers)) if numbers else None


def caveats(found: Profile) -> Section:
    """An IOPS limit, where a core was the limit, and what the figures depend on."""
    pinned = [found.iops_limit] if found.iops_limit else []
    emulated = [EMULATED] if found.emulated else []
    sentences = (*emulated, *pinned, *_limits(found), state(found))
    return Section(name="caveats", title="Caveats", sentences=sentences, tone="note")


def state(found: Profile | Together) -> str:
    """What the figures depend on."""
    return f"{STATE}{'' if found.raw else OF_A_FILE}."


def _number(figure: str, row: ProfileRow) -> Number:
    value = (
        units.rate(row.bytes_per_s)
        if figure.startswith("sequential")
        else units.significant(row.iops)
    )
    workers = f" x {row.workers} workers" if row.workers > 1 else ""
    busiest = f", busiest core {percent(row.busiest_core)}" if row.cores_busy else ""
    return Number(value=value, says=SAYS[figure], sure=f"depth {row.depth}{workers}{busiest}")


def _log_write(found: Profile) -> ProfileRow | None:
    return next((row for row in found.rows if row.sync and not row.invalid), None)


def _limits(found: Profile) -> Iterator[str]:
    limited = [row.name for row in found.rows if row.limited_by_a_core and not row.invalid]
    if limited:
        names = f": {'; '.join(limited)}" if len(limited) <= FEW else ""
        yield (
            f"A core, not the drive, may have been the limit of {plural(len(limited), 'row')},"
            f" marked * in the table{names}."
        )
