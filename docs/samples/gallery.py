"""The gallery of the site: the brief of each sample as page and PDF, made of its result archive."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from html import escape
from itertools import takewhile
from pathlib import Path

from kneebench import Brief, load
from kneebench.brief.pdf import write_pdf
from kneebench.brief.rendering import write_figures
from kneebench.brief.section import Figure
from kneebench.records import Results

HERE = Path(__file__).parent
_FILES = {"html": "brief", "pdf": "PDF", "toml": "plan", "kneebench": "result archive"}


def archives() -> list[Path]:
    """The kept samples."""
    return sorted(HERE.glob("*.kneebench"))


def render(out: Path) -> None:
    """Write each sample's brief as page and PDF, with its first figure, its plan and its archive,
    into a directory.
    """
    for archive in archives():
        brief = Brief(load(archive))
        write_figures([_first(brief)], out / archive.stem, brief.says, ("svg",))
        brief.write(out / f"{archive.stem}.html")
        write_pdf(brief, out / f"{archive.stem}.pdf")
        plan = archive.with_suffix(".toml")
        for file in (plan, archive):
            shutil.copy(file, out)


def cards() -> Iterator[str]:
    """Each sample for the gallery's page, as Markdown: its finding, a figure, and links to what
    `render` writes.
    """
    for archive in archives():
        yield _card(archive.stem, load(archive))


def _card(name: str, results: Results) -> str:
    brief, campaign = Brief(results), results.campaign
    links = " · ".join(
        f'<a href="samples/{name}.{ending}">{text}</a>' for ending, text in _FILES.items()
    )
    figure = _first(brief)
    return (
        f"## {campaign.resolved.question}\n\n{about((HERE / f'{name}.toml').read_text())}\n\n"
        f"**{escape(brief.title)}**\n\n"
        f"{escape(brief.subtitle)}.\n\n"
        f'<img src="samples/{name}/{figure.name}.svg" alt="{escape(figure.title)}">\n\n'
        f"<p>{links}</p>\n\n"
        f"Measured on {campaign.started_at[:10]} with kneebench {campaign.kneebench}.\n"
    )


def about(plan: str) -> str:
    """What a plan is and needs: the comment that it begins with.

    >>> about("# Two drives.\\n#\\n# Needs root.\\n\\nseed = 1 # any")
    'Two drives.\\n\\nNeeds root.'
    """
    head = takewhile(lambda line: line.startswith("#"), plan.splitlines())
    return "\n".join(line.removeprefix("#").strip() for line in head)


def _first(brief: Brief) -> Figure:
    return next(figure for section in brief.sections for figure in section.figures)
