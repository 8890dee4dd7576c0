"""Names within a chart: where each stands so that it covers no other, and how a long one is broken
into lines.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import ceil, hypot
from typing import Any, NamedTuple

from kneebench.brief import chart_theme

CHARACTER, PLAIN, LINE = 7.5, 7.2, 16.0
"""Widths of a bold character and of one that is not, and height of a line, in the widest font of
the stack: means over names and numbers."""
NEAR, STEP, STEPS = 15.0, 9.0, 9
"""How far a name stands from its point at least, and how far from there it may be moved."""
CLEAR = 4.0
"""Pixels between a text and a line at its left or right."""
FAR = 8.0
"""Cost of a pixel farther than that, where a point below a text costs 10: a name that crosses a
line stands at its point, one that clears it may be taken for another's."""


_BRACKETS, _UNBROKEN = re.compile(r"\([^)]*\)"), "\u00a0"


class Point(NamedTuple):
    """A place in a chart, in pixels from its upper left corner."""

    x: float
    y: float


class Box(NamedTuple):
    """Where a text stands."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """True where the two cover each other."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def distance(self, point: Point) -> float:
        """From its edge to a point; 0 within."""
        across = max(self.left - point.x, 0.0, point.x - self.right)
        return hypot(across, max(self.top - point.y, 0.0, point.y - self.bottom))

    def holds(self, point: Point) -> bool:
        """True for a point within."""
        return self.left <= point.x <= self.right and self.top <= point.y <= self.bottom


class Label(NamedTuple):
    """A text beside a point: `align` and the offsets as Vega-Lite's text mark takes them."""

    text: str
    align: str
    dx: float
    dy: float


def placed(
    texts: Sequence[tuple[str, Point]],
    lines: Sequence[Sequence[Point]],
    width: float,
    height: float,
) -> list[Label | None]:
    """A label for each text, one after the other: within the chart, nearer to its point than to
    that of another label, and on as few lines and points as can be beside it. None for a text that
    would cover another wherever it stood.

    >>> [label.align for label in placed([("a", Point(5, 50)), ("b", Point(95, 50))], [], 100, 100)]
    ['left', 'right']
    """
    taken: list[Box] = []
    drawn = sorted((point for line in lines for point in _along(line)), key=_height)
    found: list[Label | None] = []
    for text, at in texts:
        frame = Box(0, 0, width, height)
        others = [point for _, point in texts if point != at]
        cost = partial(_cost, at=at, others=others, taken=taken, drawn=drawn, frame=frame)
        label = min(_candidates(text), key=cost)
        box = _box(label, at)
        if any(map(box.meets, taken)):
            found.append(None)
        else:
            taken.append(box)
            found.append(label)
    return found


def broken(text: str, width: float, character: float = CHARACTER) -> list[str]:
    """A text in lines of so many pixels, with characters so wide; brackets are kept whole.

    >>> broken("two NVMe drives (RAID 0)", 80)
    ['two NVMe', 'drives', '(RAID 0)']
    """
    whole = _BRACKETS.sub(lambda found: found[0].replace(" ", _UNBROKEN), text)
    lines = textwrap.wrap(whole, max(4, int(width / character))) or [text]
    return [line.replace(_UNBROKEN, " ") for line in lines]


def marks(chart: Any, label: Label, **colour: str) -> Any:
    """The label as a text of the chart, with a white rim that parts it from lines behind it."""
    text = {
        "fontWeight": "bold",
        "align": label.align,
        "dx": label.dx,
        "dy": label.dy,
    }
    rim = chart.mark_text(**text, stroke="white", strokeWidth=4, strokeJoin="round")
    return rim + chart.mark_text(**text, **({"color": chart_theme.INK} | colour))


def _candidates(text: str) -> Iterator[Label]:
    for step in range(STEPS):
        far = step * STEP
        for up in (-1, 1) if step else (-1,):
            yield Label(text, "left", NEAR, up * far)
            yield Label(text, "right", -NEAR, up * far)
        yield Label(text, "center", 0, -NEAR - far)
        yield Label(text, "center", 0, NEAR + far)


def _height(point: Point) -> float:
    return point.y


def _cost(
    label: Label,
    at: Point,
    others: Sequence[Point],
    taken: Sequence[Box],
    drawn: Sequence[Point],
    frame: Box,
) -> float:
    box = _box(label, at)
    outside = (
        max(0.0, frame.left - box.left)
        + max(0.0, box.right - frame.right)
        + max(0.0, frame.top - box.top)
        + max(0.0, box.bottom - frame.bottom)
    )
    covered = sum(map(box.meets, taken))
    elsewhere = any(box.distance(other) <= box.distance(at) for other in others)
    far = FAR * max(0.0, box.distance(at) - NEAR)
    clear = Box(box.left - CLEAR, box.top, box.right + CLEAR, box.bottom)
    return (
        1000 * outside + 10_000 * covered + 1000 * elsewhere + 10 * _held(clear, drawn) + far
    ) + abs(label.dy)


def _held(box: Box, drawn: Sequence[Point]) -> int:
    """How many points are within, of many that are sorted by their height."""
    first = bisect_left(drawn, box.top, key=_height)
    last = bisect_right(drawn, box.bottom, lo=first, key=_height)
    return sum(map(box.holds, drawn[first:last]))


def _box(label: Label, at: Point) -> Box:
    width = CHARACTER * len(label.text)
    left = at.x + label.dx - {"left": 0.0, "center": width / 2, "right": width}[label.align]
    return Box(left, at.y + label.dy - LINE / 2, left + width, at.y + label.dy + LINE / 2)


def _along(line: Sequence[Point]) -> Iterator[Point]:
    """Points on a line, closer beside each other than a character is wide."""
    yield from line
    for a, b in pairwise(line):
        parts = max(12, ceil(hypot(b.x - a.x, b.y - a.y) / (CHARACTER / 2)))
        yield from (
            Point(a.x + (b.x - a.x) * n / parts, a.y + (b.y - a.y) * n / parts)
            for n in range(1, parts)
        )
