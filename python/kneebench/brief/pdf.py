"""The brief as a PDF, set by typst: the same sections as the page, figures as vectors, fonts
within.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from kneebench.analysis.wording import DERIVED
from kneebench.brief import drawing
from kneebench.brief.page import WHOSE, Brief
from kneebench.brief.rendering import Page
from kneebench.brief.section import Section
from kneebench.directories import make_directory
from kneebench.extras import require_extra
from kneebench.private_folder import private_folder
from kneebench.results.atomic_write import write_bytes

Paper = Literal["a4", "us-letter"]
FRONT_PAGES = 2
SIZES = (1.0, 0.95, 0.9, 0.85, 0.8)
"""Of all that is set, the first that makes the front end on its pages."""


def write_pdf(brief: Brief, path: Path, *, paper: Paper = "a4", appendix: bool = False) -> Path:
    """Write the brief as a PDF, whole or not at all; its path. `appendix`: with every rung, every
    setting, the evidence and the plan too.
    """
    make_directory(path.parent)
    write_bytes(path, pdf(brief, paper=paper, appendix=appendix))
    return path


def pdf(brief: Brief, *, paper: Paper = "a4", appendix: bool = False) -> bytes:
    """The brief as a PDF. The same results give the same pages; no font of the machine is used."""
    parts = {name: blocks for name, blocks in brief.parts.items() if appendix or name != "appendix"}
    sections = [
        *brief.alarms,
        *(one for some in parts.values() for _, each in some for one in each),
    ]
    document = _document(brief, parts, paper)
    if brief.logo:
        ending, picture = brief.logo
        name = f"logo{ending}"
        with contextlib.suppress(RuntimeError):  # typst cannot draw every picture of browsers
            return compiled(sections, document | {"logo": [name]}, {name: picture})
    return compiled(sections, document)


def compiled(
    sections: Sequence[Section], document: dict[str, Any], pictures: Mapping[str, bytes] = {}
) -> bytes:
    """A PDF of what a page says, with the figures of its sections, and other pictures by name.

    Where the front does not end on its two pages, all but the figures is set smaller, as far as
    that helps, but no letter below 7 pt. Raises PlanError without the extra `pdf`.
    """
    require_extra("pdf", "cannot write a PDF")
    with private_folder() as place:
        for section in sections:
            for figure in section.figures:
                (place / _file(figure.name)).write_bytes(drawing.pdf(figure))
        for name, picture in pictures.items():
            (place / name).write_bytes(picture)
        template = (files("kneebench.brief") / "page.typ").read_text(encoding="utf-8")
        (place / "page.typ").write_text(template)
        made: bytes = _compiler(place, document, _size(place, document)).compile()
    return made


def _size(place: Path, document: dict[str, Any]) -> float:
    """Of those that make the front end on its pages, or on as few as any, the largest with the
    fewest pages: the last page is not one of a line.
    """
    pages = {size: _pages(place, document, size) for size in SIZES}
    return min(SIZES, key=lambda size: (max(FRONT_PAGES, pages[size][0]), pages[size][-1]))


def _pages(place: Path, document: dict[str, Any], size: float) -> list[int]:
    """Where the front ends, set in this size, and where all of it does."""
    ends: list[int] = json.loads(_compiler(place, document, size).query("<pages>", field="value"))
    return ends


def _compiler(place: Path, document: dict[str, Any], size: float) -> Any:
    import typst

    (place / "brief.json").write_text(json.dumps(document | {"fit": size}))
    return typst.Compiler(place / "page.typ", root=place, ignore_system_fonts=True)


def _document(
    brief: Brief, parts: dict[Any, list[tuple[bool, list[Section]]]], paper: Paper
) -> dict[str, Any]:
    view, words = brief.view, brief.view.plan.brief
    elsewhere = [] if "appendix" in parts else [ELSEWHERE]
    plain = plain_document(
        brief,
        paper,
        kicker=brief.kicker,
        banner=brief.banner,
        subtitle=brief.subtitle,
        closing=[brief.written, *elsewhere, *brief.publishing],
        parts=parts,
    )
    return plain | {
        "publication": words.title,
        "authors": list(words.authors),
        "byline": brief.byline,
        "summary": words.summary,
        "disturbed": [one.words for one in view.disturbances],
        "conditions": [
            view.plan.question,
            brief.setup,
            *filter(None, [brief.intervals]),
            *(one.sentence for one in view.limited_memory),
        ],
    }


def plain_document(
    page: Page,
    paper: Paper,
    *,
    kicker: str,
    banner: str,
    subtitle: str,
    closing: Sequence[str],
    parts: dict[Any, list[tuple[bool, list[Section]]]] | None = None,
) -> dict[str, Any]:
    """What page.typ sets of any page; `parts`: those of it, if not all."""
    shown = page.parts if parts is None else parts
    return {
        "paper": paper,
        "title": page.title,
        "subtitle": subtitle,
        "kicker": kicker,
        "banner": banner,
        "logo": [],
        "publication": "",
        "authors": [],
        "byline": "",
        "summary": "",
        "whose": WHOSE,
        "disturbed": [],
        "conditions": [],
        "derived": page.derived or DERIVED,
        "alarms": [_section(one) for one in page.alarms],
        "parts": _with_lead([_part(name, blocks) for name, blocks in shown.items()]),
        "closing": list(closing),
    }


ELSEWHERE = (
    "Every rung, every setting, the evidence and the plan are in brief.html and in the campaign"
    " folder."
)


def _section(one: Section) -> dict[str, Any]:
    document = one.model_dump(mode="json", exclude={"figures"})
    figures = [
        {"file": _file(figure.name), **figure.model_dump(mode="json", exclude={"spec"})}
        for figure in one.figures
    ]
    return {**document, "figures": figures, "lead": []}


def _part(name: str, blocks: list[tuple[bool, list[Section]]]) -> dict[str, Any]:
    every = [{"figured": one, "sections": list(map(_section, some))} for one, some in blocks]
    return {"name": name, "blocks": every}


def _with_lead(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures of the first section that is nothing but figures stand in the first section that
    has a paragraph for each storage: the answer is seen before it is read on.
    """
    every = [one for part in parts for block in part["blocks"] for one in block["sections"]]
    first = next((one for one in every if one["stop_reasons"]), None)
    shown = next((one for one in every if one["figures"]), None)
    if first and shown and first is not shown:
        first["lead"], shown["figures"] = shown["figures"], []
    return parts


def _file(figure: str) -> str:
    return f"{figure}.pdf"
