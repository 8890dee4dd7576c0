"""A kept rung whose file contradicts itself is damaged: its numbers are worked out once more when
it is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

from kneebench import run
from kneebench.cli import app
from kneebench.errors import KneebenchError
from kneebench.plan import Plan
from kneebench.records import Configuration, Order
from kneebench.results import Store, load
from tests.recorded.record import unpack
from tests.recordings import PLATEAU

PLAN: dict[str, Any] = {
    "database": {"engine": "simulated"},
    "workload": {"warehouses": 40},
    "storages": {"disk": {"simulated": {}}},
    "ladder": {
        "users": 8,
        "warm_up": "2s",
        "window": "6s",
        "final_window": "6s",
        "checkpoints": 0,
        "repeats": 1,
    },
}
Spoil = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = run(Plan.model_validate(PLAN), tmp_path_factory.mktemp("campaigns")).folder
    assert folder
    return folder


@pytest.fixture
def rung_file(measured: Path) -> Any:
    """The file of its report, put back afterwards."""
    file = next((measured / "rungs").glob("*.final_run-*.json"))
    was = file.read_bytes()
    yield file
    file.write_bytes(was)


def spoil(file: Path, change: Spoil) -> None:
    document = json.loads(file.read_text())
    change(document["rung"])
    file.write_text(json.dumps(document))


def new_orders(rung: dict[str, Any], scope: str) -> dict[str, int]:
    found: dict[str, int] = rung["tally"]["transactions"]["new_order"][scope]
    return found


def doubled(rung: dict[str, Any], *scopes: str, fields: tuple[str, ...] = ("committed",)) -> None:
    for scope in scopes:
        for field in fields:
            new_orders(rung, scope)[field] *= 2


def consistently_doubled(rung: dict[str, Any]) -> None:
    """So that the identity still holds."""
    for scope in ("whole", "window"):
        counts = new_orders(rung, scope)
        counts["started"] += counts["committed"]
        counts["committed"] *= 2


def half_a_percent_more(rung: dict[str, Any]) -> None:
    more = new_orders(rung, "window")["committed"] // 200
    for scope in ("whole", "window"):
        new_orders(rung, scope)["started"] += more
        new_orders(rung, scope)["committed"] += more


def other_check(rung: dict[str, Any]) -> None:
    next(check for check in rung["checks"] if check["name"] == "little")["seen"] = "+9.00%"


def other_value(rung: dict[str, Any]) -> None:
    next(check for check in rung["checks"] if check["name"] == "little")["value"] = 0.09


SPOILT: dict[str, tuple[Spoil, str]] = {
    "committed-in-the-window": (lambda rung: doubled(rung, "window"), "new_order"),
    "committed-in-all": (lambda rung: doubled(rung, "whole", "window"), "started and"),
    "committed-and-started": (consistently_doubled, ""),
    "half-a-percent-more": (half_a_percent_more, ""),
    "tpm": (lambda rung: rung.update(tpm=1.1 * rung["tpm"]), "tpm is"),
    "what-the-database-counted": (
        lambda rung: rung["counted"].update(next_order_ids=7),
        "new_orders",
    ),
    "mean-latency": (
        lambda rung: rung["tally"]["latency"].update(mean_s=2 * rung["tally"]["latency"]["mean_s"]),
        "mean_s",
    ),
    "p999": (
        lambda rung: rung["tally"]["latency"].update(p999_s=0.5),
        "p999_s is 0.5 where its histogram gives",
    ),
    "number-of-latencies": (lambda rung: rung["tally"]["latency"].update(n=1), "by transaction"),
    "window": (lambda rung: rung["tally"].update(window_s=3.0), "tpm is"),
    "users": (
        lambda rung: rung["tally"].update(users=9),
        "9 users are counted where 8 were ordered",
    ),
    "a-check": (other_check, "the check little passed with +9.00%"),
    "the-number-of-a-check": (other_value, "the check little passed with"),
    "a-check-removed": (
        lambda rung: rung.update(checks=rung["checks"][:1], counted=None, tpm=3 * rung["tpm"]),
        "the check tpm_nopm is missing",
    ),
    "no-base64": (
        lambda rung: rung["tally"]["latency"].update(histogram="!" * 40),
        "a histogram is not base64",
    ),
    "no-histogram": (
        lambda rung: rung["tally"]["latency"].update(histogram="AAAA" * 40),
        "a histogram is not HDR V2",
    ),
    "another-histogram": (
        lambda rung: rung["tally"]["latency"].update(
            histogram=rung["tally"]["transactions"]["payment"]["latency"]["histogram"]
        ),
        "a histogram holds",
    ),
}


@pytest.mark.parametrize(("change", "said"), SPOILT.values(), ids=SPOILT)
def test_a_rung_that_disagrees_with_itself_is_told_as_damaged_with_its_file(
    change: Spoil, said: str, rung_file: Path
) -> None:
    load(rung_file.parent.parent)
    spoil(rung_file, change)
    with pytest.raises(KneebenchError) as caught:
        load(rung_file.parent.parent)
    assert caught.value.what == f"cannot read {rung_file}"
    assert caught.value.seen.startswith("the file is damaged (it contradicts itself: ")
    assert said in caught.value.seen
    assert "measure its content again" in caught.value.do


@pytest.mark.parametrize("command", ["show", "brief"])
def test_a_damaged_rung_ends_a_command_with_a_message_and_1(command: str, rung_file: Path) -> None:
    spoil(rung_file, lambda rung: doubled(rung, "window"))
    answer = CliRunner().invoke(app, [command, str(rung_file.parent.parent)])
    assert answer.exit_code == 1
    assert (
        str(rung_file) in answer.stderr.replace("\n", "") and "internal error" not in answer.stderr
    )
    assert "NOPM" not in answer.stdout


def test_a_campaign_is_not_gone_on_with_on_a_rung_that_disagrees_with_itself(
    rung_file: Path,
) -> None:
    store = Store(rung_file.parent.parent)
    order = Order.model_validate(json.loads(rung_file.read_text())["rung"]["order"])
    assert store.rung(order)
    spoil(rung_file, lambda rung: doubled(rung, "window"))
    with pytest.raises(KneebenchError, match="contradicts itself"):
        store.rung(order)
    store.close()


def test_files_of_before_the_database_s_counts_were_kept_are_judged_by_their_checks(
    rung_file: Path,
) -> None:
    spoil(rung_file, lambda rung: rung.update(counted=None))
    assert load(rung_file.parent.parent).climbs[0].of("final_run")[0].counted is None
    spoil(rung_file, lambda rung: rung.update(tpm=1.01 * rung["tpm"]))
    with pytest.raises(KneebenchError, match="the check tpm_nopm passed with"):
        load(rung_file.parent.parent)


def test_a_check_that_failed_when_it_was_measured_is_no_damage(tmp_path: Path) -> None:
    """The simulated server loses a count: the sum of the orders is not what the users committed."""
    from kneebench.databases.engines.simulated.server import Simulated

    real = Simulated.sum_next_order_ids
    asked = iter(range(1000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Simulated, "sum_next_order_ids", lambda server: real(server) + 3 * next(asked)
        )
        folder = run(Plan.model_validate(PLAN), tmp_path).folder
    assert folder
    failed = [
        check.name
        for rung in load(folder).climbs[0].rungs
        for check in rung.checks
        if not check.passed
    ]
    assert set(failed) == {"new_orders"}


def test_an_identity_that_was_broken_when_it_was_measured_is_no_damage(rung_file: Path) -> None:
    def broken(rung: dict[str, Any]) -> None:
        new_orders(rung, "whole")["failed"] += 3
        found = next(check for check in rung["checks"] if check["name"] == "identity")
        found.update(passed=False, seen="-3 in new_order")
        rung["counted"] = None

    spoil(rung_file, broken)
    assert not load(rung_file.parent.parent).climbs[0].of("final_run")[0].checks[0].passed


@pytest.mark.parametrize(
    ("name", "edited", "said"),
    [
        ("disk", {"knee_users": 6}, "knee_users is 6 where they give 4"),
        ("disk", {"stopped_by": "saturation"}, "stopped_by is saturation where they give plateau"),
        ("disk", {"bracket": [3, 5]}, "bracket is (3, 5) where they give (1, 4)"),
        ("memory", {"knee_users": 16}, "knee_users is 16 where they give 4"),
    ],
)
def test_a_climb_that_disagrees_with_its_rungs_is_named_as_damaged(
    name: str, edited: dict[str, object], said: str, tmp_path: Path
) -> None:
    """Memory would have candidates now; a climb of before is judged without their turns."""
    folder = unpack(PLATEAU, tmp_path)
    file = folder / "climbs" / f"{name}.json"
    document = json.loads(file.read_text())
    document["climb"].update(edited)
    file.write_text(json.dumps(document))
    with pytest.raises(KneebenchError) as caught:
        load(folder)
    assert caught.value.what == f"cannot read {file}"
    assert said in caught.value.seen


def test_a_rate_that_did_not_arrive_is_named_as_damaged(tmp_path: Path) -> None:
    folder = unpack(PLATEAU, tmp_path)
    file = next((folder / "rungs").glob("*.fixed_rate-*.json"))
    spoil(file, lambda rung: rung["order"].update(rate_per_s=0.8 * rung["order"]["rate_per_s"]))
    with pytest.raises(KneebenchError, match=r"arrived where the rate of its order gives"):
        load(folder)


def scaled(rung: dict[str, Any], name: str, factor: float, *parts: str) -> None:
    found = rung["quantities"][name]
    if "value" in parts:
        found["value"] *= factor
    if "sources" in parts:
        found["sources"] = {key: factor * value for key, value in found["sources"].items()}


@pytest.mark.parametrize(
    ("name", "factor", "parts", "said"),
    [
        ("device.write_bytes", 2.0, ("value", "sources"), "where its seconds are"),
        ("device.write_bytes", 2.0, ("value",), "where its sources give"),
        ("database.busy", 0.3, ("value", "sources"), "where its seconds are"),
        ("database.busy", 0.3, ("value",), "where its sources give"),
        ("log.write_latency", 0.5, ("value",), "log.write_latency is"),
    ],
)
def test_a_quantity_that_disagrees_with_its_seconds_is_named_as_damaged(
    name: str, factor: float, parts: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    folder = unpack(PLATEAU, tmp_path)
    file = next((folder / "rungs").glob("disk.final_run-*.json"))
    spoil(file, lambda rung: scaled(rung, name, factor, *parts))
    with pytest.raises(KneebenchError) as caught:
        load(folder)
    assert caught.value.what == f"cannot read {file}"
    assert "contradicts its series" in caught.value.seen
    assert said in caught.value.seen


@pytest.mark.parametrize(("factor", "damaged"), [(1.6, False), (0.5, True)])
def test_a_second_without_a_flush_has_no_quotient_and_its_commits_count_in_the_window(
    factor: float, damaged: bool, tmp_path: Path
) -> None:
    """A session reports its flushes once per second at most: one second may seem to have none."""
    folder = unpack(PLATEAU, tmp_path)
    file = next((folder / "rungs").glob("disk.final_run-*.json"))
    spoil(file, lambda rung: scaled(rung, "log.commits_per_flush", factor, "value", "sources"))
    with pytest.raises(KneebenchError, match="commits_per_flush"):
        load(folder)
    empty_a_second(folder / "series" / f"{file.stem}.parquet", "log.flushes")
    if damaged:
        with pytest.raises(KneebenchError, match=r"commits_per_flush is .* where its seconds are"):
            load(folder)
    else:
        assert len(load(folder).climbs) == 2


def empty_a_second(file: Path, quantity: str) -> None:
    kept = file.with_suffix(".kept")
    last = f"(SELECT max(at_s) FROM '{file}')"
    zero = f"CASE WHEN quantity = '{quantity}' AND at_s = {last} THEN 0 ELSE value END AS value"
    columns = f"quantity, source, unit, at_s, {zero}"
    duckdb.sql(f"COPY (SELECT {columns} FROM '{file}') TO '{kept}' (FORMAT parquet)")
    kept.rename(file)


def test_a_folder_recorded_before_is_read_as_it_was(tmp_path: Path) -> None:
    folder = unpack(PLATEAU, tmp_path)
    assert len(load(folder).climbs) == 2
    store = Store(folder)
    assert store.climb(Configuration(id="disk", storage="disk"))
    store.close()
