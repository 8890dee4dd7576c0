"""Passwords never get into results: every document passes here on its way to the disk."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "***"
_AUTHORITY = re.compile(r"(://)([^/?#\s\"']*)@")
_KEY = re.compile(r"(?i)((?:^|[?&\s;\"'_-])(?:pg)?(?:ssl)?pass(?:word|phrase|wd)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;\"']+)")


def _user_only(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2].partition(':')[0]}@"


def without_passwords(text: str) -> str:
    """The text with the passwords taken out of its URLs (which stay valid), and replaced by three stars in key=value pairs and query strings.

    >>> without_passwords("psql postgresql://me:s3c@ret@db/x?sslmode=require host=db password='a b' user=me")
    'psql postgresql://me@db/x?sslmode=require host=db password=*** user=me'
    >>> without_passwords("PGPASSWORD=hush ./restore.sh")
    'PGPASSWORD=*** ./restore.sh'
    """
    return _KEY.sub(rf"\g<1>{HIDDEN}", _AUTHORITY.sub(_user_only, text))


def clean(document: Any) -> Any:
    """A JSON document of which every string went through `without_passwords`.

    >>> clean({"database": {"url": "postgresql://me:secret@db/x"}, "n": [1, None]})
    {'database': {'url': 'postgresql://me@db/x'}, 'n': [1, None]}
    """
    if isinstance(document, str):
        return without_passwords(document)
    if isinstance(document, dict):
        return {key: clean(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [clean(value) for value in document]
    return document
