"""The URL of an external server, as a plan may write it: without a password, of an address that a
server can have. Its scheme is the engine's.
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import parse_qs, unquote

from kneebench.plan.values import PLAIN, wrong
from kneebench.secrets import without_passwords
from kneebench.visible import is_plain


class UrlRule(NamedTuple):
    """How an engine's URLs are written: the schemes, an example, and where the password is kept
    instead.
    """

    schemes: tuple[str, ...]
    example: str
    kept_in: str

    def check(self, url: str, *key: str) -> None:
        """Raise the rule's error, about that key of the plan, for any other URL.

        One with a password is refused, because plans are kept with the results.
        """
        if not url.startswith(tuple(f"{scheme}://" for scheme in self.schemes)):
            raise wrong(*key, sentence=f"a server's address, {self.example}")
        if without_passwords(url) != url:
            sentence = (
                "a URL without password, because results contain the plan: put the password in"
                f" {self.kept_in}"
            )
            raise wrong(*key, sentence=sentence)
        if sentence := self._address_fault(url):
            raise wrong(*key, sentence=sentence)

    def _address_fault(self, url: str) -> str:
        """What is allowed in place of an address that no server can have; empty where it is
        possible.

        >>> rule = UrlRule(("sql",), "sql://user@host:1/x", "a file")
        >>> rule._address_fault("sql://me@[::1]:5432/x?host=/run/sql")
        ''
        >>> rule._address_fault("sql://me@db..example/x")
        'a host name, an IP address (IPv6 in brackets), or the directory of a socket'
        """
        found = re.fullmatch(r"(\[[^\]]*\]|[^:,\[\]]*)(?::([0-9]*))?", server_of(url))
        if not found:
            return f"one host and one port, as in {self.example}"
        if found[2] and not 0 < int(found[2][:6]) < 65_536:
            return "a port from 1 to 65535"
        try:
            if not is_plain(unquote(url, errors="strict")):
                return f"an address: {PLAIN}"
        except UnicodeDecodeError:
            return "an address whose percent-encoded bytes are UTF-8"
        query = parse_qs(url.partition("?")[2])
        if all(map(_may_be_host, [unquote(found[1]), *query.get("host", ())])):
            return ""
        return "a host name, an IP address (IPv6 in brackets), or the directory of a socket"


def server_of(url: str) -> str:
    """Host and port, as the URL has them; empty for the default socket. The connection string of a
    driver is a whole.

    >>> server_of("sql://me@db1:5432/x?a=b"), server_of("sql:///x"), server_of("odbc:DSN=x")
    ('db1:5432', '', 'odbc:DSN=x')
    """
    if "://" not in url:
        return url
    return re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0].rpartition("@")[2]


def _may_be_host(host: str) -> bool:
    if not host or host.startswith("/"):
        return True
    try:
        if host.startswith("["):
            ipaddress.IPv6Address(host.strip("[]"))
            return True
        # The encoding refuses empty labels, and labels of more than 63 bytes.
        name = host.encode("idna").decode()
    except ValueError:
        return False
    return len(name) <= 253 and bool(re.fullmatch(r"[A-Za-z0-9._-]+", name))
