"""Badge: whether something changed for the worse, as a small picture for a README or a wall.

An SVG file without anything from elsewhere. Text is as wide as it is told to be, so the picture is
the same with every font.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from kneebench.analysis.change_points import FEWEST
from kneebench.analysis.wording import plural
from kneebench.results.trend import Trend
from kneebench.results.trend_words import latest_changes
from kneebench.visible import visible

GREEN, RED, BLUE, GREY = "#2e7d32", "#c62828", "#1565c0", "#616161"
LABEL = "kneebench"
_CHARACTER = 6.6
"""Mean width of a character of 11 px, in pixels."""
_PADDING = 6


def badge(trends: Sequence[Trend], label: str = "") -> str:
    """The picture as SVG text, with what must be known first, such as "Simulated"."""
    label = f"{LABEL}, {label.lower()}" if label else LABEL
    said, colour = _message(trends)
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


def _message(trends: Sequence[Trend]) -> tuple[str, str]:
    """What it says, and its colour."""
    changes = list(latest_changes(trends))
    campaigns = max((len(one.points) for one in trends), default=0)
    if changes:
        trend, change = changes[0]
        since = f"since {change.started_at[:10]}"
        words = f"{trend.storage}: {'worse' if change.worse else 'better'} {since}"
        return visible(words), RED if change.worse else BLUE
    if campaigns < FEWEST:
        return f"{plural(campaigns, 'campaign')}, too few", GREY
    return f"no change in {plural(campaigns, 'campaign')}", GREEN


def _width(text: str) -> float:
    return len(text) * _CHARACTER + 2 * _PADDING
