"""Peers that accept connections and misbehave: silent, closing, dripping, garbage.

They are no servers. Each speaks as much of a protocol as its misbehaviour needs, by the protocols'
documentation: PostgreSQL, MySQL, TDS.
"""

from __future__ import annotations

import contextlib
import random
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.tds_peer import DONE, ON, PRELOGIN, REPLY, rows

ENGINES = {
    "postgres": "postgresql",
    "mariadb": "mariadb",
    "mysql": "mysql",
    "sqlserver": "sqlserver",
}
"""The scheme of each engine's URLs."""
DRIP_S, DRIPS_S = 0.2, 60.0
"""Time between two bytes, and the time after which a peer gives up."""
READY = b"Z" + struct.pack(">I", 5) + b"I"
OK = bytes([0, 0, 0, 2, 0, 0, 0])
SALT = b"12345678", b"123456789012\0"
MYSQL_TLS = 0x800
"""CLIENT_SSL."""
MYSQL_CAPABILITIES = 0x81FFFFFF
OF_PRODUCT = {"mariadb": b"5.5.5-10.11.6-MariaDB", "mysql": b"8.0.36"}


class Wire:
    """One connection as a peer sees it; TLS within the protocol's packets where it must be."""

    def __init__(self, engine: str, raw: socket.socket, context: ssl.SSLContext) -> None:
        self.engine, self.raw, self.context = engine, raw, context
        self.channel: ssl.SSLObject | None = None
        self._received, self._sent = ssl.MemoryBIO(), ssl.MemoryBIO()

    def send(self, data: bytes) -> None:
        """To the client, encrypted after the handshake."""
        if not self.channel:
            return self.raw.sendall(data)
        self.channel.write(data)
        return self.raw.sendall(self._sent.read())

    def drip(self, data: bytes, every_s: float = DRIP_S) -> None:
        """The same, a byte at a time."""
        until = time.monotonic() + DRIPS_S
        for number in range(len(data)):
            self.send(data[number : number + 1])
            time.sleep(every_s)
            if time.monotonic() > until:
                break

    def receive(self, size: int = 65_536) -> bytes:
        """What the client sends next."""
        if not self.channel:
            if not (data := self.raw.recv(size)):
                raise ConnectionResetError
            return data
        while True:
            try:
                return self.channel.read(size)
            except ssl.SSLWantReadError:
                if not (data := self.raw.recv(size)):
                    raise ConnectionResetError from None
                self._received.write(data)

    def encrypt(self) -> None:
        """The server's side of the handshake; TDS has it within packets."""
        channel = self.context.wrap_bio(self._received, self._sent, server_side=True)
        while True:
            try:
                channel.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flight()
                data = self.receive()
                self._received.write(data[8:] if self.engine == "sqlserver" else data)
        self._flight()
        self.channel = channel

    def _flight(self) -> None:
        if data := self._sent.read():
            self.raw.sendall(tds(PRELOGIN, data) if self.engine == "sqlserver" else data)

    def hold(self) -> None:
        """Say nothing until the client goes."""
        with contextlib.suppress(OSError):
            while self.raw.recv(65_536):
                pass


Behaviour = Callable[[Wire], None]


def tds(kind: int, body: bytes, length: int = 0) -> bytes:
    """A packet of TDS."""
    return struct.pack(">BBHHBB", kind, 1, length or len(body) + 8, 0, 1, 0) + body


def mysql(number: int, payload: bytes) -> bytes:
    """A packet of MySQL."""
    return len(payload).to_bytes(3, "little") + bytes([number]) + payload


