"""Private names in results: which of a document's texts name a host, a user, a drive or a path.

A name is known by the key that has it (`serial`, `address`), or by its form (a URL, an IP or MAC
address, `user@host`, an absolute path). What a key told is then found in every other text, too.
"""

from __future__ import annotations

import ipaddress
import pwd
import re
import socket
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NamedTuple, cast, get_args

from kneebench.plan.power import private_keys, table_of
from kneebench.shelf import ENGINES, POWER_METERS

Kind = Literal[
    "host", "user", "author", "MAC", "serial", "WWID", "id", "campaign", "storage", "path"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SHARED_PART = re.compile(
    r"|\.|\.\.|~|bin|by-(?:diskseq|id|label|partlabel|partuuid|path|uuid)|dev|disk|drives|etc|home"
    r"|images|\.kneebench|lib|mapper|media|mnt|opt|proc|root|run|sbin|shm|srv|sys|tmp|usr|var"
)
"""Parts of paths that say nothing of their machine."""
_PUBLIC = re.compile(
    r"0\.0\.0\.0|127\.0\.0\.1|::1?|auto|here|kneebench|localhost|nobody|root|sa|unknown"
)
"""Hosts and users that every machine has; so are users of an engine's name."""
FIRST_PERSON = 1000
"""User id from which on users are people, not services."""
_KERNEL_NAME = re.compile(
    r"/dev/(?:nvme\d+n\d+(?:p\d+)?|nvme\d+|(?:sd|vd|xvd|hd)[a-z]+\d*"
    r"|(?:loop|dm-|md|ram|zram|sr|nbd|mmcblk)\d+(?:p\d+)?"
    r"|null|zero|shm|stdout|stderr)|/(?:proc|sys)(?:/.*)?"
)
"""What a kernel calls alike on every machine."""
_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][\w.-]*[A-Za-z0-9]|[A-Za-z0-9])"
_IPV4 = r"\d{1,3}(?:\.\d{1,3}){3}"
_IPV6 = (
    r"(?=[0-9A-Fa-f:]*::|(?:[0-9A-Fa-f]{1,4}:){7})(?:[0-9A-Fa-f]{0,4}:){2,7}"
    rf"(?:{_IPV4}|[0-9A-Fa-f]{{1,4}}|(?<=::))(?=:\d{{1,5}}(?![\w:])|(?!\w|:[\w:]|\.\d))"
)
"""An address that is shortened or whole, and no time of day; without a colon or a port after it."""
_FORMS = re.compile(
    rf"(?P<scheme>[A-Za-z][\w+.-]{{0,30}}://)(?:(?P<url_user>[^\s@/:\"']*)@)?(?P<url_host>{_HOST})"
    rf"|(?<![\w@])(?P<user>[A-Za-z_][\w.-]{{0,63}})@(?P<host>{_IPV6}|(?!\d+(?![\w.-])){_HOST})"
    r"|(?P<path>(?<![\w/.:)\]~])(?:~|\.{1,2})?/(?![/\s])[^\s\"'`,;:()\[\]{}<>|]*[\w-])"
    rf"|(?<![\w.])(?P<ip>{_IPV4})(?!\.?\w)"
    rf"|(?<![\w:.])(?P<ipv6>{_IPV6})"
    r"|(?<![\w:.-])(?P<mac>(?:[0-9A-Fa-f]{2}(?P<between>[:-]))(?:[0-9A-Fa-f]{2}(?P=between)){4,18}"
    r"[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4})(?![\w:-])"
    r"|(?<!\w)(?:en|wl|ww|ib)x(?P<interface>[0-9A-Fa-f]{12})(?!\w)"
    r"|(?<![\w.-])(?P<uuid>[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})(?!\w)"
    r"|(?<![\w.-])(?P<wwid>(?:nvme-)?(?:eui|naa|uuid)\.[0-9A-Fa-f][0-9A-Fa-f-]{7,}"
    r"|nvme\.[0-9a-f]{4}(?:-[0-9a-f]+){2,3}|t10\.[A-Z0-9][\w.-]{7,}|nvme-[A-Z][\w.-]*_[\w.-]{4,}"
    r"|(?:wwn-)?0x[0-9A-Fa-f]{16}(?:[0-9A-Fa-f]{16})?)(?!\w)"
)
"""What is a name by its form alone; `rustc@0` is a thread on a core, and `nvme.final_run-4-1` is
the key of a rung.
"""
_PATH_KEYS = (
    *("path", "paths", "log_path", "temporary_path", "base_image_path", "emulated_path"),
    *("bin_dir", "logo", "places", "by_id"),
)
_BY_KEY: dict[str, Kind] = {
    "serial": "serial",
    "wwid": "WWID",
    "drive": "WWID",
    "drives": "WWID",
    "erase": "WWID",
    "uuid": "id",
    "boot": "id",
    "label": "id",
    "user": "user",
    "ssh": "host",
    "address": "host",
    "ray": "host",
    "without": "host",
    "measured": "host",
    "authors": "author",
    "organisation": "author",
    **dict.fromkeys(_PATH_KEYS, "path"),
}
"""Kinds of names by the key that has them; of a table that is listed here, by its keys, too."""


@cache
def _kinds() -> dict[str, Kind]:
    """Kinds of names by key, also by the keys of the plan's meters of power."""
    tables = (table_of(name) for name in POWER_METERS.names())
    own = {key: kind for table in tables for key, kind in private_keys(table).items()}
    return {**cast(dict[str, Kind], own), **_BY_KEY}


