"""Calls from Python that a first try gets wrong: each error says what is wrong and what to do."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import kneebench
from kneebench.records import Series
from kneebench.results.parquet import write_series
from kneebench.results.tables import read_series
from tests.simulated_campaign import finished, plan

SEPARATE = r"quantities are separate texts: series\('a', 'b'\)"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> kneebench.Results:
    return kneebench.load(finished(plan(), tmp_path_factory.mktemp("campaigns")))


@pytest.mark.parametrize("given", [["log.write_latency", "cores.busy"], 5, None])
def test_quantities_that_are_no_texts_are_a_type_error(
    results: kneebench.Results, given: object
) -> None:
    with pytest.raises(TypeError, match=SEPARATE):
        results.series(given)


def test_a_wrong_query_of_our_own_is_not_called_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "series.parquet"
    write_series(file, [Series(quantity="a", source="", unit="s", at_s=(1.0,), value=(2.0,))])
    nested: Any = [["a"]]
    with pytest.raises(duckdb.BinderException):
        read_series(file, nested)


def test_what_follows_the_folder_of_a_run_is_given_by_name(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="positional argument"):
        kneebench.run(plan(), tmp_path, True)


def test_a_folder_in_which_nothing_can_be_written_is_an_error_with_its_name_and_what_to_do(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    for folder in (Path("/proc/campaigns"), tmp_path / "file", tmp_path / "file" / "campaigns"):
        with pytest.raises(kneebench.PlanError, match=f"cannot write {folder}: .*; choose another"):
            kneebench.run(plan(), folder)


def test_keys_of_a_plan_are_changed_as_the_command_line_sets_them() -> None:
    before = kneebench.preset("simulated")
    tags = {"firmware": "1.2"}
    after = kneebench.with_keys(before, {"ladder.repeats": 5}, name="nightly", tags=tags)
    assert (after.ladder.repeats, after.name, after.tags) == (5, "nightly", tags)
    assert before == kneebench.preset("simulated") == kneebench.with_keys(before)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"ladder.repeat": 4}, 'unknown key "repeat" .did you mean "repeats"'),
        ({"ladder.window": 5.0}, "a time with its unit"),
        ({"a b": 1}, "'a b': it is no key of a plan"),
        ({"meters": ["nosuch"]}, "allowed: one of"),
        ({"name": "../up"}, "with_keys: 'name'"),
    ],
)
def test_a_wrong_key_or_value_is_an_error_with_what_is_allowed(
    keys: dict[str, object], said: str
) -> None:
    with pytest.raises(kneebench.PlanError, match=said):
        kneebench.with_keys(kneebench.preset("simulated"), keys)


def test_a_campaign_that_is_listed_is_loaded_as_it_is(results: kneebench.Results) -> None:
    [listed] = kneebench.campaigns(results.folder.parent)
    assert kneebench.load(listed).campaign == results.campaign


def test_results_are_a_loop_over_their_climbs_and_know_them_by_name_only(
    results: kneebench.Results,
) -> None:
    assert list(results) == list(results.climbs)
    number: Any = 0
    with pytest.raises(TypeError, match=r"results\[0\]: a name is required: 'fast', 'slow'"):
        results[number]


def test_what_is_no_campaign_is_told_with_what_is_missing(own_place: Path) -> None:
    Path("empty").mkdir()
    with pytest.raises(TypeError, match="a name or a path is required, not 5"):
        kneebench.load(5)
    with pytest.raises(kneebench.PlanError, match=r"empty: it has no campaign\.json"):
        kneebench.load("empty")
    with pytest.raises(kneebench.PlanError, match="missing: no such folder"):
        kneebench.load("latest", "missing")


def test_a_page_is_written_to_a_name_that_ends_in_html(
    results: kneebench.Results, tmp_path: Path
) -> None:
    with pytest.raises(kneebench.PlanError, match="a page is HTML"):
        kneebench.Brief(results).write(tmp_path / "brief.txt")
    assert not list(tmp_path.iterdir())


def test_the_name_of_a_preset_is_no_file_and_the_error_says_how_to_use_it(own_place: Path) -> None:
    with pytest.raises(kneebench.PlanError, match=r"kneebench\.preset\('simulated'\) in Python"):
        kneebench.run("simulated")


def test_a_campaign_without_a_sweep_says_so_in_both_places(results: kneebench.Results) -> None:
    for call in (results.sweep, results.plot.sweep):
        with pytest.raises(kneebench.PlanError, match=r"several sizes.*under \[constraints\]"):
            call()


def test_a_refused_comparison_names_the_argument_of_python(results: kneebench.Results) -> None:
    changed = {**results.campaign.plan, "workload": {"warehouses": 8}}
    head = results.campaign.model_copy(update={"plan": changed})
    with pytest.raises(kneebench.PlanError, match=r"with compare\(\.\.\., anyway=True\)"):
        kneebench.compare(results, results.model_copy(update={"campaign": head}))


@pytest.mark.parametrize("directory", ["series", "seconds"])
def test_series_whose_files_are_gone_are_not_an_empty_frame(
    results: kneebench.Results, tmp_path: Path, directory: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(results.folder, copy, ignore=shutil.ignore_patterns(directory))
    with pytest.raises(kneebench.KneebenchError, match=rf"missing, first {copy}/{directory}/"):
        getattr(kneebench.load(copy), directory)()
