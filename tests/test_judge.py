"""The independent judge: calls read from packets that were captured once from a real PostgreSQL,
the capture itself, and what is judged of a run.
"""

from __future__ import annotations

import lzma
import shutil
import socket
import time
from collections import Counter
from pathlib import Path

import pytest

from bench import __main__ as program
from bench import servers
from bench.calls import AGAIN, Call, Connection, Packet, calls, exchanges
from bench.capture import Captured, capture, captured, unable
from bench.judge import Reading, Run, judge, measure
from bench.ratio import Ratio, Size
from bench.servers import DEBIAN
from kneebench.databases.engines.postgres.builds import find_build
from kneebench.records import Latency, Tally

RECORDED = Path(__file__).parent / "recorded" / "calls.xz"
"""740 packets of two users: from their connections (SCRAM, no TLS) to the first New-Order that is
rolled back by design."""
HOST, PORT = "127.0.0.93", 5432
MS = 1_000_000


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    file = tmp_path_factory.mktemp("packets") / "packets"
    file.write_bytes(lzma.decompress(RECORDED.read_bytes()))
    return captured(file)


def cut(at_ns: int, raw: bytes) -> list[tuple[int, bytes]]:
    """A packet as two, where it has two bytes or more: each with half of the payload."""
    head = 20 + 4 * (raw[32] >> 4)
    half = (len(raw) - head) // 2
    if not half:
        return [(at_ns, raw)]
    sequence = (int.from_bytes(raw[24:28]) + half).to_bytes(4)
    first = raw[:2] + (head + half).to_bytes(2) + raw[4 : head + half]
    second = raw[:2] + (len(raw) - half).to_bytes(2) + raw[4:24] + sequence + raw[28:head]
    return [(at_ns, first), (at_ns + 1, second + raw[head + half :])]


def test_calls_of_a_real_server_are_read_from_its_packets(recorded: Captured) -> None:
    found = calls(recorded.whole(), HOST, PORT)
    assert Counter(call.transaction for call in found) == {
        "new_order": 154,
        "payment": 151,
        "order_status": 14,
        "stock_level": 14,
        "delivery": 13,
    }
    assert [call.transaction for call in found if call.state] == ["new_order"]
    assert all(call.completed and 0 < call.ended_ns - call.began_ns < 1e9 for call in found)


def test_packets_that_are_cut_or_sent_again_have_the_same_calls(recorded: Captured) -> None:
    pieces = [piece for packet in recorded.packets for piece in cut(*packet)]
    twice = [packet for packet in recorded.packets for _ in range(2)]
    found = calls(recorded.packets, HOST, PORT)
    assert calls(twice, HOST, PORT) == found
    assert [
        call._replace(ended_ns=call.ended_ns - 1) for call in calls(pieces, HOST, PORT)
    ] == found


def test_a_trace_that_lacks_a_packet_is_refused(recorded: Captured) -> None:
    with pytest.raises(ValueError, match="lacks a packet"):
        calls([*recorded.packets[:300], *recorded.packets[310:]], HOST, PORT)
    with pytest.raises(RuntimeError, match="dropped 3 packets"):
        Captured(recorded.packets, dropped=3).whole()


def test_connections_to_other_servers_or_older_than_the_trace_have_no_calls(
    recorded: Captured,
) -> None:
    assert calls(recorded.packets, "127.0.0.1", PORT) == []
    assert calls(recorded.packets[50:], HOST, PORT) == []


def test_directions_alone_give_the_same_calls_as_the_messages_do(recorded: Captured) -> None:
    found = calls(recorded.packets, HOST, PORT)
    first_ns = min(call.began_ns for call in found)
    alone = [call for call in exchanges(recorded.packets, HOST, PORT) if call.began_ns >= first_ns]
    times = {(call.began_ns, call.ended_ns) for call in found}
    assert len(alone) == len(found) - 1, "no packet follows the last call of one user"
    assert {(call.began_ns, call.ended_ns) for call in alone} < times


def message(tag: bytes, body: bytes) -> bytes:
    return tag + (len(body) + 4).to_bytes(4) + body


def test_a_call_that_the_server_lets_try_again_ends_with_its_last_try() -> None:
    connection, at = Connection(), Counter({"sent": 1, "received": 1})
    begin = Packet(0, b"c", b"s", 0, True, b"")
    connection.sent(begin)
    assert list(connection.received(begin)) == []

    def packet(side: str, at_ns: int, payload: bytes) -> Packet:
        at[side] += len(payload)
        return Packet(at_ns, b"c", b"s", at[side] - len(payload), False, payload)

    bind, ready = message(b"B", b"\0payment\0"), message(b"Z", b"I")
    connection.sent(packet("sent", 1, (8).to_bytes(4) + (196608).to_bytes(4)))
    connection.sent(packet("sent", 5, bind))
    refused = message(b"E", b"SERROR\0C" + AGAIN[1].encode() + b"\0\0") + ready
    assert list(connection.received(packet("received", 7, refused))) == []
    connection.sent(packet("sent", 8, bind))
    (found,) = connection.received(packet("received", 9, ready))
    assert found == Call("payment", 5, 9)


