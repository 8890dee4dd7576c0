"""Where the brief speaks of each configuration: what it did, why it stopped, what limits it.

The configurations of a sweep are too many for paragraphs: a row of a table says the same of each.
"""

from __future__ import annotations

from kneebench.analysis.sweep import sweeps
from kneebench.brief.section import Part
from kneebench.brief.view_model import ViewModel


def has_paragraphs(view: ViewModel) -> bool:
    """True for a campaign without a sweep."""
    return not sweeps(view.results)


def part_of_each(view: ViewModel) -> Part:
    """The part with what is shown of each configuration: behind the answer of a sweep of many."""
    return "front" if has_paragraphs(view) or view.direct else "appendix"
