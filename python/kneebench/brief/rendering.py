"""Rendering: sections become one self-contained page that reads offline and prints well."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import partial
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

from kneebench.analysis.wording import DERIVED
from kneebench.brief.drawing_process import DrawingProcess
from kneebench.brief.figure_files import downloads
from kneebench.brief.section import Part, Section
from kneebench.directories import make_directory
from kneebench.errors import PlanError
from kneebench.results.atomic_write import write_text, writing


class Page(ABC):
    """A page: its title, and its sections in order."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The finding."""

    @property
    @abstractmethod
    def version(self) -> str:
        """The kneebench that measured."""

    @property
    @abstractmethod
    def sections(self) -> tuple[Section, ...]:
        """All that the page says below its title."""

    def each_section(self) -> Iterable[Section]:
        """The sections in order, each as soon as it is made."""
        return self.sections

    @property
    def says(self) -> str:
        """What goes wherever one of its figures goes."""
        return DERIVED

    @abstractmethod
    def html(self) -> str:
        """The page: no script, no font, nothing from elsewhere."""

    @property
    def parts(self) -> dict[Part, list[tuple[bool, list[Section]]]]:
        """The page in its parts; in each, neighbouring sections of nothing but figures together,
        to be set in two columns.
        """
        calm = [section for section in self.sections if section.tone != "alarm"]
        found = {part: [one for one in calm if one.part == part] for part in get_args(Part)}
        return {
            part: [(figured, list(some)) for figured, some in groupby(every, key=_only_figures)]
            for part, every in found.items()
            if every
        }

    @property
    def contents(self) -> list[Section]:
        """What stands behind the front."""
        return [section for section in self.sections if section.part != "front"]

    @property
    def alarms(self) -> list[Section]:
        """What stands above everything else, the title included."""
        return [section for section in self.sections if section.tone == "alarm"]

    def write(self, path: str | Path) -> Path:
        """Write the page to a file that ends in .html, whole or not at all. Raises PlanError for
        another ending, and where it cannot be written.
        """
        path = Path(path)
        if path.suffix != ".html":
            do = "use .html; `kneebench brief --out` also writes .pdf, .md and .json"
            raise PlanError(
                f"cannot write {path}", seen=f"a page is HTML, not {path.suffix!r}", do=do
            )
        with writing(path):
            make_directory(path.parent)
            write_text(path, self.html())
        return path

    def render_page(self, template: str, **values: Any) -> str:
        """The page by a template of this package, which calls it `brief`."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        shelf = Environment(
            loader=PackageLoader("kneebench.brief", "."), autoescape=True, undefined=StrictUndefined
        )
        shelf.trim_blocks = shelf.lstrip_blocks = shelf.keep_trailing_newline = True
        style = (files("kneebench.brief") / "page.css").read_text(encoding="utf-8")
        with DrawingProcess() as process:
            for section in self.each_section():
                process.begin(section.figures)
            return shelf.get_template(template).render(
                brief=self,
                style=style,
                svg=process.svg,
                downloads=partial(downloads, says=self.says),
                **values,
            )


def _only_figures(section: Section) -> bool:
    others = section.sentences or section.tables or section.part == "appendix"
    return bool(section.figures) and not others