@pytest.mark.root
@pytest.mark.skipif(bool(unable()), reason=unable())
def test_each_packet_of_a_port_is_captured_once_at_the_clients_side(tmp_path: Path) -> None:
    file, limits = tmp_path / "packets", []
    server = socket.create_server(("127.0.0.1", 0))
    with server, capture(server.getsockname()[1], file):
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        with client, accepted:
            for _ in range(20):
                limits.append(time.time_ns())
                client.sendall(b"request")
                accepted.sendall(accepted.recv(100).upper())
                assert client.recv(100) == b"REQUEST"
            limits.append(time.time_ns())
    packets = captured(file).whole()
    for word in (b"request", b"REQUEST"):
        seen_ns = [at_ns for at_ns, raw in packets if raw.endswith(word)]
        assert len(seen_ns) == 20
        assert all(a <= b <= c for a, b, c in zip(limits[:-1], seen_ns, limits[1:], strict=True))


@pytest.mark.root
@pytest.mark.postgres15
@pytest.mark.skipif(bool(unable()), reason=unable())
@pytest.mark.skipif(
    not DEBIAN.exists() or not shutil.which("openssl"),
    reason="needs Debian's PostgreSQL 15 and openssl",
)
def test_calls_over_tls_are_all_in_the_trace_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "the_build", lambda size: find_build(DEBIAN))
    rows = measure(Size(quick=True))
    assert sum("TLS" in row.name for row in rows) == len(rows) / 2
    assert [row.name for row in rows if row.aim == 0 and row.value] == []


def run_of(calls_ms: int, orders: float) -> Run:
    """A run of 100 New-Orders of 10 ms each in a minute's window, as the load generator says; its
    calls took so long in the trace, and the database counted so many orders.
    """
    statistics = {name: 0.01 for name in Latency.model_fields if name.endswith("_s")}
    latency = {**statistics, "n": 100}
    counts = {"started": 100, "committed": 100}
    new_order = {"whole": counts, "window": counts, "latency": latency}
    tally = Tally.model_validate(
        {
            "users": 1,
            "window_s": 60.0,
            "whole_s": 60.0,
            "transactions": {"new_order": new_order},
            "latency": latency,
        }
    )
    begin, end = Reading(0.0, 0.0), Reading(60.0, orders)
    times = [at * 20 * MS for at in range(100)]
    seen = [Call("new_order", at, at + calls_ms * MS) for at in times]
    return Run(tally, 0, (0.0, 60.0), (begin, begin, end, end), seen)


def test_what_agrees_has_no_difference_and_what_does_not_has_its_own() -> None:
    same, other = judge(run_of(10, 100.0)), judge(run_of(8, 110.0))
    assert [pair.off for pair in same] == pytest.approx([0.0] * 6, abs=1e-9)
    assert (other.mean_s.off, other.p999_s.off) == pytest.approx((25.0, 25.0))
    assert (other.nopm.off, other.orders.off) == pytest.approx((100 / 11, 100 / 11))
    assert (other.calls.off, other.calls_in_window.off) == (0.0, 0.0)


def judging(value: float, reason: str = "") -> object:
    """A judge that finds so much, with a limit of 2; or cannot run."""

    class Judge:
        NAME, ABOUT, MUST_HOLD = "judging", "nothing", True

        @staticmethod
        def unable() -> str:
            return reason

        @staticmethod
        def measure(size: object) -> list[Ratio]:
            return [
                Ratio(name="off", value=value, low=value, high=value, n=1, aim=2.0, at_most=True)
            ]

    return Judge


@pytest.mark.parametrize(
    ("found", "words", "code"),
    [
        (judging(1.0), ["judging"], 0),
        (judging(3.0), ["judging"], 1),
        (judging(3.0), ["judging", "--quick"], 0),
        (judging(1.0, "needs root"), ["judging"], 1),
        (judging(1.0, "needs root"), [], 0),
    ],
)
def test_a_judge_that_finds_a_difference_or_cannot_run_ends_with_1(
    found: object,
    words: list[str],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(program, "benchmarks", lambda: {"judging": found})
    assert program.main([*words, "--json", str(tmp_path / "bench.json")]) == code
