"""Charts drawn offline by vl-convert: as SVG without scripts, as PNG, as PDF."""

from __future__ import annotations

import re
from typing import Any

from kneebench.brief import chart_theme
from kneebench.brief.section import Figure

_ID = re.compile(r'(\bid="|url\(#|href="#)')
_SIZE = re.compile(r'<svg ([^>]*?)width="([\d.]+)" height="([\d.]+)"')


def svg(figure: Figure) -> str:
    """The figure as SVG to stand within a page: it scales, names its own parts by its own name, and
    says what it shows.
    """
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(_complete(figure.spec))
    drawn = drawn[drawn.index("<svg") :]
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
    import vl_convert

    title = {
        "text": _lines(f"{figure.number}  {figure.title}"),
        "anchor": "start",
        "fontSize": 14,
        "subtitle": says,
        "subtitleColor": chart_theme.FAINT,
    }
    drawn: bytes = vl_convert.vegalite_to_png(
        _complete({**figure.spec, "title": title}), scale=scale
    )
    return drawn


def pdf(figure: Figure) -> bytes:
    """The figure as a PDF of its own: vectors, with the fonts of its texts within."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_pdf(_complete(figure.spec))
    return drawn


def _complete(spec: dict[str, Any]) -> dict[str, Any]:
    return {**spec, "config": {**spec.get("config", {}), **chart_theme.config()}}


def _lines(text: str, longest: int = 62) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) > longest:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
