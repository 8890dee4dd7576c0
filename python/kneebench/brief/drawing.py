"""Charts drawn offline by vl-convert: as SVG without scripts, as PNG, as PDF."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import textwrap
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from kneebench.brief import chart_theme
from kneebench.brief.section import Figure
from kneebench.errors import KneebenchError
from kneebench.units import size
from kneebench.visible import visible

PROGRAM = Path(__file__).with_name("svg_program.py")

_ID = re.compile(r'(\bid="|url\(#|href="#)')
_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
MARGIN, TITLE_CHARACTER, CHARACTER = 20.0, 8.4, 6.4
"""Pixels beside a title, and of a character of the title and of what is below it."""
_SIZE = re.compile(r'<svg ([^>]*?)width="([\d.]+)" height="([\d.]+)"')


class Undrawn(KneebenchError):
    """There is no memory for the engine that draws."""


def _converted(form: str, specification: str, **options: float) -> bytes:
    """A picture of a specification. The JavaScript engine ends its process where it gets no address
    space, so that under a limit (`ulimit -v`) one of its own draws. Raises Undrawn.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        import vl_convert

        drawn = getattr(vl_convert, f"vegalite_to_{form}")(specification, **options)
        return drawn.encode() if isinstance(drawn, str) else bytes(drawn)
    _, _, drawn = _drawn_apart(form, specification, json.dumps(options), limit).partition(b"\n")
    return drawn


@cache
def _drawn_apart(form: str, specification: str, options: str, limit: int) -> bytes:
    if specification:
        _drawn_apart("svg", "", "{}", limit)  # once, whether it starts at all
    done = subprocess.run(
        [sys.executable, "-P", str(PROGRAM), form, options],
        input=specification.encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        seen = f"the engine for drawing needs more address space than the {size(limit)} it may have"
        do = "run `ulimit -v unlimited`, then `kneebench brief CAMPAIGN`"
        raise Undrawn("cannot draw figures", seen=seen, do=do)
    return done.stdout


def svg(figure: Figure) -> str:
    """The figure as SVG to stand within a page."""
    return within_page(figure, _converted("svg", complete(figure)).decode())


def within_page(figure: Figure, drawn: str) -> str:
    """A figure that was drawn, as it stands within a page: it scales, names its own parts by its
    own name, and says what it shows.
    """
    drawn = visible(drawn[drawn.index("<svg") :])
    drawn = _ID.sub(rf"\g<1>{figure.name}-", drawn)
    return _SIZE.sub(
        lambda found: (
            f'<svg {found[1]}role="img" aria-label="{_attribute(figure.alt)}" style="--width:'
            f' {found[2]}px"'
        ),
        drawn,
        count=1,
    )


def png(figure: Figure, says: str, scale: float = 2) -> bytes:
    """The figure with its title, for a slide or a mail; `says` goes wherever the picture goes."""
    return _converted("png", titled(figure, says), scale=scale)


def titled_svg(figure: Figure, says: str) -> bytes:
    """The same as SVG, a file of its own."""
    return visible(_converted("svg", titled(figure, says)).decode()).encode()


def standing_alone(figure: Figure, within: str, says: str) -> str:
    """The figure as it stands within a page, as a file of its own: with its size, its title and
    what it `says`, without being drawn again.
    """
    box = _BOX.search(within)
    wide, high = (float(box[1]), float(box[2])) if box else (600.0, 400.0)
    lines = _lines(f"{figure.number}  {figure.title}")
    top = 18.0 * len(lines) + 26
    texts = [_text(18.0 * n, line, "bold", chart_theme.INK) for n, line in enumerate(lines, 1)]
    texts.append(_text(18.0 * len(lines) + 16, says, "normal", chart_theme.FAINT))
    sized = within.replace("<svg ", f'<svg y="{top:g}" width="{wide:g}" height="{high:g}" ', 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(wide, 600):g}"'
        f' height="{top + high:g}"><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(texts)}{sized}</svg>"
    )


def _text(y: float, words: str, weight: str, colour: str) -> str:
    font = f'font-family="{_attribute(chart_theme.FONT)}" font-size="13" font-weight="{weight}"'
    return f'<text x="14" y="{y:g}" {font} fill="{colour}">{_attribute(words)}</text>'


def titled_pdf(figure: Figure, says: str) -> bytes:
    return _converted("pdf", titled(figure, says))


def pdf(figure: Figure) -> bytes:
    """The figure as a PDF of its own: vectors, with the fonts of its texts within."""
    return _converted("pdf", complete(figure))


def complete(figure: Figure) -> str:
    """Its specification with the theme, as JSON on one line. Raises ValueError for a number that
    JSON does not have.
    """
    return _complete(figure.spec)


def titled(figure: Figure, says: str) -> str:
    """The same with its title, and below it what it `says`, in lines that are no wider than it."""
    wide = _width(complete(figure)) - MARGIN
    title = {
        "text": _lines(f"{figure.number}  {figure.title}", wide / TITLE_CHARACTER),
        "anchor": "start",
        "fontSize": 14,
        "subtitle": _lines(says, wide / CHARACTER),
        "subtitleColor": chart_theme.FAINT,
    }
    return _complete({**figure.spec, "title": title})


@lru_cache(maxsize=1)
def _width(specification: str) -> float:
    """How wide a chart is with its axes. Only drawing it shows that, so the last is kept: a figure
    is written in several formats.
    """
    box = _BOX.search(_converted("svg", specification).decode())
    return float(box[1]) if box else 400.0


def _complete(spec: dict[str, Any]) -> str:
    """With the theme, as JSON. Raises ValueError for a number that JSON does not have."""
    whole = {**spec, "config": {**spec.get("config", {}), **chart_theme.config()}}
    return json.dumps(whole, allow_nan=False)


def _lines(text: str, longest: float = 62) -> list[str]:
    """A text in lines of at most so many characters; a longer word has a line of its own."""
    return textwrap.wrap(text, int(longest), break_long_words=False, break_on_hyphens=False)


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
