"""HTTPS to a meter: its certificate is verified by the system's authorities, by one that the plan
names, or by its fingerprint. There is no way not to verify it.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import socket
import ssl
from urllib.parse import urlsplit

from kneebench.errors import PlanError
from kneebench.measurement.power_meters.power_source import NoAnswer, NoDocument
from kneebench.plan.power import Pinned

ANSWER_S = 5.0
MOST_BYTES = 2**20


class WrongCertificate(PlanError):
    """A meter is not the one that the plan names."""


def _place(url: str, meter: str) -> tuple[str, int | None, bool]:
    """The host of a URL, its port, and whether it is encrypted. Raises PlanError."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise PlanError(f"power meter {meter}: its address", seen=str(error)) from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
        seen, do = "it is no URL of a host", "use http://host or https://host, without a user"
        raise PlanError(f"power meter {meter}: its address", seen=seen, do=do)
    return host, port, parts.scheme == "https"


class Web:
    """A connection to a meter by HTTP(S), which stays open."""

    def __init__(self, url: str, table: Pinned, headers: dict[str, str], meter: str) -> None:
        """Raises PlanError for a URL of another kind, or an authority that cannot be read."""
        host, port, tls = _place(url, meter)
        self._host, self._meter, self._headers = host, meter, headers
        self._tls, self._port = tls, port or (443 if tls else 80)
        self._pin = table.fingerprint.replace(":", "").lower()
        self._context = self._verifying(table) if self._tls else None
        self._open: http.client.HTTPConnection | None = None

    def _verifying(self, table: Pinned) -> ssl.SSLContext:
        try:
            file = table.certificate_file
            context = ssl.create_default_context(cafile=str(file) if file else None)
        except (OSError, ssl.SSLError) as error:
            what = f"power meter {self._meter}: certificate_file {table.certificate_file}"
            raise PlanError(what, seen=str(error), do="name a file in PEM") from None
        if self._pin:  # the fingerprint is checked after the handshake, before anything is sent
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context

    def get(self, path: str) -> bytes:
        """A document. Raises NoAnswer, and PlanError for a certificate that is not the one."""
        try:
            return self._get(path)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if isinstance(error, ssl.SSLCertVerificationError):
                raise self._wrong(error.verify_message) from None
            words = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise NoAnswer(words) from None

    def _get(self, path: str) -> bytes:
        fresh = self._open is None
        connection = self._connected()
        try:
            connection.request("GET", path, headers=self._headers)
            response = connection.getresponse()
        except (http.client.NotConnected, ConnectionError):
            self.close()
            if fresh:
                raise
            return self._get(path)  # it had been closed for being idle
        found = response.read(MOST_BYTES)
        if response.will_close:
            self.close()
        if response.status != http.client.OK:
            missing = response.status in (http.client.NOT_FOUND, http.client.METHOD_NOT_ALLOWED)
            kind = NoDocument if missing else NoAnswer
            where = path.partition("?")[0]  # a query may hold a secret
            raise kind(f"{where}: HTTP status {response.status} {response.reason}")
        return found

    def _connected(self) -> http.client.HTTPConnection:
        if self._open:
            return self._open
        if not self._tls:
            opened = http.client.HTTPConnection(self._host, self._port, timeout=ANSWER_S)
        else:
            opened = http.client.HTTPSConnection(
                self._host, self._port, timeout=ANSWER_S, context=self._context
            )
            opened.connect()
            opened.auto_open = 0  # a connection that http.client opens would not be checked
            self._check(opened.sock)
        self._open = opened
        return opened

    def _check(self, sock: socket.socket) -> None:
        assert isinstance(sock, ssl.SSLSocket)
        seen = hashlib.sha256(sock.getpeercert(binary_form=True) or b"").hexdigest()
        if self._pin and not hmac.compare_digest(seen, self._pin):
            sock.close()
            raise self._wrong(f"its fingerprint is {seen}")

    def _wrong(self, seen: str) -> WrongCertificate:
        do = "name the authority's certificate_file, or the certificate's fingerprint"
        what = f"power meter {self._meter}: the certificate of {self._host}"
        return WrongCertificate(what, seen=seen, do=do)

    def close(self) -> None:
        """Close the connection; the next document opens another."""
        if self._open:
            self._open.close()
        self._open = None
