"""A campaign folder of an old format gives the figures of the same campaign in the current format,
to the digit.
"""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
from recorded import make

from kneebench.analysis.configuration_summary import configuration_summaries
from kneebench.results import Store, load
from kneebench.results.campaign_reader import series
from kneebench.results.upgrades import UPGRADES


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The recorded campaign as format 1 stored it, without its seconds and with the series of one
    rung.
    """
    with tarfile.open(make.HERE / "format-1.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / make.NAME


def test_a_folder_of_format_1_gives_the_same_figures_to_the_digit(old: Path) -> None:
    upgraded, current = load(old), load(make.HERE / make.NAME)
    assert (old / "rungs" / "disk.report-26-1.json").exists()
    assert upgraded.campaign == current.campaign
    assert upgraded.climbs == current.climbs
    assert configuration_summaries(upgraded) == configuration_summaries(current)
    rung, *_ = upgraded.climbs[0].of("fixed_rate")
    assert series(upgraded, rung) == series(current, rung) != ()


def test_a_folder_of_format_1_that_is_opened_for_writing_gets_the_current_file_names(
    old: Path,
) -> None:
    before = load(old)
    with Store.open(old) as store:
        order = before.climbs[0].rungs[0].order
        assert store.rung(order) == before.climbs[0].rungs[0]
    assert {file.name for file in (old / "rungs").iterdir()} == {
        file.name for file in (make.HERE / make.NAME / "rungs").iterdir()
    }
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
    shutil.move(old / "rungs" / "disk.report-26-1.json", old / "rungs" / "disk.final_run-26-1.json")
    assert load(old).climbs == load(make.HERE / make.NAME).climbs
