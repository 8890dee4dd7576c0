"""The load generator's calls, read from captured packets: TCP streams, in them PostgreSQL's
messages (its manual, "Message Formats"), in them each Bind with its ReadyForQuery.

It shares no code with the load generator: it is there to contradict it.
"""

from __future__ import annotations

import socket
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

VERSION_3 = 196608
"""Protocol 3.0 in a connection's first message; TLS and GSSAPI begin with other numbers."""
SYN = 0x02
BY_DESIGN = "KB001"
AGAIN = ("40001", "40P01")
"""SQLSTATEs: rolled back by design; to be tried again, in the same call."""


class Packet(NamedTuple):
    """A TCP packet; its ends are an IPv4 address and a port, as in the packet."""

    at_ns: int
    sender: bytes
    receiver: bytes
    sequence: int
    begins: bool
    payload: bytes


class Message(NamedTuple):
    """A message, with the times of the packets of its first byte and of its last; the first of a
    client has no tag.
    """

    tag: str
    body: bytes
    began_ns: int
    ended_ns: int


class Call(NamedTuple):
    """A transaction from the packet with its request's first byte to that with its response's last.
    `state` is the SQLSTATE of its error, empty without one.
    """

    transaction: str
    began_ns: int
    ended_ns: int
    state: str = ""

    @property
    def completed(self) -> bool:
        """Committed, or rolled back by design: what a latency is of."""
        return self.state in ("", BY_DESIGN)


def packet(at_ns: int, raw: bytes) -> Packet:
    """A packet from the bytes of its IPv4 header on."""
    tcp = 4 * (raw[0] & 0x0F)
    number = int.from_bytes
    payload = tcp + 4 * (raw[tcp + 12] >> 4)
    sender, receiver = raw[12:16] + raw[tcp : tcp + 2], raw[16:20] + raw[tcp + 2 : tcp + 4]
    sequence, end = number(raw[tcp + 4 : tcp + 8]), number(raw[2:4])
    return Packet(at_ns, sender, receiver, sequence, bool(raw[tcp + 13] & SYN), raw[payload:end])


class Stream:
    """One direction of a connection: its messages, as packets bring them."""

    def __init__(self, *, tagged: bool) -> None:
        self._tagged = tagged
        self._next: int | None = None
        self._bytes = bytearray()
        self._began_ns = 0

    def feed(self, packet: Packet) -> Iterator[Message]:
        """The messages that end in this packet; none of a connection that is older than the
        capture. Raises ValueError if a packet is missing. (An acknowledgement without a payload may
        be seen before the data that it follows: another core sends it.)
        """
        if packet.begins:
            self._next = packet.sequence + 1
        elif self._next is not None and packet.payload:
            yield from self._messages(self._fresh(packet, self._next), packet.at_ns)

    def _fresh(self, packet: Packet, following: int) -> bytes:
        """The payload without bytes that came before (sent again, or a keepalive's)."""
        known = (following - packet.sequence) % 2**32
        if known >= 2**31:
            raise ValueError(f"the trace lacks a packet before {packet.sequence}")
        fresh = packet.payload[known:]
        self._next = (following + len(fresh)) % 2**32
        return fresh

    def _messages(self, fresh: bytes, at_ns: int) -> Iterator[Message]:
        if not self._bytes:
            self._began_ns = at_ns
        self._bytes += fresh
        while len(self._bytes) >= (head := 4 + self._tagged):
            end = self._tagged + int.from_bytes(self._bytes[head - 4 : head])
            if len(self._bytes) < end:
                break
            tag = chr(self._bytes[0]) if self._tagged else ""
            yield Message(tag, bytes(self._bytes[head:end]), self._began_ns, at_ns)
            del self._bytes[:end]
            self._began_ns, self._tagged = at_ns, True


class Connection:
    """Both directions of a connection, and the call under way."""

    def __init__(self) -> None:
        self._requests, self._responses = Stream(tagged=False), Stream(tagged=True)
        self._call: Call | None = None
        self._state = ""

    def sent(self, packet: Packet) -> None:
        """A packet of the client. Raises ValueError for TLS."""
        for message in self._requests.feed(packet):
            if not message.tag and int.from_bytes(message.body[:4]) != VERSION_3:
                raise ValueError("the connection does not begin as plain PostgreSQL (TLS?)")
            if message.tag == "B":
                _, statement, _ = message.body.split(b"\0", 2)
                began_ns = self._call.began_ns if self._call else message.began_ns
                self._call = Call(statement.decode(), began_ns, 0)

    def received(self, packet: Packet) -> Iterator[Call]:
        """A packet of the server; the call that ends in it."""
        for message in self._responses.feed(packet):
            if message.tag == "E":
                self._state = _sqlstate(message.body)
            elif message.tag == "Z":
                state, self._state = self._state, ""
                if self._call and state not in AGAIN:
                    yield self._call._replace(ended_ns=message.ended_ns, state=state)
                    self._call = None


def calls(packets: Sequence[tuple[int, bytes]], host: str, port: int) -> list[Call]:
    """The calls of all connections to a server, in the order of their ends."""
    connections = defaultdict[bytes, Connection](Connection)
    found: list[Call] = []
    for client, sent, one in _between(packets, host, port):
        if sent:
            connections[client].sent(one)
        else:
            found += connections[client].received(one)
    return found


def exchanges(packets: Sequence[tuple[int, bytes]], host: str, port: int) -> list[Call]:
    """The same by the packets' directions alone, also where they are encrypted: from the client's
    first packet after a response to the server's last before the client's next one.

    Not only calls: those that open a connection, too. What follows a client's last packet, its
    farewell, is no response.
    """
    under_way: dict[bytes, Call] = {}
    found: list[Call] = []
    for client, sent, one in _between(packets, host, port):
        call = under_way.get(client)
        if one.payload and not sent and call:
            under_way[client] = call._replace(ended_ns=one.at_ns)
        elif one.payload and sent and (not call or call.ended_ns):
            found += [call] if call else []
            under_way[client] = Call("", one.at_ns, 0)
    return found


def _between(
    packets: Sequence[tuple[int, bytes]], host: str, port: int
) -> Iterator[tuple[bytes, bool, Packet]]:
    """The packets of a server, each with its client, and whether the client sent it."""
    server = socket.inet_aton(host) + port.to_bytes(2)
    for one in (packet(at_ns, raw) for at_ns, raw in packets):
        if server in (one.sender, one.receiver):
            sent = one.receiver == server
            yield one.sender if sent else one.receiver, sent, one


def _sqlstate(body: bytes) -> str:
    fields = (field.decode(errors="replace") for field in body.split(b"\0") if field)
    return next((field[1:] for field in fields if field.startswith("C")), "unknown")
