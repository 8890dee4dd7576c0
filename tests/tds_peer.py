"""A peer that speaks enough TDS for a login with TLS and for batches: what no database is needed
for. Written from MS-TDS; it is no server.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

BATCH, REPLY, LOGIN, PRELOGIN = 1, 4, 16, 18
DONE = struct.pack("<BHHQ", 0xFD, 0, 0, 0)
FAILED = struct.pack("<BHHQ", 0xFD, 2, 0, 0)
"""The end of a statement with an error."""
ON = bytes([0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 16, 0, 0, 0, 0, 0, 1])
"""PRELOGIN: a version, and that everything is to be encrypted."""
Answers = Callable[[str], bytes]


def rows(*found: tuple[Any, ...]) -> bytes:
    """Rows of numbers and texts."""
    first = found[0]
    head = struct.pack("<BH", 0x81, len(first))
    for number, value in enumerate(first):
        of_number = isinstance(value, int)
        kind = b"\x26\x08" if of_number else struct.pack("<BH5x", 0xE7, 8000)
        head += struct.pack("<IH", 0, 1) + kind + _short(f"column{number}")
    return head + b"".join(b"\xd1" + b"".join(map(_value, row)) for row in found) + DONE


def error(number: int, words: str, severity: int = 16) -> bytes:
    """A message of an error."""
    text = words.encode("utf-16-le")
    body = struct.pack("<IBBH", number, 1, severity, len(words)) + text
    body += _short("peer") + _short("") + struct.pack("<I", 1)
    return struct.pack("<BH", 0xAA, len(body)) + body


def _value(value: Any) -> bytes:
    if isinstance(value, int):
        return struct.pack("<Bq", 8, value)
    text = str(value).encode("utf-16-le")
    return struct.pack("<H", len(text)) + text


def _short(text: str) -> bytes:
    return bytes([len(text)]) + text.encode("utf-16-le")


class Peer(NamedTuple):
    """A listening peer."""

    port: int
    batches: list[str]
    """What it was sent."""


@contextlib.contextmanager
def peer(
    certificate: Path, key: Path, answers: Answers, login: bytes | None = None
) -> Iterator[Peer]:
    """A peer that takes one connection after the other; `login` in place of its consent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    accepted = struct.pack("<BI", 1, 0x04000074) + _short("peer") + bytes(4)
    consent = login or struct.pack("<BH", 0xAD, len(accepted)) + accepted + DONE
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = Peer(listening.getsockname()[1], [])

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with listening.accept()[0] as connection, contextlib.suppress(OSError):
                        Connection(connection, context).serve(made.batches, answers, consent)

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield made
        finally:
            listening.shutdown(socket.SHUT_RDWR)


class Connection:
    """One connection, from the prelogin to its end."""

    def __init__(self, plain: socket.socket, context: ssl.SSLContext) -> None:
        self._plain, self._received, self._sent = plain, ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._sent, server_side=True)

    def serve(self, batches: list[str], answers: Answers, consent: bytes) -> None:
        """Prelogin, handshake in prelogin packets, login, batches."""
        self._packet(self._read)
        self._plain.sendall(_packed(REPLY, ON))
        while not self._shaken():
            self._received.write(self._packet(self._read)[1])
        kind, _ = self._packet(self._decrypted)
        assert kind == LOGIN
        self._encrypt(_packed(REPLY, consent))
        while True:
            kind, body = self._packet(self._decrypted)
            batch = body[struct.unpack("<I", body[:4])[0] :].decode("utf-16-le")
            batches.append(batch)
            self._encrypt(_packed(REPLY, answers(batch)))

    def _shaken(self) -> bool:
        try:
            self._tls.do_handshake()
            done = True
        except ssl.SSLWantReadError:
            done = False
        if data := self._sent.read():
            self._plain.sendall(_packed(PRELOGIN, data))
        return done

    def _read(self, size: int) -> bytes:
        data = self._plain.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise ConnectionResetError
        return data

    def _decrypted(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            try:
                found += self._tls.read(size - len(found))
            except ssl.SSLWantReadError:
                if not (data := self._plain.recv(65_536)):
                    raise ConnectionResetError from None
                self._received.write(data)
        return found

    def _encrypt(self, data: bytes) -> None:
        self._tls.write(data)
        self._plain.sendall(self._sent.read())

    @staticmethod
    def _packet(read: Callable[[int], bytes]) -> tuple[int, bytes]:
        """A message of one or more packets: its kind and contents."""
        body = b""
        while True:
            kind, status, length = struct.unpack(">BBH4x", read(8))
            body += read(length - 8)
            if status & 1:
                return kind, body


def _packed(kind: int, body: bytes) -> bytes:
    return struct.pack(">BBHHBB", kind, 1, len(body) + 8, 0, 1, 0) + body
