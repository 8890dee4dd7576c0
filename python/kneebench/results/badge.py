"""Badge: whether the last night was accepted, and whether something changed for the worse, as a
small picture for a README or a wall.

An SVG file without anything from elsewhere. Text is as wide as it is told to be, so the picture is
the same with every font.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from kneebench.analysis.change_points import FEWEST
from kneebench.analysis.wording import plural
from kneebench.errors import CANNOT_SAY, INTERRUPTED, WORSE
from kneebench.results.nights import LeftOut
from kneebench.results.trend import Trend, last_outliers, latest_changes
from kneebench.visible import visible

GREEN, RED, BLUE, GREY = "#2e7d32", "#c62828", "#1565c0", "#616161"
LABEL, LAST = "kneebench", " last night"
_CHARACTER = 6.6
"""Mean width of a character of 11 px, in pixels."""
_PADDING = 6
_ENDED = {
    3: "invalid",
    4: "failed a self-check",
    5: "refused",
    WORSE: "worse",
    CANNOT_SAY: "cannot say",
    INTERRUPTED: "interrupted",
}
"""How a night ended that was not accepted, by the exit code of `accept`."""


def badge(
    trends: Sequence[Trend],
    label: str = "",
    *,
    last_night: int | None = None,
    left_out: Sequence[LeftOut] = (),
) -> str:
    """The picture as SVG text, with what must be known first, such as "Simulated".

    `last_night`: the exit code of the last night's `accept`, None where it is not known. Green is
    only a night that was accepted, where nothing changed for the worse.
    """
    label = f"{LABEL}, {label.lower()}" if label else LABEL
    said, colour = _message(trends, last_night, left_out)
    left, right = (_width(text) for text in (label, said))
    parts = "".join(
        f'<text x="{x:.0f}" y="14" textLength="{width - 2 * _PADDING:.0f}">{escape(text)}</text>'
        for x, width, text in ((_PADDING, left, label), (left + _PADDING, right, said))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.0f}" height="20"'
        f' role="img" aria-label="{escape(label)}: {escape(said)}">'
        f"<title>{escape(label)}: {escape(said)}</title>"
        f'<rect width="{left + right:.0f}" height="20" rx="3" fill="#37474f"/>'
        f'<path d="M{left:.0f} 0h{right - 3:.0f}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right - 3:.0f}z"'
        f' fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{parts}</g>'
        "</svg>\n"
    )


def _message(
    trends: Sequence[Trend], last_night: int | None, left_out: Sequence[LeftOut]
) -> tuple[str, str]:
    """What it says, and its colour."""
    night = _night(last_night, left_out)
    if seen := _moved(trends):
        words, worse = seen
        bad = worse or last_night == WORSE
        known = last_night == WORSE and words.endswith(LAST)
        both = words if known else "; ".join(filter(None, (words, night)))
        return both, RED if bad else GREY if night else BLUE
    if night:
        return night, RED if last_night == WORSE else GREY
    campaigns = max((len(one.points) for one in trends), default=0)
    if campaigns < FEWEST:
        return f"{plural(campaigns, 'campaign')}, too few", GREY
    quiet = f"no change in {plural(campaigns, 'campaign')}"
    return (quiet, GREEN) if last_night == 0 else (f"{quiet}, last not judged", GREY)


def _moved(trends: Sequence[Trend]) -> tuple[str, bool] | None:
    """What is to be seen in the trend, and whether it is for the worse: the last campaign alone, or
    a change.
    """
    found = [
        (visible(f"{trend.storage}: {'worse' if one.worse else 'better'}{LAST}"), one.worse)
        for trend, one in last_outliers(trends)
    ]
    for trend, change in latest_changes(trends):
        words = f"{trend.storage}: {'worse' if change.worse else 'better'}"
        found.append((visible(f"{words} since {change.started_at[:10]}"), change.worse))
    return min(found, key=lambda one: not one[1], default=None)


def _night(last_night: int | None, left_out: Sequence[LeftOut]) -> str:
    """Why the last night was not accepted; empty where it was, and where nobody knows."""
    if last_night:
        return f"last night {_ENDED.get(last_night, f'failed (exit code {last_night})')}"
    newest = any(one.newest for one in left_out)
    return "last campaign cannot be used" if newest else ""


def _width(text: str) -> float:
    return len(text) * _CHARACTER + 2 * _PADDING
