"""Every rung that was measured: throughput and latency."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from kneebench import units
from kneebench.analysis.wording import FEW_MEANS, p999, plural, times
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.view_model import ViewModel
from kneebench.measurement.quantities import READ
from kneebench.records import Phase, Rung

PHASES: dict[Phase, str] = {
    "warm_up": "warm-up",
    "search": "search",
    "bisection": "search (bisection)",
    "confirmation": "candidate",
    "drift_check": "drift check",
    "fixed_load": "first rung",
    "fixed_rate": "fixed rate",
    "load_level": "load level",
}
"""A final run is called by what it measured: the knee, or a fixed load."""
BY_DATABASE = (
    "TPM comes from the database's counters, read while idle before and after, scaled to the"
    " window."
)
BY_LOAD_GENERATOR = (
    "TPM is the load generator's count where the database does not count the workload's"
    " transactions apart."
)
ABOUT: dict[Phase, str] = {
    "fixed_rate": " Fixed rate: open loop, the same rate on every storage.",
    "load_level": " Load levels: open loop, at percentages of each storage's own {point}.",
    "warm_up": " The warm-up rung is not used for any figure.",
    "search": " Search rungs are one short measurement each, not results.",
    "confirmation": " Candidates for the knee took turns; their rungs are no results either.",
    "drift_check": " The drift check repeats the first of them at the end.",
    "fixed_load": " The first rung is one measurement before the final runs, not a result.",
}
"""Of the phases that a campaign has."""
SUPERSEDED = (
    " Measured again: runs in no figure, because log writes exceeded their limit, users were all"
    " busy, or the fixed rate changed."
)
BEFORE = (
    Column(title="Storage", number=False),
    Column(title="Rung", number=False),
    Column(title="Users"),
    Column(title="NOPM"),
    Column(title="Vs. baseline"),
    Column(title="TPM"),
    Column(title="TPM/NOPM"),
)
AFTER = (
    Column(title="Mean latency"),
    Column(title="P99.9"),
    Column(title="Log write"),
    Column(title="Warm-up"),
    Column(title="Notes", number=False),
)
"""The columns before and after those of what another tool takes for TPM."""


def section(view: ViewModel) -> Section | None:
    """The table of all rungs; search rungs are labelled, because they are one short measurement
    each and never quoted.
    """
    rungs = [rung for climb in view.climbs for rung in climb.rungs]
    superseded = [rung for climb in view.climbs for rung in climb.superseded]
    if not rungs:
        return None
    others = {
        name: one.tpm
        for name, one in READ.items()
        if one.tpm and any(name in rung.quantities for rung in rungs)
    }
    notes = RungNotes([*rungs, *superseded], view.shared)
    rows = tuple(_row(view, rung, others, notes) for rung in rungs)
    rows += tuple(_measured_again(_row(view, rung, others, notes)) for rung in superseded)
    phases = {rung.order.phase for rung in rungs}
    about = "".join(said for phase, said in ABOUT.items() if phase in phases)
    caption = (
        f"{view.point.capitalize()}: final runs{view.own_restore}, closed loop."
        f"{about.format(point=view.point)}"
        " Warm-up: what was discarded before the window."
        f"{SUPERSEDED if superseded else ''} {' '.join((FEW_MEANS, *_tpm_sources(rungs)))}"
        + "".join(
            f" {title}: the whole server's own count within the window."
            for title in others.values()
        )
    )
    columns = (*BEFORE, *(Column(title=title) for title in others.values()), *AFTER)
    return Section(
        name="rungs",
        title=f"All {plural(len(rows), 'rung')}",
        tables=(Table(caption=caption, columns=columns, rows=rows, notes=notes.texts),),
        part="appendix",
    )


def _measured_again(row: Row) -> Row:
    """The row of a rung that is in no figure."""
    storage, rung, *others = row.cells
    cells = (storage, f"{rung}, measured again", *others)
    return Row(cells=cells, tone=row.tone if row.tone == "alarm" else "light")


def label(view: ViewModel, rung: Rung) -> str:
    """What a rung was for, with the number of its repeat."""
    phase = rung.order.phase
    return (view.point if phase == "final_run" else PHASES[phase]) + rung.order.nth


def _row(view: ViewModel, rung: Rung, others: Collection[str], notes: RungNotes) -> Row:
    tally, base = rung.tally, view.knees.get(view.base.id)
    closed = rung.order.rate_per_s is None
    tone = (
        "alarm"
        if rung.invalid or any(not check.passed for check in rung.checks)
        else "strong"
        if rung.order.phase in ("final_run", "fixed_load")
        else "light"
    )
    return Row(
        cells=(
            view.name(rung.order.configuration),
            label(view, rung),
            str(rung.users),
            units.count(tally.nopm),
            times(tally.nopm / base.nopm.value) if base and closed else units.NOTHING,
            units.count(rung.tpm),
            f"{rung.tpm / tally.nopm:.4f}" if tally.nopm else units.NOTHING,
            *(_per_minute(rung.quantity(name)) for name in others),
            units.time(tally.latency.mean_s if tally.latency else None),
            p999(tally.latency),
            units.time(rung.quantity("log.write_latency")),
            _discarded(rung),
            notes.numbers(rung),
        ),
        tone=tone,
    )


def _tpm_sources(rungs: Sequence[Rung]) -> Iterator[str]:
    """Whose count TPM is."""
    uncounted = [bool(rung.counted and rung.counted.commits is None) for rung in rungs]
    if not all(uncounted):
        yield BY_DATABASE
    if any(uncounted):
        yield BY_LOAD_GENERATOR


def _per_minute(rate_per_s: float | None) -> str:
    return units.count(None if rate_per_s is None else 60 * rate_per_s)


def _discarded(rung: Rung) -> str:
    """What the warm-up discarded: its time, and the transactions completed in it."""
    done = "" if rung.discarded is None else f"\n({plural(rung.discarded, 'transaction')})"
    return f"{units.time(rung.warm_up_s)}{done}"


# What is noted on the rungs of a table: each note once, by its number.

FEWEST = "kind few_warehouses"
"""Of these the least is the worst."""
UNSTEADY = ("not_steady", "not_filled")
"""Kinds of remarks that say why a rung is not steady."""


class Note(NamedTuple):
    """What is noted on one rung. `about` is shared by all that is said once."""

    about: str
    words: str
    value: float = 0.0


class RungNotes:
    """Notes by number, from 1. Of those of one kind that differ in their figures, the worst is
    said.

    `shared`: by configuration the notes that all of its rungs have, which are said elsewhere.
    """

    def __init__(self, rungs: Sequence[Rung], shared: Mapping[str, Sequence[str]]) -> None:
        self._shared = shared
        self._found: dict[str, list[Note]] = {}
        for rung in rungs:
            for note in self._of(rung):
                self._found.setdefault(note.about, []).append(note)
        self._numbers = {about: number for number, about in enumerate(self._found, start=1)}

    def numbers(self, rung: Rung) -> str:
        """Those of a rung, as its cell."""
        found = {self._numbers[note.about] for note in self._of(rung)}
        return ", ".join(map(str, sorted(found)))

    @property
    def texts(self) -> tuple[str, ...]:
        """All notes, in the order of their numbers."""
        return tuple(map(_said, self._found.values()))

    def _of(self, rung: Rung) -> Iterator[Note]:
        if rung.invalid:
            yield Note(rung.invalid, f"invalid: {rung.invalid}")
        for check in rung.checks:
            if not check.passed:
                yield Note(f"check {check.name}", f"failed: {check.name}")
        shared = self._shared.get(rung.order.configuration, ())
        own = [one for one in rung.remarks if one.severity != "invalid" and one.words not in shared]
        if not rung.steady and not any(one.kind in UNSTEADY for one in own):
            yield Note("not steady", "not steady")
        for one in own:
            if one.value is None:
                yield Note(one.words, one.words)
            else:
                yield Note(f"kind {one.kind}", one.words, one.value)


def _said(notes: Sequence[Note]) -> str:
    """
    >>> _said([Note("kind delay", "delay 5 µs", 5e-6), Note("kind delay", "delay 9 µs", 9e-6)])
    'delay 9 µs (the worst of 2 rungs)'
    """
    worst = min if notes[0].about == FEWEST else max
    most = worst(notes, key=lambda one: one.value)
    differ = any(one.words != most.words for one in notes)
    return f"{most.words} (the worst of {len(notes)} rungs)" if differ else most.words
