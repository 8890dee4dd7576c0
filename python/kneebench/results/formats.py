"""The documents on disk: their format number, and what is said of another or a damaged one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import isclose, sqrt
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import to_json

from kneebench._core import merge_histograms
from kneebench.analysis.fixed_rate import MOST_WAIT, wait_share
from kneebench.errors import KneebenchError
from kneebench.measurement.checks import (
    CheckInput,
    counted_by_the_database,
    little,
    new_orders,
    overflow,
    ratio,
    rollbacks,
    unstarted,
)
from kneebench.measurement.idle_counts import Idle
from kneebench.plan.workload import Workload
from kneebench.records import (
    Campaign,
    Check,
    Climb,
    Counted,
    Counts,
    Latency,
    Order,
    Record,
    Rung,
    Tally,
)
from kneebench.regular_file import content
from kneebench.results.allowance import MOST_DOCUMENT_BYTES, Allowance
from kneebench.results.atomic_write import write_text
from kneebench.secrets import clean
from kneebench.visible import is_plain

FORMAT = 5
"""That of 0.1.0, the first release (docs/decisions/results-format.md)."""
NEWER = "install a newer kneebench"
OLDER = "read it with the version that wrote it, or measure again"
"""What to do about a newer and an older format: in an archive, too."""
LONGEST_WORDS = 300
"""Characters of a damaged file's own words that a message repeats."""


class KeptRung(Record):
    """rungs/<order key>.json: a rung, and when the campaign measured it."""

    format: int = FORMAT
    """Number of the document's format."""
    number: int
    """Place in the order in which the campaign measured, from 1."""
    rung: Rung
    """Rung with all but its seconds and series."""


class KeptClimb(Record):
    """climbs/<configuration id>.json: the climb without its rungs and without the checks after
    final runs, which have files of their own.
    """

    format: int = FORMAT
    """Number of the document's format."""
    climb: Climb
    """Climb as it ended."""


class KeptConditions(Record):
    """conditions/<order key>.json: the consistency conditions, checked after a final run."""

    format: int = FORMAT
    """Number of the document's format."""
    last: Order
    """Order of the rung that the final run measured last."""
    checks: tuple[Check, ...]
    """Check of each condition."""


class Finished(Record):
    """finished.json: everything that the plan asked for was measured."""

    format: int = FORMAT
    """Number of the document's format."""
    at: str
    """Time of day when everything was measured."""
    exit_code: int = 0
    """Exit code of the run, as on the command line (docs/cli.md)."""
    rungs: int = 0
    """Number of files in rungs/ at that time; 0: not counted."""
    awaits_brief: bool = False
    """Whether a brief was due; if it is missing, writing it was interrupted."""
    finding: str = ""
    """Finding in a line, with its interval; empty without one."""


DOCUMENTS: dict[str, type[Record]] = {
    "campaign": Campaign,
    "rung": KeptRung,
    "climb": KeptClimb,
    "conditions": KeptConditions,
    "finished": Finished,
}
INNER = (KeptRung, KeptClimb, KeptConditions)
"""Documents in a directory of the campaign's folder; the others are in the folder itself."""
Kept = TypeVar("Kept", bound=Record)


def require_format(document: Mapping[str, Any], file: Path) -> None:
    """Raises KneebenchError for a document of another format than the current one, with the version
    that wrote it where it says so.
    """
    number, version = document.get("format"), document.get("kneebench", "")
    if number == FORMAT:
        return
    if not isinstance(number, int):
        seen = f"format {repr(number)[:LONGEST_WORDS]} is not a number"
        do = "restore the file from a copy, or remove it"
    elif number > FORMAT:
        seen = (
            f"format {number} is newer than {FORMAT}, the newest that this kneebench version reads"
        )
        do = NEWER
    else:
        known = isinstance(version, str) and version and is_plain(version)
        wrote = (
            f"a development version of kneebench{f' {version}'[:LONGEST_WORDS] if known else ''}"
        )
        seen = f"format {number} is that of {wrote}; this version reads format {FORMAT}"
        do = OLDER
    raise KneebenchError(f"cannot read {file}", seen=seen, do=do)


