"""Pages as Markdown, for a wiki or a pull request: without their figures, a brief's front alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kneebench.brief.page import WHOSE, Brief
from kneebench.brief.section import Section, Table
from kneebench.visible import visible

_SPECIAL = re.compile(r"([\\`*_\[\]<>|&#~$@])|^([-+]|\d+(?=[.)]\s))")
"""What Markdown reads as a mark: anywhere, or where a text begins."""
ELSEWHERE = "Its figures, the method, every rung and the evidence are in brief.html or its PDF."


def markdown(brief: Brief) -> str:
    """The title, what limits it, the front's sections and tables, and where the rest is.

    Figures are named with what they say. Tables are those of GitHub and GitLab.
    """
    return _joined(_blocks(brief))


def plain_markdown(
    title: str, front: Sequence[str], sections: Iterable[Section], closing: Sequence[str]
) -> str:
    """A page with so many sentences below its title, then its sections, and those at its end."""
    below, end = map(text, front), map(text, closing)
    return _joined((f"# {text(title)}", *below, *map(_section, sections), *end))


def _joined(blocks: Iterable[str]) -> str:
    return "\n\n".join(filter(None, blocks)) + "\n"


def _blocks(brief: Brief) -> Iterator[str]:
    words = brief.view.plan.brief
    yield f"# {text(words.title)}" if words.title else ""
    yield text(brief.byline)
    yield from (_section(one) for one in brief.alarms)
    yield f"{'#' if not words.title else '##'} {text(brief.title)}"
    yield text(brief.kicker)
    yield f"**{text(brief.banner)}**" if brief.banner else ""
    yield text(brief.subtitle)
    yield from (f"**{text(one.words)}**" for one in brief.view.disturbances)
    yield text(brief.view.plan.question)
    yield text(brief.setup)
    yield text(brief.intervals)
    yield from (text(one.sentence) for one in brief.view.limited_memory)
    if words.summary:
        yield f"> {text(words.summary)}\n>\n> {text(WHOSE)}"
    front = [one for _, some in brief.parts.get("front", ()) for one in some]
    yield from map(_section, front)
    yield text(f"{brief.derived} {brief.written} {ELSEWHERE}")
    yield from map(text, brief.publishing)


def _section(section: Section) -> str:
    parts = [f"### {text(section.title)}"]
    parts += [
        "\n".join(
            f"- **{text(one.value)}** {text(one.says)}{f' ({text(one.sure)})' if one.sure else ''}"
            for one in section.numbers
        ),
        "\n".join(f"- **{text(one.name)}** {text(one.sentence)}" for one in section.stop_reasons),
        "\n".join(f"- {text(one)}" for one in section.sentences),
        "\n".join(f"- **{text(one.number)}** {text(one.title)}" for one in section.figures),
        *map(_table, section.tables),
    ]
    return "\n\n".join(filter(None, parts))


def _table(table: Table) -> str:
    rule = "|".join("---:" if column.number else "---" for column in table.columns)
    head = " | ".join(text(column.title) for column in table.columns)
    rows = (f"| {' | '.join(map(text, row.cells))} |" for row in table.rows)
    notes = "\n".join(f"{n}. {text(note)}" for n, note in enumerate(table.notes, start=1))
    lines = "\n".join((f"| {head} |", f"|{rule}|", *rows))
    return "\n\n".join(filter(None, (text(table.caption), lines, notes)))


def text(words: str) -> str:
    """Words that Markdown leaves as they are, on one line, with control characters as text.

    >>> text("a*b | c\\nd")
    'a\\\\*b \\\\| c d'
    """
    return _SPECIAL.sub(_escaped, visible(" ".join(words.split())))


def _escaped(found: re.Match[str]) -> str:
    number = found[0].isdigit()
    return f"{found[0]}\\" if number else f"\\{found[0]}"
