"""A campaign in a notebook: the finding, the answers, and what must be known before either."""

from __future__ import annotations

from html import escape

from kneebench.analysis.configuration_summary import configuration_summaries, rows
from kneebench.analysis.wording import DERIVED
from kneebench.brief import Brief
from kneebench.brief.section import Section
from kneebench.brief.sections import cautions, checks, missing
from kneebench.records import Results
from kneebench.records.markup import html_table, paragraphs


def results_html(results: Results) -> str:
    """What failed, the brief's title and the table that `kneebench show` prints, then the caveats:
    the brief's own sections.
    """
    brief = Brief(results)
    alarms, *notes = (part.section(brief.view) for part in (checks, missing, cautions))
    found = configuration_summaries(results)
    table = [(name, *cells) for name, cells in rows(found) if name] if found else []
    return "".join(
        (
            _section(alarms),
            paragraphs([brief.banner]),
            f"<p><strong>{escape(brief.title)}</strong></p>",
            paragraphs([brief.subtitle, *(one.words for one in brief.view.disturbances)]),
            html_table(["", *(one.name for one in found)], table, brief.view.plan.question),
            *map(_section, notes),
            paragraphs([DERIVED]),
        )
    )


def _section(section: Section | None) -> str:
    if section is None:
        return ""
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in section.sentences)
    tables = (
        html_table([column.title for column in one.columns], [row.cells for row in one.rows])
        for one in section.tables
    )
    title = f"<p><strong>{escape(section.title)}</strong></p>"
    return f"{title}<ul>{sentences}</ul>{''.join(tables)}"
