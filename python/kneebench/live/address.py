"""Where the live page is served."""

from __future__ import annotations

import os
import secrets
import socket
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import quote

from kneebench.errors import PlanError

TOKEN = "KNEEBENCH_LIVE_TOKEN"  # noqa: S105
"""The environment variable with a token of the reader's choice, for a scrape configuration."""


class Address(NamedTuple):
    """Where the page is served; port 0: any that is free."""

    host: str = "127.0.0.1"
    port: int = 8650

    @property
    def loopback(self) -> bool:
        """Whether only this machine can ask."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def url(self, token: str = "") -> str:
        """The page's."""
        host = socket.gethostname() if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104
        query = f"?token={quote(token, safe='')}" if token else ""
        return f"http://{self._replace(host=host).text}/{query}"

    @property
    def text(self) -> str:
        """As in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """An address as people write it. Raises PlanError for a text that is none.

    >>> parse_address("8651"), parse_address("0.0.0.0:80").loopback, parse_address("[::1]:80").host
    (Address(host='127.0.0.1', port=8651), False, '::1')
    """
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or Address().host
    if not port.isdecimal() or int(port) > 65535:
        raise PlanError("--listen", seen=f"{text!r} is no address", do="write it as 127.0.0.1:8650")
    return Address(host, int(port))


def token_for(at: Address) -> str:
    """What those must know who ask from elsewhere: that of the environment, else a new one; empty
    on loopback.
    """
    return "" if at.loopback else os.environ.get(TOKEN) or secrets.token_urlsafe(16)


def free_address(at: Address) -> Address:
    """The address with a port that is free now. Raises PlanError where it is taken."""
    family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
    with socket.socket(family) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((at.host, at.port))
        except OSError as error:
            seen = f"{at.text} cannot be listened on ({error.strerror})"
            raise PlanError("--listen", seen=seen, do="use another port, or 0") from error
        return at._replace(port=tried.getsockname()[1])