def damaged(file: Path, what: str) -> KneebenchError:
    """The error that names a damaged file; of what was found, no more than fits a message."""
    what = what if len(what) <= LONGEST_WORDS else f"{what[:LONGEST_WORDS]}..."
    do = (
        "restore the file from a copy; in an unfinished campaign, remove it to measure its content"
        " again"
    )
    return KneebenchError(f"cannot read {file}", seen=f"the file is damaged ({what})", do=do)


def read_kept(file: Path, kind: type[Kept], allowance: Allowance | None = None) -> Kept:
    """A document of this kind from its file; a file that is damaged, or no regular file, gives an
    error that names it. `allowance`: what the folder's documents may have together.
    """
    what = f"cannot read {file}"
    try:
        written = content(file, MOST_DOCUMENT_BYTES, inner=kind in INNER)
        (allowance or Allowance()).take(file, written)
        document = json.loads(written)
    except OSError as error:
        raise KneebenchError(
            what, seen=error.strerror or str(error), do="use a campaign folder"
        ) from error
    except (ValueError, RecursionError) as error:
        raise damaged(file, str(error)) from error
    if not isinstance(document, dict):
        raise damaged(file, "not a JSON object")
    require_format(document, file)
    try:
        return kind.model_validate_json(written)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise damaged(file, f"{where}: {first['msg']}") from error


def read_rung(
    file: Path, workload: Workload | None, allowance: Allowance | None = None
) -> KeptRung:
    """A rung's file; an error names one that disagrees with itself."""
    kept = read_kept(file, KeptRung, allowance)
    if found := disagreement(kept.rung, workload):
        raise damaged(file, f"it contradicts itself: {found}")
    return kept


def write_kept(file: Path, document: Record) -> None:
    """Write a document whole or not at all."""
    write_text(file, kept_text(document))


def kept_text(document: Record) -> str:
    """A document as it is written, with no password in it."""
    found = clean(document.model_dump(mode="json"))
    return to_json(found, indent=1, inf_nan_mode="constants").decode() + "\n"


# Whether a kept rung agrees with itself: what its file says is worked out once more from the
# file's own numbers.
#
# A rung's numbers depend on each other, so a file that was damaged or edited shows it. The sums of
# the counts must hold, histograms must give the latencies beside them, the database's counts must
# give TPM, and each self-check must find again what it found. A check that failed when it was
# measured agrees with itself: what is compared is stored against recomputed.
#
# A kneebench that works out one of these differently needs a new format number, with an upgrade
# that recomputes it.

SAME, SAME_S = 2e-3, 1e-6
"""Relative difference, and time, up to which two values are one: a histogram keeps three digits,
and counts from 1 µs."""
SAME_VALUE = 1e-4
"""Of a check: a hundredth of a percent; counts are whole."""
RATE_MOST, RATE_SIGMAS = 0.05, 5.0
"""Of a rate: how far arrivals may be from it, as a share and in standard deviations."""
NOTHING = Idle(0, 0, 0)
OF_A_HISTOGRAM = ("mean_s", "p50_s", "p90_s", "p95_s", "p99_s", "p999_s", "max_s")


def disagreement(rung: Rung, workload: Workload | None) -> str:
    """The first thing in which a rung disagrees with itself; empty where it agrees.

    Without a workload what depends on it is left out.
    """
    return next(_disagreements(rung, workload), "")


def _disagreements(rung: Rung, workload: Workload | None) -> Iterator[str]:
    if rung.tally.users != rung.users:
        yield f"{rung.tally.users} users are counted where {rung.users} were ordered"
    known = {check.name for check in rung.checks if not check.passed}
    yield from _counts(rung.tally, identity_failed="identity" in known)
    for latency in _latencies(rung.tally):
        yield from _histogram(latency)
    yield from _rate(rung)
    if rung.counted:
        yield from _tpm(rung, rung.counted)
    if workload and rung.checks and not rung.order.query:
        yield from _checks(rung, workload)


