"""What is noted on the rungs of a table: each note once, by its number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kneebench.records import Rung

UNSTEADY = ("not_steady", "not_filled")
"""Kinds of remarks that say why a rung is not steady."""


class Note(NamedTuple):
    """What is noted on one rung. `about` is shared by all that is said once."""

    about: str
    words: str
    value: float = 0.0


class RungNotes:
    """Notes by number, from 1. Of those of one kind that differ in their figures, the one with the
    largest value is said.

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
    most = max(notes, key=lambda one: one.value)
    differ = any(one.words != most.words for one in notes)
    return f"{most.words} (the worst of {len(notes)} rungs)" if differ else most.words
