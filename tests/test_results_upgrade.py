"""A campaign folder of an old format gives the figures that its files have, to the digit."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest

from kneebench.analysis.configuration_summary import configuration_summaries
from kneebench.records import Results, Rung, StopResult
from kneebench.results import Store, load
from kneebench.results.campaign_reader import series
from kneebench.results.tables import read_series
from kneebench.results.upgrades import UPGRADES

ARCHIVE = Path(__file__).parent / "recorded" / "format-1.tar.xz"
"""A folder as the last version with format 1 wrote it. It is no recording: its figures came from a
formula. It has the series of one rung and no seconds."""
PHASES = {
    "scout": "search",
    "bisection": "bisection",
    "drift": "drift_check",
    "report": "final_run",
    "latency": "fixed_rate",
}
"""What format 2 calls the phases of format 1."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    return folder


def documents(folder: Path) -> dict[str, Any]:
    """The rungs of format 1 as their files have them, by the key that format 2 gives them."""
    found = {}
    for file in (folder / "rungs").iterdir():
        document = json.loads(file.read_text())
        configuration, _, rest = file.stem.partition(".")
        phase, _, numbers = rest.partition("-")
        assert document["format"] == 1
        found[f"{configuration}.{PHASES[phase]}-{numbers}"] = document["rung"]
    return found


def rungs_of(results: Results) -> dict[str, Rung]:
    return {rung.order.key: rung for climb in results.climbs for rung in climb.rungs}


def test_a_folder_of_format_1_gives_the_figures_of_its_files_to_the_digit(old: Path) -> None:
    documented, rungs = documents(old), rungs_of(load(old))
    assert rungs.keys() == documented.keys()
    for key, document in documented.items():
        rung, tally = rungs[key], document["tally"]
        assert rung.tpm == document["tpm"]
        assert rung.tally.window_s == tally["window_s"]
        assert rung.tally.load_generator_cpu_s == tally["client_cpu_s"]
        assert rung.tally.load_generator_threads == tally["client_workers"]
        assert rung.tally.latency
        assert rung.tally.latency.model_dump() == tally["latency"]
        for name, transactions in tally["transactions"].items():
            assert rung.tally.transactions[name].model_dump() == transactions
        for name, quantity in document["quantities"].items():
            assert name.startswith("client.") or rung.quantity(name) == quantity["value"]
        for name in ("busy", "cpu_per_transaction"):
            had = document["quantities"][f"client.{name}"]["value"]
            assert rung.quantity(f"load_generator.{name}") == had


def test_the_summary_of_a_folder_of_format_1_is_that_of_its_files(old: Path) -> None:
    documented, results = documents(old), load(old)
    for summary, climb in zip(configuration_summaries(results), results.climbs, strict=True):
        name = climb.id
        kept = json.loads((old / "climbs" / f"{name}.json").read_text())["climb"]
        assert (climb.knee_users, climb.stopped_by) == (kept["knee_users"], kept["stopped_by"])
        assert [one.sentence for one in climb.stop_results] == [
            one["sentence"] for one in kept["verdicts"]
        ]
        tallies = [
            rung["tally"] for key, rung in documented.items() if key.startswith(f"{name}.final_run")
        ]
        assert summary.nopm
        assert summary.nopm.value == pytest.approx(geometric_mean(map(nopm, tallies)))


def nopm(tally: dict[str, Any]) -> float:
    """New-Orders per minute of a tally as its file has it."""
    committed: int = tally["transactions"]["new_order"]["window"]["committed"]
    return 60 * committed / float(tally["window_s"])


def test_the_series_of_a_folder_of_format_1_are_found_by_their_old_name(old: Path) -> None:
    results = load(old)
    rung, *_ = results.climbs[0].of("fixed_rate")
    (file,) = (old / "series").iterdir()
    assert file.stem != rung.order.key
    assert series(results, rung) == read_series(file) != ()


def test_a_folder_of_format_1_that_is_opened_for_writing_gets_the_current_file_names(
    old: Path,
) -> None:
    before, names = load(old), documents(old).keys()
    with Store.open(old) as store:
        order = before.climbs[0].rungs[0].order
        assert store.rung(order) == before.climbs[0].rungs[0]
    assert {file.stem for file in (old / "rungs").iterdir()} == names
    assert load(old).climbs == before.climbs


def whole(sources: dict[str, float]) -> dict[str, object]:
    """The waits of all classes as format 1 stored them."""
    return {"unit": "sessions", "value": sum(sources.values()), "high": 30.0, "sources": sources}


