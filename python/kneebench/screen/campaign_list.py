"""The campaigns of a folder: each with its name and date, its storages, what it found, its tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from kneebench.analysis.wording import plural
from kneebench.brief.section import Row, Table, columns
from kneebench.brief.terminal import Fitted
from kneebench.results import Listed

_FLAT = {"id", "name", "started_at", "simulated", "finished", "exit_code", "rungs", "finding"}
"""Fields that a flat row has as they are."""


class CampaignList:
    """A line for each campaign; where the terminal is too narrow for that, the name on a line of
    its own, which is never broken, so that it can be copied.
    """

    def __init__(self, listed: Sequence[Listed]) -> None:
        self._listed = listed

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        table = _table(self._listed)
        if table.width <= options.max_width:
            yield table
        else:
            for one in self._listed:
                yield Text(one.folder.name, style="bold")
                yield Text(f"  {'; '.join(filter(None, _behind(one)))}")


def listed_rows(listed: Sequence[Listed]) -> list[dict[str, object]]:
    """A flat row for each campaign."""
    return [
        {
            **one.model_dump(mode="json", include=_FLAT),
            "storages": ", ".join(one.storages),
            "tags": _tags(one),
        }
        for one in listed
    ]


def found(one: Listed) -> str:
    """What it found; else how far it is, or why it cannot be read."""
    if one.damaged:
        return f"damaged: {one.damaged}"
    if not one.finished:
        return f"unfinished, {plural(one.rungs, 'rung')}"
    said = one.finding or f"finished: {one.question}"
    return f"{said} (exit {one.exit_code})" if one.exit_code else said


def _table(listed: Sequence[Listed]) -> Fitted:
    rows = tuple(Row(cells=(one.folder.name, *_behind(one))) for one in listed)
    return Fitted(Table(columns=columns("campaign", "finding", "storages", "tags"), rows=rows))


def _behind(one: Listed) -> tuple[str, ...]:
    return found(one), ", ".join(one.storages), _tags(one)


def _tags(one: Listed) -> str:
    return ", ".join(f"{name}={value}" for name, value in one.tags.items())
