"""TLS within TDS for pytds, by Python's own ssl: the handshake travels in PRELOGIN packets, and
later packets inside TLS (MS-TDS 2.2.6.5, 3.2.5.1).

pytds brings its own by pyOpenSSL; why it is not used is in docs/decisions/sql-server-client.md.
"""

from __future__ import annotations

import ssl
from typing import Any

import pytds.tls
from pytds.tds_base import PacketType

from kneebench._core import system_roots
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress

CHUNK = 65_536
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Those of the load generator's TLS (rustls), so that `kneebench check` finds a server without."""
OTHER_NAME = {62: "DNS", 64: "IP"}
"""OpenSSL's errors of verification for a certificate of another host or address (X509_V_ERR_), with
the kind of name that was looked for."""
NAMED = (
    "give the server a certificate made with openssl's -addext subjectAltName={kind}:{host} (a"
    " common name does not count), use a name of the certificate in the URL, or set"
    " trust_server_certificate = true"
)


def context_of(address: SqlServerAddress) -> ssl.SSLContext:
    """How connections to the address are encrypted.

    TDS 7 is not defined over TLS 1.3. A certificate's common name does not count: the load
    generator's TLS (rustls) does not accept it either. Raises OSError for a file of certificates
    that cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.hostname_checks_common_name = False
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    if address.sslmode == "require":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    elif roots := address.sslrootcert or system_roots():
        context.load_verify_locations(roots)
    return context


def certificate_hint(error: BaseException, address: SqlServerAddress) -> str:
    """The fix where the server's certificate is not for the address; empty for any other error."""
    kind = OTHER_NAME.get(getattr(error, "verify_code", 0))
    return NAMED.format(kind=kind, host=address.host) if kind else ""


class EncryptedTransport:
    """A socket as pytds uses it, with TLS in between."""

    def __init__(
        self, transport: Any, channel: ssl.SSLObject, received: ssl.MemoryBIO, sent: ssl.MemoryBIO
    ) -> None:
        self._transport, self._channel = transport, channel
        self._received, self._sent = received, sent

    def gettimeout(self) -> float | None:
        limit: float | None = self._transport.gettimeout()
        return limit

    def settimeout(self, timeout: float | None) -> None:
        self._transport.settimeout(timeout)

    def sendall(self, data: bytes | bytearray | memoryview, flags: int = 0) -> None:
        self._channel.write(bytes(data))
        self._transport.sendall(self._sent.read())

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Up to so many bytes; none at the end of the connection."""
        while True:
            try:
                return self._channel.read(size)
            except ssl.SSLWantReadError:
                data = self._transport.recv(CHUNK)
                if not data:
                    return b""
                self._received.write(data)
            except ssl.SSLZeroReturnError:
                return b""

    def recv_into(self, buffer: bytearray | memoryview, size: int = 0, flags: int = 0) -> int:
        """As `recv`, into a buffer; the number of bytes."""
        data = self.recv(size or len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._transport.close()

    def shutdown(self, how: int = 0) -> None:
        """Nothing: only a connection that is encrypted to its end is used."""


def _establish(session: Any) -> None:
    """Encrypt a connection of pytds: one of its PRELOGIN packets for each step of the handshake."""
    login, received, sent = session.conn._login, ssl.MemoryBIO(), ssl.MemoryBIO()
    host = login.server_name if login.tls_ctx.check_hostname else None
    channel = login.tls_ctx.wrap_bio(received, sent, server_hostname=host)
    while not _finished(channel):
        _send(session._writer, sent.read())
        reader = session._reader
        reader.begin_response()
        while not reader.stream_finished():
            received.write(reader.recv(CHUNK))
    if rest := sent.read():
        _send(session._writer, rest)
    transport = EncryptedTransport(session.conn.sock, channel, received, sent)
    session.conn.sock = session._writer._transport = session._reader._transport = transport


def _finished(channel: ssl.SSLObject) -> bool:
    try:
        channel.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _send(writer: Any, data: bytes) -> None:
    writer.begin_packet(PacketType.PRELOGIN)
    writer.write(data)
    writer.flush()


def use_own_tls() -> None:
    """Have pytds encrypt by this module; its `cafile` is then a context of `context_of`."""
    pytds.tls.OPENSSL_AVAILABLE = True
    pytds.tls.create_context = lambda context: context
    pytds.tls.establish_channel = _establish
