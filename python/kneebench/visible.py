"""Text from outside (a plan, a results folder, a server), fit for a terminal: control characters
are shown, never sent.
"""

from __future__ import annotations

import json
import re

_NO_CHARACTERS = "".join(
    f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000)
)
_UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f"  # control characters, but not the line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # they turn the direction of writing
    "\u2028\u2029\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # separators of lines, marks, tags
    f"\ud800-\udfff\ufdd0-\ufdef{_NO_CHARACTERS}]"  # halves of characters, and what never is one
)


def visible(text: str) -> str:
    r"""The text with its control characters written as JSON writes them; line feeds stay.

    A terminal obeys control characters: they colour it, name it, overwrite lines. Others reverse
    what is read.

    >>> visible("a\x1b[31mb\u202e"), visible("Größe \U0001f418\nb")
    ('a\\u001b[31mb\\u202e', 'Größe 🐘\nb')
    """
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def escaped(text: str) -> str:
    r"""A name on one line, from which the original can be told: backslashes are doubled.

    >>> print(escaped("a\nb\x1b"), escaped("a\\nb"), escaped("/disks/größe 1.img"))
    a\nb\u001b a\\nb /disks/größe 1.img
    """
    return visible(text.replace("\\", "\\\\")).replace("\n", "\\n")


def spreadsheet_cell(value: object) -> object:
    """A value as a cell of a CSV file. A spreadsheet runs a text that begins as a formula does;
    behind an apostrophe it stays a text. Numbers stay as they are, also those that are texts.
    Control characters are shown.

    >>> [spreadsheet_cell(one) for one in ("=1+1", "@a", "-1.2", -1.2, "+5%", "a-b")]
    ["'=1+1", "'@a", '-1.2', -1.2, "'+5%", 'a-b']
    """
    if not isinstance(value, str):
        return value
    value = visible(value)
    if not value.startswith(("=", "+", "-", "@")):
        return value
    return value if re.fullmatch(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", value, re.I) else f"'{value}"


def is_plain(text: str) -> bool:
    r"""True for text of one line without control characters.

    >>> is_plain("2x NVMe"), is_plain("two\nlines"), is_plain("\x1b[31m")
    (True, False, False)
    """
    return "\n" not in text and not _UNSEEN.search(text)
