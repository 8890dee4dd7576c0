"""The page of a profile: what a directory's drive can do, in numbers, figures and one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from kneebench import units
from kneebench.brief import chart_theme
from kneebench.brief.profile import (
    block_sizes,
    datasheet,
    method,
    over_time,
    percentiles,
    queue_depths,
    row_table,
    summary,
)
from kneebench.brief.rendering import Page
from kneebench.brief.section import Section
from kneebench.measurement.profile import Profile

PARTS = (
    summary.invalid_rows,
    summary.glance,
    datasheet.section,
    datasheet.published,
    summary.caveats,
    queue_depths.section,
    percentiles.section,
    block_sizes.section,
    over_time.section,
    row_table.section,
    method.section,
    method.repeat,
)
"""In the order of the page."""
TOLD = (
    summary.invalid_rows,
    summary.glance,
    summary.caveats,
    row_table.section,
    datasheet.section,
    datasheet.published,
)
"""In the order of a terminal."""


class ProfilePage(Page):
    """A profile's page, from the profile alone. Figures without rows are missing."""

    def __init__(self, found: Profile) -> None:
        self.profile = found

    @property
    def title(self) -> str:
        return summary.title(self.profile)

    @property
    def subtitle(self) -> str:
        found = self.profile
        return f"{found.where}; {found.how}; about {units.size(found.written_bytes)} written"

    @property
    def version(self) -> str:
        return self.profile.kneebench

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        return self._made(PARTS)

    @property
    def told(self) -> tuple[Section, ...]:
        return self._made(TOLD)

    def _made(self, parts: Sequence[Callable[[Profile], Section | None]]) -> tuple[Section, ...]:
        with chart_theme.without_validation():
            made = [part(self.profile) for part in parts]
        return tuple(section for section in made if section)

    def document(self) -> dict[str, Any]:
        """All of it for programs, without fio's own documents."""
        return self.profile.model_dump(mode="json", exclude={"fio"})

    def html(self) -> str:
        found = self.profile
        on = "the whole drive" if found.raw else "one file"
        return self.render_page(
            "profile/page.html.j2", started_at=found.started_at, where=found.directory, on=on
        )
