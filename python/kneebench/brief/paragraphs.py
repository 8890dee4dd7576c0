"""Whether each storage has a paragraph in the front: what it did, why it stopped, what limits it.

The configurations of a sweep are too many for that: a row of a table says the same of each.
"""

from __future__ import annotations

from kneebench.analysis.sweep import sweeps
from kneebench.brief.view_model import ViewModel


def has_paragraphs(view: ViewModel) -> bool:
    """True for a campaign without a sweep."""
    return not sweeps(view.results)
