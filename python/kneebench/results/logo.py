"""The author's logo: copied into the campaign's folder, so that its brief has it years later."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from xml.parsers import expat

from kneebench.errors import KneebenchError, PlanError
from kneebench.plan.authors_words import LOGOS, MOST_LOGO_BYTES
from kneebench.regular_file import content, named_content
from kneebench.results.atomic_write import write_bytes

PNG = b"\x89PNG\r\n\x1a\n"
STILL = "use a picture without scripts and references, such as a PNG"
MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


def read_logo(file: Path) -> bytes:
    """The picture that a plan names. Raises PlanError where there is none, or it is too large."""
    try:
        picture = named_content(file, MOST_LOGO_BYTES + 1, "name a picture")
    except OSError as error:
        do = "correct the path, or leave it out"
        raise PlanError("brief.logo", seen=f"{file}: {error.strerror}", do=do) from error
    if len(picture) > MOST_LOGO_BYTES:
        raise PlanError("brief.logo", seen=f"{file} is larger than 1 MB", do="use a smaller one")
    if not _is_picture(file.suffix, picture):
        raise PlanError("brief.logo", seen=f"{file} is no {file.suffix[1:].upper()}", do="name one")
    if part := active_part(file.suffix, picture):
        raise PlanError("brief.logo", seen=f"{file} has {part}", do=STILL)
    return picture


_ACTIVE = {
    *("script", "foreignobject", "iframe", "object", "embed", "audio", "video", "handler"),
    *("listener", "link", "animate", "set"),
}
"""Elements of SVG that run something, contain a page, or change an attribute into what does."""
_OUTSIDE = re.compile(
    r"@import|(?:url|image|src)\(\s*+[\"']?+(?!#|data:image/(?:png|jpeg|gif|webp)[;,])[^\s)]", re.I
)
"""What a style refers to elsewhere; a backslash in one is a disguise."""
_WITHIN = re.compile(r"#|data:image/(?:png|jpeg|gif|webp)[;,]", re.I)


def active_part(ending: str, picture: bytes) -> str:
    """What a picture has that is no picture: scripts, or references to elsewhere; empty for none.

    >>> active_part(".svg", b'<svg><circle onload="x()"/></svg>')
    'the attribute onload'
    >>> active_part(".svg", b'<svg><image href="#a"/></svg>')
    ''
    """
    if ending == ".png":
        return ""
    found, within = list[str](), [""]

    def element(tag: str, attributes: dict[str, str]) -> None:
        within[0] = tag.rpartition(":")[2].lower()
        if within[0] in _ACTIVE:
            found.append(f"a <{within[0]}>")
        for name, value in attributes.items():
            own = name.rpartition(":")[2].lower()
            outside = own in ("href", "src") and not _WITHIN.match(value.strip())
            hidden = own == "style" and "\\" in value
            if own.startswith("on") or own == "base" or outside or hidden or _OUTSIDE.search(value):
                found.append(f"the attribute {own}" + (" to another file" if outside else ""))

    def text(written: str) -> None:
        if within[0] == "style" and ("\\" in written or _OUTSIDE.search(written)):
            found.append("a style that refers to another file")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = element
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = lambda *_: found.append("an entity")
    parser.ProcessingInstructionHandler = lambda *_: found.append("a processing instruction")
    try:
        parser.Parse(picture, True)
    except (expat.ExpatError, ValueError) as error:
        return f"no valid XML ({error})"
    return found[0] if found else ""


def _is_picture(ending: str, content: bytes) -> bool:
    return content.startswith(PNG) if ending == ".png" else b"<svg" in content


def keep_logo(folder: Path, file: Path | None) -> None:
    """Copy the plan's logo into a campaign's folder, in place of an earlier one; without a name in
    the plan there is none.
    """
    picture = read_logo(file) if file else b""
    for ending in LOGOS:
        (folder / f"logo{ending}").unlink(missing_ok=True)
    if file:
        write_bytes(folder / f"logo{file.suffix}", picture)


def kept_logo(folder: Path) -> tuple[str, bytes] | None:
    """The ending and the bytes of a campaign's logo; None where it has none that can be read.

    Raises KneebenchError for one that is more than a picture.
    """
    for ending in LOGOS:
        file = folder / f"logo{ending}"
        try:
            picture = content(file, MOST_LOGO_BYTES, inner=True)
        except (OSError, KneebenchError):
            continue
        if part := active_part(ending, picture):
            raise KneebenchError(f"cannot use {file}", seen=f"it has {part}", do=STILL)
        return ending, picture
    return None


def logo_file(folder: Path | None) -> Path | None:
    """A campaign's own copy of its logo, for the plan that measures it again; None without one."""
    found = kept_logo(folder) if folder else None
    return folder / f"logo{found[0]}" if found and folder else None


def as_uri(logo: tuple[str, bytes]) -> str:
    """The picture within a page."""
    ending, picture = logo
    return f"data:{MEDIA_TYPES[ending]};base64,{base64.b64encode(picture).decode()}"
