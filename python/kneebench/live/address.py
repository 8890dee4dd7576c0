"""Where the live page is served."""

from __future__ import annotations

from ipaddress import ip_address
from typing import NamedTuple

from kneebench.errors import PlanError


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
