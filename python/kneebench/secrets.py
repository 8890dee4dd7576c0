"""Passwords never get into results: every document passes here on its way to the disk.

Of a shell command only a hash does.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from types import NoneType
from typing import Any

HIDDEN = "***"
_URL = re.compile(r"://([^\s\"']*)")
_COLLAPSED = re.compile(r"([A-Za-z]:/[^\s:@/\"']*):[^\s\"']*@")
"""Of a URL that was read as a path, which has no double slash."""
_NAME = (
    r"(?:(?:pg)?(?:ssl)?pass(?:word|phrase|wd)|pwd|secret|token|credential"
    r"|(?:access|account|api|private)[_-]?key)[\w-]{0,40}"
)
_VALUE = r"('(?:[^'\\]|\\.)*'|\{[^}]*\}|[^\s&;\"']+)"
_KEY = re.compile(rf"(?i)((?:^|[?&\s;\"'_-]){_NAME}\s*=\s*){_VALUE}")
_OPTION = re.compile(rf"(?i)((?:^|\s)--(?:\w{{1,20}}-){{0,4}}{_NAME}\s+(?!-)){_VALUE}")
_IN_COMMANDS = (
    re.compile(r"://[^\s:@/\"']*:([^\s\"']+)@"),
    re.compile(r"(?:^|\s)-p(?!\d+\b)([^\s\"']+)"),
    re.compile(r"(?i)bearer\s+([^\s\"']+)"),
)
"""Where a command may hold a password besides: in a URL, glued to -p, in a header."""
_SHELL = ("_command", "_conninfo")
"""How the names of the plan's keys and of the server's settings end whose values may hold a secret
in any form."""
_KEPT = re.compile(r"(?:[\w./+-]{1,80} )?\[not kept, hash [0-9a-f]{16}\]")


def _user_only(found: re.Match[str]) -> str:
    """A URL's part after ://.

    A password is all from the first colon to the last @: it may hold /, ? and #, which servers'
    libraries take as they come.

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


def without_url_passwords(text: str) -> str:
    """The text with the passwords taken out of its URLs, also of those that were read as a path.

    >>> without_url_passwords("cannot read postgresql:/me:s3cret@db/x, password=FILE")
    'cannot read postgresql:/me@db/x, password=FILE'
    """
    return _COLLAPSED.sub(r"\1@", _URL.sub(_user_only, text))


def without_passwords(text: str) -> str:
    """The text with the passwords taken out of its URLs (which stay valid), and replaced by three
    stars in key=value pairs, query strings and options.

    >>> without_passwords("psql postgresql://me:s3c@ret@db/x?a=b host=db password='a b' user=me")
    'psql postgresql://me@db/x?a=b host=db password=*** user=me'
    >>> without_passwords("postgresql://me:a/b?c#d@db:5432/x")
    'postgresql://me@db:5432/x'
    >>> without_passwords("postgresql://me@[::1]:5432,db:1/x")
    'postgresql://me@[::1]:5432,db:1/x'
    >>> without_passwords("postgresql://me:hush/x")
    'postgresql://me:***'
    >>> without_passwords("PGPASSWORD=hush AWS_SECRET_ACCESS_KEY=hush ./restore.sh --token hush -v")
    'PGPASSWORD=*** AWS_SECRET_ACCESS_KEY=*** ./restore.sh --token *** -v'
    """
    if not ("=" in text or "://" in text or "--" in text):  # each pattern needs one of them
        return text
    return _OPTION.sub(rf"\g<1>{HIDDEN}", _KEY.sub(rf"\g<1>{HIDDEN}", _URL.sub(_user_only, text)))


def kept_command(command: str) -> str:
    """What results keep of a shell command: its first word, and a hash that tells it from another;
    what was kept already stays.

    >>> kept_command("PGPASSWORD=hush pgbackrest restore --token hush")
    'pgbackrest [not kept, hash 5e24b0a29da5d65e]'
    >>> kept_command(kept_command("restore.sh hush")) == kept_command("restore.sh hush")
    True
    >>> kept_command("")
    ''
    """
    if not command or is_kept_command(command):
        return command
    return f"{_first_word(command)} [not kept, hash {_hash(command)}]".lstrip()


def is_kept_command(text: str) -> bool:
    """True for what `kept_command` gives: no shell can run it."""
    return bool(_KEPT.fullmatch(text))


@cache
def _hash(command: str) -> str:
    """Slow on purpose (about 50 ms): a weak password in a command shall not be guessed from a
    published page.
    """
    return hashlib.scrypt(
        command.encode("utf-8", "surrogatepass"), salt=b"kneebench", n=2**14, r=8, p=1, dklen=8
    ).hex()


def _first_word(command: str) -> str:
    """The first word that sets no variable; empty where it is not a plain name."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    first = next((word for word in words if not re.match(r"\w+=", word)), "")
    return first if re.fullmatch(r"[\w./+-]{1,80}", first) else ""


def redacted_output(command: str, words: str) -> str:
    """What a shell command said, without the secrets that stand in the command.

    >>> redacted_output("restore.sh -phush --token=abc", "no such user: hush, abc; usage: -phush")
    'no such user: ***, ***; usage: ***'
    """
    for secret in sorted(set(_secrets(command)), key=len, reverse=True):
        words = re.sub(rf"(?:(?<!\w)-p|(?<!\w)){re.escape(secret)}(?!\w)", HIDDEN, words)
    return without_passwords(words)


def _secrets(command: str) -> Iterator[str]:
    for pattern in (_KEY, _OPTION):
        yield from (found[2].strip("'") for found in pattern.finditer(command))
    for pattern in _IN_COMMANDS:
        yield from (found[1] for found in pattern.finditer(command))


def clean(document: Any) -> Any:
    """A JSON document of which every string went through `without_passwords`, and every command
    through `kept_command`.

    >>> clean({"database": {"url": "postgresql://me:secret@db/x"}, "n": [1, None]})
    {'database': {'url': 'postgresql://me@db/x'}, 'n': [1, None]}
    """
    if isinstance(document, str):
        return without_passwords(document)
    if isinstance(document, dict):
        return {
            key: value if value.__class__ in _PLAIN else _clean_value(key, value, document)
            for key, value in document.items()
        }
    if isinstance(document, list | tuple):
        return [value if value.__class__ in _PLAIN else clean(value) for value in document]
    return document


_PLAIN = {float, int, bool, NoneType}
"""Most of a document: nothing in them to take out."""


def _clean_value(key: Any, value: Any, document: dict[Any, Any]) -> Any:
    if _is_shell(key, value):
        return kept_command(value)
    if key == "command" and isinstance(value, list | tuple):
        return _without_options(value)
    if key == "url" and "pointer" in document:  # of a meter of power
        return re.sub(r"([?&][^=&]*=)[^&]*", rf"\g<1>{HIDDEN}", clean(value))
    return clean(value)


def _without_options(words: Sequence[Any]) -> list[Any]:
    """A program and its arguments: a secret may be the word after its option.

    >>> _without_options(["meter", "--token", "hush", "--key=hush", "-v"])
    ['meter', '--token', '***', '--key=hush', '-v']
    """
    found = [clean(word) for word in words]
    for place, word in enumerate(found[:-1]):
        if isinstance(word, str) and _OPTION.search(f"{word} x"):
            found[place + 1] = HIDDEN
    return found


def _is_shell(key: Any, value: Any) -> bool:
    return isinstance(key, str) and isinstance(value, str) and key.lower().endswith(_SHELL)
