"""Passwords never get into results: every document passes here on its way to the disk."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "***"
_URL = re.compile(r"://([^\s\"']*)")
_KEY = re.compile(r"(?i)((?:^|[?&\s;\"'_-])(?:pg)?(?:ssl)?pass(?:word|phrase|wd)\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;\"']+)")


def _user_only(found: re.Match[str]) -> str:
    """A URL's part after ://. A password is all from the first colon to the last @: it may hold /, ? and #, which servers' libraries take as they come.

    A port that is no number is taken for a password whose @ was forgotten.
    """
    rest = found[1]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    user, colon, _ = rest.partition(":")
    if "@" in rest and colon and "@" not in user:
        return f"://{user}@{rest.rpartition('@')[2]}"
    hosts = re.sub(r"\[[^\]]*\]", "", authority.rpartition("@")[2]).split(",")
    if any(":" in host and not re.fullmatch(r"\d*", host.partition(":")[2]) for host in hosts):
        return f"://{authority.partition(':')[0]}:{HIDDEN}"
    return found[0]


def without_passwords(text: str) -> str:
    """The text with the passwords taken out of its URLs (which stay valid), and replaced by three stars in key=value pairs and query strings.

    >>> without_passwords("psql postgresql://me:s3c@ret@db/x?sslmode=require host=db password='a b' user=me")
    'psql postgresql://me@db/x?sslmode=require host=db password=*** user=me'
    >>> without_passwords("postgresql://me:a/b?c#d@db:5432/x"), without_passwords("postgresql://me@[::1]:5432,db:1/x")
    ('postgresql://me@db:5432/x', 'postgresql://me@[::1]:5432,db:1/x')
    >>> without_passwords("postgresql://me:hush/x")
    'postgresql://me:***'
    >>> without_passwords("PGPASSWORD=hush ./restore.sh")
    'PGPASSWORD=*** ./restore.sh'
    """
    return _KEY.sub(rf"\g<1>{HIDDEN}", _URL.sub(_user_only, text))


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
