"""What a value of the plan may be: text, numbers, times, places, addresses.

A value of another kind is told with its line.
"""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs, unquote

from pydantic import AfterValidator, Field, Strict
from pydantic_core import PydanticCustomError

from kneebench.records import Record
from kneebench.secrets import without_passwords
from kneebench.units import Seconds
from kneebench.visible import is_plain

PLAIN = "one line of text without control characters"
WEEK_S, MONTH_S = 7 * 86_400.0, 30 * 86_400.0
_PART_BYTES, _PATH_BYTES = 255, 4000
"""Of a name in a directory, and of a whole path with what kneebench adds to it (limits.h)."""
_CORES = 8192
"""The most that Linux can be built for (NR_CPUS)."""


class Part(Record):
    """A table of the plan; unknown keys are refused."""


def wrong(*key: str, sentence: str) -> PydanticCustomError:
    """An error of a rule that spans fields: `key` is the path of the key that the reader points at,
    `sentence` what is allowed.
    """
    return PydanticCustomError("rule", "{sentence}", {"key": key, "sentence": sentence})


def _plain(text: str) -> str:
    if not is_plain(text):
        raise wrong(sentence=PLAIN)
    return text


def _shell(text: str) -> str:
    _plain(re.sub(r"[\n\r\t]", " ", text))
    return text


def _usable(path: Path) -> Path:
    if not is_plain(str(path)):
        raise wrong(sentence=f"a path: {PLAIN}")
    if len(os.fsencode(path)) > _PATH_BYTES or any(
        len(os.fsencode(part)) > _PART_BYTES for part in path.parts
    ):
        raise wrong(
            sentence=f"a path of at most {_PATH_BYTES} bytes, and {_PART_BYTES} bytes per component"
        )
    return path


Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
Switch = Annotated[bool, Strict()]
Text = Annotated[str, Field(max_length=4000), AfterValidator(_plain)]
Sentence = Annotated[str, Field(max_length=500), AfterValidator(_plain)]
Name = Annotated[str, Field(max_length=100), AfterValidator(_plain)]
Shell = Annotated[str, AfterValidator(_shell)]
Directory = Annotated[Path, AfterValidator(_usable)]
Cores = Annotated[tuple[Annotated[Whole, Field(ge=0, lt=_CORES)], ...], Field(max_length=1024)]
WhileSeconds = Annotated[Seconds, Field(gt=0, le=WEEK_S)]
"""How long something is done or waited for, which is never nothing."""


def check_url(url: str) -> None:
    """A server's address without a password: plans are kept with the results.

    Raises the rule's error for any other.
    """
    if not url.startswith(("postgresql://", "postgres://")):
        raise wrong(
            "url",
            sentence="a server's address, postgresql://user@host:port/database?sslmode=verify-full",
        )
    if without_passwords(url) != url:
        raise wrong(
            "url",
            sentence=(
                "a URL without password, because results contain the plan: put the password in"
                " PGPASSWORD or in a passfile"
            ),
        )
    if sentence := _address_fault(url):
        raise wrong("url", sentence=sentence)


def _address_fault(url: str) -> str:
    """What is allowed in place of an address that no server can have; empty where it is possible.

    >>> _address_fault("postgresql://me@[::1]:5432/x")
    ''
    >>> _address_fault("postgresql:///x?host=/run/postgresql")
    ''
    >>> _address_fault("postgresql://me@db..example/x")
    'a host name, an IP address (IPv6 in brackets), or the directory of a socket'
    """
    rest = url.partition("://")[2]
    place, query = (
        re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2],
        rest.partition("?")[2],
    )
    found = re.fullmatch(r"(\[[^\]]*\]|[^:,\[\]]*)(?::([0-9]*))?", place)
    if not found:
        return "one host and one port, as in postgresql://user@host:5432/database"
    if found[2] and not 0 < int(found[2][:6]) < 65_536:
        return "a port from 1 to 65535"
    try:
        if not is_plain(unquote(url, errors="strict")):
            return f"an address: {PLAIN}"
    except UnicodeDecodeError:
        return "an address whose percent-encoded bytes are UTF-8"
    hosts = [unquote(found[1]), *parse_qs(query).get("host", ())]
    return (
        ""
        if all(map(_may_be_host, hosts))
        else "a host name, an IP address (IPv6 in brackets), or the directory of a socket"
    )


def _may_be_host(host: str) -> bool:
    if not host or host.startswith("/"):
        return True
    try:
        if host.startswith("["):
            ipaddress.IPv6Address(host.strip("[]"))
            return True
        name = host.encode(
            "idna"
        ).decode()  # refuses empty labels, and labels of more than 63 bytes
    except ValueError:
        return False
    return len(name) <= 253 and bool(re.fullmatch(r"[A-Za-z0-9._-]+", name))
