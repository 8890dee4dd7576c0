"""The log's files are there before a window: none is made while users wait, or the rung says so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kneebench.analysis.disturbance import TRIES
from kneebench.databases.engines.postgres.log_segments import MARGIN, LogRate, LogSegments
from kneebench.records import Order
from tests.formula import Formula
from tests.formula_rungs import SEARCH, kept, measured

WARM_UP = SEARCH.model_copy(update={"phase": "warm_up"})


@dataclass
class Logging(Formula):
    """A server whose log has its next files made only so many seconds after it was asked first
    (`makes_s`), or never by us (None); it makes one a second itself, until `made_until_s`.
    """

    makes_s: float | None = 0.0
    made_until_s: float = 0.0
    asked_s: float = -1.0
    wanted_s: float = 0.0

    def ready_log(self, for_s: float, limit_s: float) -> bool | None:
        self.wanted_s = for_s
        self.asked_s = self.clock_s if self.asked_s < 0 else self.asked_s
        return None if self.makes_s is None else self.clock_s - self.asked_s >= self.makes_s

    def readings(self, meter: str) -> dict[str, float]:
        made = {"log.new_segments|database": min(self.clock_s - 5.0, self.made_until_s)}
        return super().readings(meter) | (made if meter == "log_writes" else {})


def test_a_rung_without_a_new_segment_is_valid_and_its_window_was_asked_for() -> None:
    server = Logging(made_until_s=2.0)
    rung = measured(server)
    assert (rung.invalid, rung.quantity("log.segments_made")) == ("", 0.0)
    assert server.wanted_s == 1 + 6 + 1


def test_the_log_of_the_shortest_warm_up_is_there_before_the_load(tmp_path: Path) -> None:
    """While users wait, a second of making files is a second of using them up."""
    server, wanted = Logging(), list[float]()
    plain = server.ready_log

    def noted(for_s: float, limit_s: float) -> bool | None:
        wanted.append(for_s)
        return plain(for_s, limit_s)

    server.ready_log = noted  # type: ignore[method-assign]
    rung = measured(server)
    assert wanted[0] == 1 + 6 + 1 + rung.warm_up_s
    assert {*wanted[1:]} == {1 + 6 + 1}


def test_a_window_in_which_the_server_made_its_log_is_invalid_and_measured_again(
    tmp_path: Path,
) -> None:
    rung = measured(Logging(made_until_s=4.0))
    said = "the server made 2 log segments in the window, while all users waited"
    assert (rung.invalid, rung.quantity("log.segments_made")) == (said, 2.0)
    rung, told = kept(Logging(made_until_s=4.0), tmp_path)
    assert not rung.invalid
    assert [one.partition(": ")[2] for one in told] == [f"attempt 1 of {TRIES} is invalid: {said}"]


@pytest.mark.parametrize(("order", "noted"), [(SEARCH, True), (WARM_UP, False)])
def test_where_only_the_server_can_make_its_log_the_rung_says_how_much(
    order: Order, noted: bool
) -> None:
    rung = measured(Logging(makes_s=None, made_until_s=3.0), order)
    said = "the server made 1 log segment in the window, filled with zeros while all users waited"
    assert rung.invalid == ""
    assert (said in rung.notes) is noted


def test_a_warm_up_lasts_until_the_log_of_its_window_is_ready_but_not_for_ever() -> None:
    assert measured(Logging()).warm_up_s == 2
    assert measured(Logging(makes_s=7.0)).warm_up_s == 8
    assert measured(Logging(makes_s=1e6)).warm_up_s == 2 + 60


def test_the_rate_of_a_log_is_a_guess_until_it_was_seen_and_then_the_fastest_seen() -> None:
    rate = LogRate(20e6)
    for at_s, position, most_per_s in (
        (10.0, 1e9, 20e6),
        (10.2, 1.1e9, 20e6),
        (12.0, 1.01e9, 5e6),
        (13.0, 1.04e9, 30e6),
        (14.0, 1.05e9, 30e6),
    ):
        rate.look(at_s, position)
        assert rate.most_per_s == pytest.approx(most_per_s), at_s
    rate.restart()
    rate.look(20.0, 9e9)
    assert rate.most_per_s == pytest.approx(30e6), "the first look at another server says nothing"


MIB = 2**20
CURRENT = "000000010000000000000001"


def test_segments_are_made_as_far_as_there_is_time_and_room(tmp_path: Path) -> None:
    """More time helps (False); more time does not help (None)."""
    (tmp_path / CURRENT).write_bytes(bytes(MIB))
    segments = LogSegments(tmp_path, MIB, 5 * MIB, None, LogRate(MIB / MARGIN))
    assert segments.ready(CURRENT, 0.5, limit_s=-1.0) is False
    assert segments.ready(CURRENT, 0.5, limit_s=60.0) is True
    made = {f"00000001000000000000000{number}" for number in (2, 3)}
    assert {path.name for path in tmp_path.iterdir()} == {CURRENT, *made}
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {bytes(MIB)}
    assert segments.ready(CURRENT, 9.0, limit_s=60.0) is None
    assert len(list(tmp_path.iterdir())) == 5, "no more than max_wal_size"
