"""The brief as a PDF, set by typst: the same sections as the page, figures as vectors, fonts
within.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from kneebench.analysis.wording import DERIVED
from kneebench.brief import drawing
from kneebench.brief.page import WHOSE, Brief
from kneebench.brief.section import Section
from kneebench.results.atomic_write import write_bytes

Paper = Literal["a4", "us-letter"]


def write_pdf(brief: Brief, path: Path, *, paper: Paper = "a4", appendix: bool = False) -> Path:
    """Write the brief as a PDF, whole or not at all; its path. `appendix`: with every rung, every
    setting, the evidence and the plan too.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, pdf(brief, paper=paper, appendix=appendix))
    return path


def pdf(brief: Brief, *, paper: Paper = "a4", appendix: bool = False) -> bytes:
    """The brief as a PDF. The same results give the same pages; no font of the machine is used."""
    import typst

    parts = {name: blocks for name, blocks in brief.parts.items() if appendix or name != "appendix"}
    sections = [
        *brief.alarms,
        *(one for some in parts.values() for _, each in some for one in each),
    ]
    with TemporaryDirectory(prefix="kneebench-pdf-") as folder:
        place = Path(folder)
        for section in sections:
            for figure in section.figures:
                (place / _file(figure.name)).write_bytes(drawing.pdf(figure))
        (place / "brief.json").write_text(json.dumps(_document(brief, parts, paper)))
        source = place / "page.typ"
        source.write_text((files("kneebench.brief") / "page.typ").read_text(encoding="utf-8"))
        made: bytes = typst.compile(source, root=place, ignore_system_fonts=True)
    return made


def _document(
    brief: Brief, parts: dict[Any, list[tuple[bool, list[Section]]]], paper: Paper
) -> dict[str, Any]:
    view, words = brief.view, brief.view.plan.brief
    return {
        "paper": paper,
        "title": brief.title,
        "subtitle": brief.subtitle,
        "date": view.campaign.started_at[:10],
        "kicker": brief.kicker,
        "banner": brief.banner,
        "publication": words.title,
        "authors": list(words.authors),
        "byline": brief.byline,
        "summary": words.summary,
        "whose": WHOSE,
        "disturbed": [one.words for one in view.disturbances],
        "conditions": [
            view.plan.question,
            brief.setup,
            *(one.sentence for one in view.limited_memory),
        ],
        "derived": DERIVED,
        "alarms": [_section(one) for one in brief.alarms],
        "parts": [
            {
                "name": name,
                "blocks": [
                    {"figured": figured, "sections": list(map(_section, some))}
                    for figured, some in blocks
                ],
            }
            for name, blocks in parts.items()
        ],
        "closing": [
            brief.written,
            *([] if "appendix" in parts else [ELSEWHERE]),
            *brief.publishing,
        ],
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
    return {**document, "figures": figures}


def _file(figure: str) -> str:
    return f"{figure}.pdf"