def mysql_greeting(product: str, tls: bool, padding: int = 0) -> bytes:
    """A greeting; a version of any length is one."""
    capabilities = MYSQL_CAPABILITIES & ~(0 if tls else MYSQL_TLS)
    low, high = capabilities & 0xFFFF, capabilities >> 16
    version = OF_PRODUCT[product] + b"-" * padding
    parts = (
        *(b"\x0a", version, b"\0", (7).to_bytes(4, "little"), SALT[0], b"\0"),
        *(low.to_bytes(2, "little"), b"\x2d\x02\x00", high.to_bytes(2, "little")),
        *(b"\x15", bytes(10), SALT[1], b"mysql_native_password\0"),
    )
    return mysql(0, b"".join(parts))


def greet(wire: Wire, *, tls: bool) -> None:
    """All that a server says before the client's log-in, which is read."""
    if wire.engine == "postgres":
        first = wire.receive()
        if len(first) == 8:  # SSLRequest
            wire.send(b"S" if tls else b"N")
            if tls:
                return
            wire.receive()
        wire.send(b"R" + struct.pack(">II", 8, 3))
        wire.receive()
    elif wire.engine == "sqlserver":
        wire.receive()
        wire.send(tds(REPLY, ON))
    else:
        wire.send(mysql_greeting(wire.engine, tls))
        wire.receive(36 if tls else 65_536)


def silent(wire: Wire) -> None:
    """Nothing, ever."""
    wire.hold()


def closing(wire: Wire) -> None:
    """The end of the connection at once."""


def resetting(wire: Wire) -> None:
    """A reset at once."""
    wire.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def zeros(wire: Wire) -> None:
    """Zero bytes."""
    wire.send(bytes(1024))
    wire.hold()


def garbage(wire: Wire) -> None:
    """Random bytes."""
    wire.send(random.Random(wire.engine).randbytes(4096))
    wire.hold()


def http(wire: Wire) -> None:
    """The answer of a web server."""
    wire.receive() if wire.engine in ("postgres", "sqlserver") else None
    wire.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def huge(wire: Wire) -> None:
    """The longest length that the protocol has, and nothing of what it announces."""
    if wire.engine == "postgres":
        wire.receive()
        wire.send(b"N")
        wire.receive()
        wire.send(b"R\x7f\xff\xff\xff\0")
    elif wire.engine == "sqlserver":
        wire.receive()
        wire.send(tds(REPLY, b"\0", 0xFFFF))
    else:
        wire.send(b"\xff\xff\xff\0\x0a")
    wire.hold()


def dripping(wire: Wire) -> None:
    """A byte of an answer that is valid as far as it comes, and then one more, forever."""
    if wire.engine == "postgres":
        wire.receive()
        wire.send(b"N")
        wire.drip(b"E" + struct.pack(">I", 20_000) + b"SFATAL" + bytes(19_000))
    elif wire.engine == "sqlserver":
        wire.drip(tds(REPLY, ON + bytes(4000)))
    else:
        wire.drip(mysql_greeting(wire.engine, tls=True, padding=60_000))


def after_the_log_in(wire: Wire) -> None:
    """The greeting, then nothing after the client's log-in."""
    greet(wire, tls=wire.engine == "sqlserver")
    if wire.engine == "sqlserver":
        wire.encrypt()
        wire.receive()
    wire.hold()


def in_the_handshake(wire: Wire) -> None:
    """An offer of TLS, and no answer to the client's hello."""
    greet(wire, tls=True)
    wire.receive()
    wire.hold()


def dripping_in_tls(wire: Wire) -> None:
    """TLS, and in it a byte of an answer, and then one more, forever."""
    greet(wire, tls=True)
    wire.encrypt()
    wire.receive()
    if wire.engine == "postgres":
        wire.drip(b"E" + struct.pack(">I", 20_000) + b"SFATAL" + bytes(19_000))
    elif wire.engine == "sqlserver":
        wire.drip(tds(REPLY, b"\xad" + bytes(4000)))
    else:
        wire.drip(mysql(3, b"\xff\x15\x04#28000" + b"-" * 60_000))