def upgraded_quantities(quantities: dict[str, Any]) -> dict[str, Any]:
    rung = {"order": {"phase": "scout"}, "tally": {}, "quantities": quantities}
    found: dict[str, Any] = UPGRADES[1]({"format": 1, "rung": rung})["rung"]["quantities"]
    return found


def test_the_highest_second_of_a_class_is_that_of_all_waits_where_it_was_the_only_one() -> None:
    (waits,) = upgraded_quantities({"waits.sessions": whole({"IO:WalSync": 2.0})}).values()
    assert waits["high"] == 30.0
    assert upgraded_quantities({}) == {}


def test_the_waits_of_format_1_get_the_classes_of_their_engines() -> None:
    sources = {
        "IO:WalSync": 2.0,
        "LWLock:WALWrite": 1.0,
        "IO:DataFileRead": 4.0,
        "Lock:tuple": 3.0,
        "CPU": 5.0,
        "running": 1.0,
        "Client:ClientRead": 7.0,
    }
    quantities = upgraded_quantities({"cores.busy": {}, "waits.sessions": whole(sources)})
    values = {
        name: found["value"] for name, found in quantities.items() if name.startswith("waits.")
    }
    assert values == {
        "waits.log": 3,
        "waits.data_read": 4,
        "waits.lock": 3,
        "waits.cpu": 6,
        "waits.other": 7,
    }
    assert {quantities[name]["high"] for name in values} == {None}
    assert "cores.busy" in quantities and "waits.sessions" not in quantities


def test_a_folder_whose_files_were_only_partly_renamed_is_still_read(old: Path) -> None:
    before = load(old).climbs
    shutil.move(old / "rungs" / "disk.report-26-1.json", old / "rungs" / "disk.final_run-26-1.json")
    assert load(old).climbs == before


def test_keys_that_an_engine_no_longer_has_leave_the_plans_of_older_folders() -> None:
    """Format 2 kept the keys of managed servers for engines that are reached by URL alone."""
    managed = {"memory": None, "page_cache": "cold"}
    of_mysql = {"engine": "mysql", "url": "mysql://me@db/x", "bin_dir": None, **managed}
    of_sqlserver = {"engine": "sqlserver", "url": "sqlserver://me@db/x", **managed}
    of_postgres = {"engine": "postgres", "bin_dir": None, **managed}
    several = {"a": of_mysql, "b": of_postgres}
    upgraded = UPGRADES[2]({"plan": {"database": of_sqlserver, "databases": several}})["plan"]
    assert upgraded["database"] == {"engine": "sqlserver", "url": "sqlserver://me@db/x"}
    assert upgraded["databases"]["a"] == {"engine": "mysql", "url": "mysql://me@db/x"}
    assert upgraded["databases"]["b"] == of_postgres
    unknown = {"engine": "another", "key": 1}
    assert UPGRADES[2]({"plan": {"database": unknown}})["plan"]["database"] == unknown


def test_a_memory_limit_that_had_no_effect_by_url_leaves_the_plans_of_older_folders() -> None:
    limited = {"engine": "postgres", "memory": 2**30}
    by_url = {"disk": {"url": "postgresql://me@db/x"}}
    for plan in (
        {"database": limited, "storages": by_url},
        {"database": {**limited, "url": "postgresql://me@db/x"}, "storages": {"disk": {}}},
    ):
        assert "memory" not in UPGRADES[2]({"plan": plan})["plan"]["database"]
    here = {"database": limited, "storages": {"disk": {"path": "."}}}
    assert UPGRADES[2]({"plan": here})["plan"] == here


def test_a_flag_of_format_2_is_a_caveat() -> None:
    stop = {"stop": "log_latency", "fired": False, "seen": "", "limit": "", "sentence": ""}
    climb = {"cell": {}, "stop_results": [{**stop, "flag": True}, {**stop, "flag": False}, stop]}
    upgraded = UPGRADES[2]({"climb": climb})["climb"]["stop_results"]
    assert [StopResult(**one).severity for one in upgraded] == ["caveat", "note", "note"]


def test_a_plan_of_format_3_loses_the_keys_that_its_engine_has_no_more() -> None:
    plan = {"database": {"engine": "simulated", "url": "", "cores": [], "settings": {}}}
    assert UPGRADES[3]({"plan": plan})["plan"]["database"] == {
        "engine": "simulated",
        "settings": {},
    }
