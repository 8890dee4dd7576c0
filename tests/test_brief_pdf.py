"""The brief as a PDF: its pages, its words, and what it is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from math import hypot
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader, Transformation
from pypdf.generic import ContentStream
from typer.testing import CliRunner

from kneebench.brief import Brief
from kneebench.brief.pdf import Paper, pdf, write_pdf
from kneebench.cli import app
from tests.recordings import recorded, unpack, with_plan

MOST_PAGES = 8
"""Of a brief without its appendix."""
WIDTHS: dict[Paper, int] = {"a4": 595, "us-letter": 612}
"""In points."""


def read(made: bytes) -> PdfReader:
    return PdfReader(BytesIO(made))


def words(made: bytes) -> str:
    """What a PDF says, without its line breaks."""
    return " ".join(" ".join(page.extract_text() for page in read(made).pages).split())


def letters(
    drawn: Any, shown: Transformation, figure: bool = False
) -> Iterator[tuple[bool, float]]:
    """The heights of all texts of a page or of a form on it, in points as the page shows them; True
    for those of a figure, which is a form.
    """
    states, size, text = [shown], 0.0, Transformation()
    for operands, operator in ContentStream(drawn.get("/Contents", drawn), None).operations:
        numbers = tuple(float(one) for one in operands if isinstance(one, int | float))
        if operator == b"q":
            states.append(states[-1])
        elif operator == b"Q":
            states.pop()
        elif operator == b"cm":
            states[-1] = Transformation(numbers).transform(states[-1])
        elif operator == b"Do":
            form = drawn["/Resources"]["/XObject"][operands[0]]
            if form["/Subtype"] == "/Form":
                placed = Transformation(form.get("/Matrix", Transformation().ctm))
                yield from letters(form, placed.transform(states[-1]), figure=True)
        elif operator == b"Tf":
            size = numbers[-1]
        elif operator == b"Tm":
            text = Transformation(numbers)
        elif operator in (b"Tj", b"TJ"):
            up = text.transform(states[-1]).ctm[2:4]
            yield figure, round(size * hypot(*up), 2)


@pytest.mark.parametrize("name", ["plateau", "log_bound", "saturated", "emulated"])
@pytest.mark.parametrize("paper", WIDTHS)
def test_a_pdf_is_short_without_its_appendix_and_all_its_letters_can_be_read(
    name: str, paper: Paper
) -> None:
    brief = Brief(recorded(name))
    short = read(pdf(brief, paper=paper))
    assert len(short.pages) <= MOST_PAGES
    begins = [n for n, page in enumerate(short.pages) if "How we tested" in page.extract_text()]
    assert begins[:1] == [2], "the front has two pages"
    assert round(float(short.pages[0].mediabox.width)) == WIDTHS[paper]
    whole = read(pdf(brief, paper=paper, appendix=True))
    assert len(whole.pages) > len(short.pages)
    set_in = {one for page in whole.pages for one in letters(page, Transformation())}
    assert min(size for _, size in set_in) >= 7, "no letter is small"
    assert {size for figure, size in set_in if figure} == {7.2}, "figures have letters of one size"


@pytest.mark.parametrize("name", ["plateau", "log_bound", "saturated", "emulated"])
def test_figures_follow_their_numbers_from_the_first_page(name: str) -> None:
    pages = read(pdf(Brief(recorded(name)))).pages
    texts = [page.extract_text() for page in pages]
    numbers = [re.findall(r"^Fig\. (\d[a-z]?) ", text, re.MULTILINE) for text in texts]
    assert numbers[0][:1] in (["1"], ["1a"])
    every = [one for some in numbers for one in some]
    assert every == sorted(every) and len(every) > 4
    caveats = [text for text in texts if "\nCaveats\n" in text or text.startswith("Caveats\n")]
    assert len(caveats) == 1
    assert len(texts[-1].splitlines()) > 10, "the last page is not one of a line or two"


def test_the_finding_its_words_and_the_authors_are_in_it() -> None:
    title = 'A #title with *marks*, $x$ and "quotes"'
    brief = Brief(with_plan(recorded(), brief={"title": title, "authors": ["Ada _Byron_"]}))
    said = words(pdf(brief))
    assert title in said and "Ada _Byron_" in said
    assert " ".join(brief.title.split()) in said
    assert "How we tested" in said and "Appendix" not in said
    assert "Appendix" in words(pdf(brief, appendix=True))


def test_the_command_writes_it_beside_the_page_and_where_it_is_wanted(tmp_path: Path) -> None:
    folder = unpack("saturated", tmp_path)
    runner = CliRunner()
    answer = runner.invoke(app, ["brief", str(folder), "--pdf", "--paper", "us-letter"])
    assert answer.exit_code == 0, answer.output
    assert answer.output.strip() == str(folder / "brief.pdf")
    other = tmp_path / "out.pdf"
    assert runner.invoke(app, ["brief", str(folder), "--out", str(other)]).exit_code == 0
    for file, width in ((folder / "brief.pdf", 612), (other, 595)):
        assert round(float(read(file.read_bytes()).pages[0].mediabox.width)) == width


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--appendix"], "--appendix: only a PDF has it"),
        (["--paper", "a4", "--out", "x.html"], "--paper: only a PDF has it"),
        (["--pdf", "--out", "x.html"], "--pdf with --out: each is another form"),
        (["--figures", "f", "--markdown"], "--markdown with --figures: each is another form"),
    ],
)
def test_what_would_be_ignored_is_refused_and_nothing_is_written(
    options: list[str], says: str, tmp_path: Path
) -> None:
    folder = unpack("saturated", tmp_path)
    before = sorted(tmp_path.rglob("*"))
    answer = CliRunner().invoke(app, ["brief", str(folder), *options])
    assert answer.exit_code == 2
    assert says in " ".join(answer.output.split())
    assert sorted(tmp_path.rglob("*")) == before


def test_a_pdf_that_cannot_be_written_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "brief.pdf"
    file.write_bytes(b"before")
    monkeypatch.setattr("typst.Compiler", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_pdf(Brief(recorded()), file)
    assert [one.name for one in tmp_path.iterdir()] == ["brief.pdf"]
    assert file.read_bytes() == b"before"