def greet_and_accept(wire: Wire) -> None:
    """A log-in that is accepted, whatever the password."""
    greet(wire, tls=wire.engine == "sqlserver")
    if wire.engine == "postgres":
        wire.send(b"R" + struct.pack(">II", 8, 0) + READY)
    elif wire.engine == "sqlserver":
        wire.encrypt()
        wire.receive()
        accepted = struct.pack("<BI", 1, 0x04000074) + b"\x04" + "peer".encode("utf-16-le")
        accepted += bytes(4)
        wire.send(tds(REPLY, struct.pack("<BH", 0xAD, len(accepted)) + accepted + DONE))
    else:
        wire.send(mysql(2, OK))


def accept_statements(wire: Wire, ending: bytes) -> None:
    """Say that each statement is done, up to the first that contains the ending."""
    wide = wire.engine == "sqlserver"
    while (ending.decode().encode("utf-16-le") if wide else ending) not in (said := wire.receive()):
        if wire.engine == "postgres":
            wire.send(b"C" + struct.pack(">I", 8) + b"SET\0" + READY)
        elif wide:
            is_number = "@@SPID".encode("utf-16-le") in said
            wire.send(tds(REPLY, rows((51,)) if is_number else DONE))
        else:
            wire.send(mysql(1, OK))


FIRST_FINDING = {
    "postgres": b"SELECT",
    "mariadb": b"VARIABLES",
    "mysql": b"VARIABLES",
    "sqlserver": b"SERVERPROPERTY",
}
"""Of each engine, what the first statement of `check` after the log-in contains."""


def silent_later(wire: Wire) -> None:
    """Log in and accept settings, then say nothing to the first question."""
    greet_and_accept(wire)
    if wire.engine == "postgres":
        wire.receive()  # the settings, which are a question too
        wire.send(b"C" + struct.pack(">I", 8) + b"SET\0" + READY)
    accept_statements(wire, FIRST_FINDING[wire.engine])
    wire.hold()


def silent_at_once_later(wire: Wire) -> None:
    """Log in, then say nothing to the session's settings."""
    greet_and_accept(wire)
    wire.receive()
    wire.hold()


def dripping_fast(wire: Wire) -> None:
    """Log in, then bytes of an endless answer, faster than a client looks at the clock."""
    greet_and_accept(wire)
    wire.receive()
    wire.drip(b"E" + struct.pack(">I", 20_000) + b"SFATAL" + bytes(19_000), every_s=0.01)


def mutated(seed: int) -> Behaviour:
    """A greeting with some bytes changed, then the end."""

    def behaviour(wire: Wire) -> None:
        if wire.engine in ("postgres", "sqlserver"):
            wire.receive()
        valid = {
            "postgres": b"NR" + struct.pack(">II", 8, 5) + b"salt",
            "sqlserver": tds(REPLY, ON),
        }
        greeting = bytearray(valid.get(wire.engine) or mysql_greeting("mysql", tls=False))
        rng = random.Random(seed)
        for _ in range(rng.randint(1, 4)):
            greeting[rng.randrange(len(greeting))] = rng.randrange(256)
        wire.send(
            bytes(greeting[: rng.randint(1, len(greeting))] if rng.random() < 0.3 else greeting)
        )

    return behaviour


BEHAVIOURS: dict[str, Behaviour] = {
    one.__name__: one
    for one in (
        *(silent, closing, resetting, zeros, garbage, http, huge, dripping),
        *(after_the_log_in, in_the_handshake, dripping_in_tls),
    )
}


class Peer(NamedTuple):
    """A listening peer."""

    port: int
    accepted: list[float]
    """When it accepted each connection (monotonic)."""


@contextlib.contextmanager
def peer(engine: str, behaviour: Behaviour, folder: Path) -> Iterator[Peer]:
    """A peer that misbehaves on every connection, by the certificate in a folder of `certify`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(120)
            behaviour(Wire(engine, connection, context))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                made.accepted.append(time.monotonic())
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = Peer(listening.getsockname()[1], [])
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield made
        finally:
            listening.shutdown(socket.SHUT_RDWR)
