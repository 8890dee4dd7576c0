"""The author's logo: copied into the campaign's folder, so that its brief has it years later."""

from __future__ import annotations

import base64
import contextlib
from pathlib import Path

from kneebench.errors import KneebenchError, PlanError
from kneebench.plan.authors_words import LOGOS, MOST_LOGO_BYTES
from kneebench.regular_file import content, named_content
from kneebench.results.atomic_write import write_bytes

PNG = b"\x89PNG\r\n\x1a\n"
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
    return picture


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
    """The ending and the bytes of a campaign's logo; None where it has none that can be read."""
    for ending in LOGOS:
        with contextlib.suppress(OSError, KneebenchError):
            return ending, content(folder / f"logo{ending}", MOST_LOGO_BYTES, inner=True)
    return None


def logo_file(folder: Path | None) -> Path | None:
    """A campaign's own copy of its logo, for the plan that measures it again; None without one."""
    found = kept_logo(folder) if folder else None
    return folder / f"logo{found[0]}" if found and folder else None


def as_uri(logo: tuple[str, bytes]) -> str:
    """The picture within a page."""
    ending, picture = logo
    return f"data:{MEDIA_TYPES[ending]};base64,{base64.b64encode(picture).decode()}"