_NAMED_HOSTS = ("ssh", "share", "round_trip_s")
"""Keys beside which `name` is a host's."""


class Name(NamedTuple):
    """A private name and its kind."""

    kind: Kind
    text: str


class Found(NamedTuple):
    """A name, and its span in a text."""

    name: Name
    start: int
    end: int


def by_form(text: str) -> Iterator[Found]:
    """The names that a text has by their form, in order; of a path all of it, as one.

    >>> [found.name.text for found in by_form("psql://me@db1/x of bob@10.0.0.7, in /srv/acme")]
    ['me', 'db1', 'bob', '10.0.0.7', '/srv/acme']
    >>> [found.name.text for found in by_form("Of 10.1.2.3. Also version 1.2.3.4.5")]
    ['10.1.2.3']
    >>> [found.name.text for found in by_form("al@2001:db8::1: of ::ffff:10.1.2.3, at 12:30:59:01")]
    ['al', '2001:db8::1', '::ffff:10.1.2.3']
    >>> [found.name.text for found in by_form("00:1b:44:11:3a:b7, at 12:30:59 by enx001b44113ab8")]
    ['00:1b:44:11:3a:b7', '001b44113ab8']
    >>> list(by_form("rustc@0 and terminals-0@1"))
    []
    >>> list(by_form("12 MB/s and 884/s, read/write, on /dev/nvme0n1 at 12:30:59 of 127.0.0.1"))
    []
    """
    for match in _FORMS.finditer(text):
        for group, kind in _GROUPS.items():
            if (found := match[group]) and _is_private(group, found):
                yield Found(Name(kind, found), *match.span(group))


_GROUPS: dict[str, Kind] = {
    "url_user": "user",
    "url_host": "host",
    "user": "user",
    "host": "host",
    "path": "path",
    "ip": "host",
    "ipv6": "host",
    "mac": "MAC",
    "interface": "MAC",
    "uuid": "id",
    "wwid": "WWID",
}


def _is_private(group: str, found: str) -> bool:
    if group == "path":
        return not _KERNEL_NAME.fullmatch(found)
    if group in ("ip", "ipv6") and not is_address(found):
        return False
    return _is_own(found.strip("[]"))


def _is_own(name: str) -> bool:
    return not _PUBLIC.fullmatch(name) and name not in ENGINES.names()


def is_address(text: str) -> bool:
    """Whether a host is named by its IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def by_key(document: Any, key: str = "") -> Iterator[Name]:
    """The names that a document has by their keys; those of a command are paths and plans.

    >>> list(by_key({"wwid": "eui.1", "load": [{"ssh": "me@load1"}]}))
    [Name(kind='WWID', text='eui.1'), Name(kind='host', text='load1')]
    """
    if isinstance(document, dict):
        for name, value in document.items():
            if key in ("places", "measured"):
                yield from _names(_kinds()[key], name)
            yield from by_key(value, key_in(document, name))
    elif isinstance(document, list | tuple):
        for value in document:
            yield from by_key(value, key)
    elif isinstance(document, str) and key == "command":
        yield from (Name("path", word) for word in document.split()[1:] if is_file(word))
    elif isinstance(document, str) and document and key in _kinds() and key != "places":
        yield from _names(_kinds()[key], document)


def is_file(word: str) -> bool:
    """Whether a word of a command is probably a file: it has a directory, or an ending.

    >>> [is_file(word) for word in ("run", "--out", "plans/acme", "acme.toml", "0.05")]
    [False, False, True, True, False]
    """
    return bool(re.fullmatch(r"[^-/]\S*/\S*|[^-]\S*\.[A-Za-z]\w*", word))


def key_in(table: dict[str, Any], key: str) -> str:
    """The key by which a value of a table is known: the name of a host is an address."""
    is_host = key == "name" and any(name in table for name in _NAMED_HOSTS)
    return "address" if is_host else key


def kind_of(key: str) -> Kind | None:
    """The kind of names that are under a key, though they may look like any word."""
    return _kinds().get(key)


def _names(kind: Kind, text: str) -> Iterator[Name]:
    """The name under a key; a drive without a WWID is named by its kernel, which is public, or its
    file.
    """
    if kind == "WWID" and "/" in text:
        kind = "path"
    if kind == "host":
        text = text.rpartition("://")[2].rpartition("@")[2].partition("/")[0]
        text = text if is_address(text) else re.sub(r":\d+$", "", text)
    if kind in ("host", "WWID") and _KERNEL_NAME.fullmatch(f"/dev/{text}"):
        return
    if _is_own(text) and not (kind == "path" and _KERNEL_NAME.fullmatch(text)):
        yield Name(kind, text)
    if kind == "author" and (both := re.fullmatch(r"(.+?)\s*[<(](.+)[>)]", text)):
        yield from (Name(kind, part) for part in both.groups())


def parts(path: str) -> list[str]:
    """The parts of a path that may say something of its machine.

    >>> parts("/home/alice/.kneebench/images")
    ['alice']
    """
    return [part for part in path.split("/") if not _SHARED_PART.fullmatch(part)]


def names_of_this_machine() -> list[Name]:
    """Its host name, and its users who are people."""
    users = (one.pw_name for one in pwd.getpwall() if one.pw_uid >= FIRST_PERSON)
    names = (Name("host", socket.gethostname()), *(Name("user", one) for one in users))
    return [one for one in names if _is_own(one.text)]