def _counts(tally: Tally, *, identity_failed: bool) -> Iterator[str]:
    """Nothing counted in the window that is not in the whole, and the identity of both, unless it
    failed when it was measured.
    """
    for name, one in tally.transactions.items():
        for scope, counts in (("", one.whole), (" in the window", one.window)):
            ended = counts.completed + counts.failed + counts.unknown
            if counts.started != ended and not identity_failed:
                yield f"{name}{scope}: {counts.started:,} started and {ended:,} ended"
        for field in Counts.model_fields:
            whole, window = getattr(one.whole, field), getattr(one.window, field)
            if not 0 <= window <= whole:
                yield f"{name}: {window:,} {field} in the window and {whole:,} in all"
        if one.latency and one.latency.n > one.whole.completed:
            yield f"{name}: {one.latency.n:,} latencies of {one.whole.completed:,} that completed"
    parts = [one.latency for one in tally.transactions.values() if one.latency]
    if (
        tally.latency
        and parts
        and all(part.histogram for part in parts)
        and sum(part.n for part in parts) != tally.latency.n
    ):
        yield (
            f"{tally.latency.n:,} latencies in all and {sum(part.n for part in parts):,} by"
            " transaction"
        )


def _latencies(tally: Tally) -> list[Latency]:
    """Those with a histogram."""
    found = [
        tally.latency,
        tally.wait,
        *(part for one in tally.transactions.values() for part in (one.latency, one.wait)),
    ]
    return [latency for latency in found if latency and latency.histogram]


def _histogram(latency: Latency) -> Iterator[str]:
    """What the histogram says where the numbers beside it say something else."""
    try:
        found = Latency.model_validate(merge_histograms([latency.histogram]))
    except ValueError as error:
        yield str(error)
        return
    if found.n != latency.n:
        yield f"a histogram holds {found.n:,} latencies where {latency.n:,} are counted"
    for name in OF_A_HISTOGRAM:
        stored, recomputed = getattr(latency, name), getattr(found, name)
        if not isclose(stored, recomputed, rel_tol=SAME, abs_tol=SAME_S):
            yield f"{name} is {stored:.6g} where its histogram gives {recomputed:.6g}"


def _rate(rung: Rung) -> Iterator[str]:
    """Arrivals of an open loop scatter by their root, and connecting takes a moment. Fewer come
    where they wait for a user.
    """
    due = (rung.order.rate_per_s or 0.0) * rung.tally.whole_s
    came = rung.tally.whole.started + rung.tally.unstarted
    beyond = RATE_MOST * due + RATE_SIGMAS * sqrt(due)
    fewest = 0.0 if (wait_share(rung) or 0.0) > MOST_WAIT else due - beyond
    if due and not rung.invalid and not fewest <= came <= due + beyond:
        yield f"{came:,} transactions arrived where the rate of its order gives {due:,.0f}"


def _tpm(rung: Rung, counted: Counted) -> Iterator[str]:
    tpm = counted_by_the_database(rung.tally, NOTHING, _idle(counted))
    if not isclose(tpm, rung.tpm, rel_tol=SAME):
        yield f"tpm is {rung.tpm:,.0f} where the database's counts give {tpm:,.0f}"


def _checks(rung: Rung, workload: Workload) -> Iterator[str]:
    """Checks that find something else now.

    One that the file does not hold must pass: a rung that failed it would hold it.
    """
    stored = {check.name: check for check in rung.checks}
    for again in _again(rung, workload):
        before = stored.get(again.name)
        if not again.passed if before is None else _differ(before, again):
            sentence = (
                f"passed with {before.seen}"
                if before and before.passed
                else f"failed with {before.seen}"
                if before
                else "is missing"
            )
            yield f"the check {again.name} {sentence}, and its numbers now give {again.seen}"


def _again(rung: Rung, workload: Workload) -> Iterator[Check]:
    """The checks that the file has the numbers for; the identity is judged by itself."""
    after = _idle(rung.counted) if rung.counted else NOTHING
    seen = CheckInput(rung.order, workload, rung.tally, NOTHING, after, rung.tpm, None)
    rules = (ratio, little, overflow, unstarted) + ((new_orders, rollbacks) if rung.counted else ())
    yield from filter(None, (rule(seen) for rule in rules))


def _differ(before: Check, again: Check) -> bool:
    """By their numbers, by what they show, and by their result where they show the same limit."""
    if _apart(before.value, again.value) or before.seen != again.seen:
        return True
    return before.limit == again.limit and before.passed != again.passed


def _apart(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) > SAME_VALUE


def _idle(counted: Counted) -> Idle:
    return Idle(counted.next_order_ids, counted.commits, counted.rollbacks)
