"""Packets of one TCP port, seen by the kernel on the client's side: requests as they leave, replies
as they arrive. Linux, IPv4, root (or CAP_NET_RAW); no other program.

A process of its own captures, with `AF_PACKET` and the kernel's receive timestamps. It is woken by
its own timer, not by packets: that would take the measured programs' cores. So its buffer must hold
what arrives in between; the kernel counts what does not fit.
"""

from __future__ import annotations

import contextlib
import ctypes
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

ALL, IPV4 = 0x0003, 0x0800
"""`ETH_P_ALL`, which alone includes packets that leave, and `ETH_P_IP`."""
SO_ATTACH_FILTER, SO_RCVBUFFORCE, SO_TIMESTAMPNS = 26, 33, 35
SOL_PACKET, PACKET_STATISTICS = 263, 6
BUFFER_BYTES = 256 * 2**20
PACKET_BYTES = 2**16
EVERY_S = 0.05
SOURCE, TARGET = 0, 2
"""Places of the two ports in a TCP header."""
PROTOCOL, DIRECTION = 0xFFFFF000, 0xFFFFF004
"""Places that stand for a packet's protocol and its direction (`SKF_AD_OFF`)."""
ARRIVED, LEFT = 0, 4
"""`PACKET_HOST` and `PACKET_OUTGOING`. On `lo` every packet is seen as both."""
HEAD = struct.Struct("<QI")
"""Of a stored packet: its time in nanoseconds, its length."""


class Captured(NamedTuple):
    """Packets from the IPv4 header on, each with the kernel's time (ns since 1970), in the order
    captured; and how many the kernel dropped because the buffer was full.
    """

    packets: Sequence[tuple[int, bytes]]
    dropped: int

    def whole(self) -> Sequence[tuple[int, bytes]]:
        """The packets. Raises RuntimeError if some were dropped: the others prove nothing."""
        if self.dropped:
            raise RuntimeError(
                f"the kernel dropped {self.dropped} packets, so the trace is not whole; run again"
                " with less load on this machine"
            )
        return self.packets


def unable() -> str:
    """Why this process cannot capture packets; empty if it can."""
    if not hasattr(socket, "AF_PACKET"):
        return "packets can be captured on Linux only"
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0).close()
    except PermissionError:
        return "capturing packets needs root (CAP_NET_RAW); run the same command with sudo"
    return ""


@contextlib.contextmanager
def capture(port: int, file: Path) -> Iterator[None]:
    """Capture the packets of a port within the block; they are then in the file.

    Raises RuntimeError if the capture fails.
    """
    command = [sys.executable, "-m", "bench.capture", str(port), str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        ready = process.stdout.readline() if process.stdout else b""
        try:
            yield
        finally:
            process.communicate()
    if not ready or process.returncode:
        raise RuntimeError(f"capturing packets ended with {process.returncode}")


def captured(file: Path) -> Captured:
    """What a capture stored."""
    stored = file.read_bytes()
    dropped, at = int.from_bytes(stored[:8], "little"), 8
    packets = []
    while at < len(stored):
        at_ns, length = HEAD.unpack_from(stored, at)
        at += HEAD.size
        packets.append((at_ns, stored[at : at + length]))
        at += length
    return Captured(packets, dropped)


def main(port: int, file: Path) -> None:
    """Capture until the standard input ends."""
    with _listening(port) as listener, tempfile.TemporaryFile() as kept:
        time.sleep(EVERY_S)  # the kernel starts to timestamp a moment after the first request
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], EVERY_S)[0]:
            _drain(listener, kept)
        _drain(listener, kept)
        seen = listener.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        kept.seek(0)
        file.write_bytes(struct.unpack("=II", seen)[1].to_bytes(8, "little") + kept.read())


def _listening(port: int) -> socket.socket:
    """A socket that gets the port's packets, and nothing that came before its filter."""
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
    listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    listener.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    program = _program(port)
    code = ctypes.create_string_buffer(program)
    attached = struct.pack("HL", len(program) // 8, ctypes.addressof(code))
    listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, attached)
    listener.bind(("lo", ALL))
    return listener


def _program(port: int) -> bytes:
    """The filter (Linux, Documentation/networking/filter.rst): TCP over IPv4 that leaves for the
    port or arrives from it; each packet of a connection over `lo` is so seen once.
    """
    load_word, load_byte, load_half = 0x20, 0x30, 0x48
    header_length, equal, accept = 0xB1, 0x15, 0x06
    steps = [
        (load_word, 0, 0, PROTOCOL),
        (equal, 0, 12, IPV4),
        (load_byte, 0, 0, 9),
        (equal, 0, 10, socket.IPPROTO_TCP),
        (header_length, 0, 0, 0),
        (load_half, 0, 0, SOURCE),
        (equal, 0, 2, port),
        (load_word, 0, 0, DIRECTION),
        (equal, 4, 5, ARRIVED),
        (load_half, 0, 0, TARGET),
        (equal, 0, 3, port),
        (load_word, 0, 0, DIRECTION),
        (equal, 0, 1, LEFT),
        (accept, 0, 0, PACKET_BYTES),
        (accept, 0, 0, 0),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _drain(listener: socket.socket, kept: BinaryIO) -> None:
    """Keep every packet that waits."""
    room = socket.CMSG_SPACE(16)
    with contextlib.suppress(BlockingIOError):
        while True:
            packet, notes, _, _ = listener.recvmsg(PACKET_BYTES, room, socket.MSG_DONTWAIT)
            seconds, nanoseconds = struct.unpack("=qq", notes[0][2])
            kept.write(HEAD.pack(seconds * 10**9 + nanoseconds, len(packet)) + packet)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
