"""The first hour in Python: paths as text, results that fit a screen, names that mean something."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

import kneebench
from kneebench.notebook.loaded import LoadedResults
from kneebench.plan.preset import preset_text


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> LoadedResults:
    plan = kneebench.preset("simulated")
    short = plan.ladder.model_copy(update={"final_window": 10.0})
    folder = tmp_path_factory.mktemp("campaigns")
    return kneebench.run(plan.model_copy(update={"ladder": short}), folder=str(folder))


def test_paths_may_be_given_as_text(results: LoadedResults) -> None:
    assert results.folder
    assert kneebench.load(str(results.folder)).campaign == results.campaign
    assert [one.id for one in kneebench.campaigns(str(results.folder.parent))] == [
        results.campaign.id
    ]
    page = str(results.folder / "page.html")
    assert kneebench.Brief(results).write(page) == Path(page)


def test_run_takes_a_plan_or_the_path_of_its_file(own_place: Path) -> None:
    text = preset_text("simulated").replace('"60s"', '"10s"')
    (own_place / "plan.toml").write_text(text)
    for plan in ("plan.toml", own_place / "plan.toml"):
        found = kneebench.run(plan, folder="results", fresh=True)
        assert (
            found.finished and found.campaign.plan["question"] == "What would a faster drive buy?"
        )
    with pytest.raises(kneebench.PlanError, match=r"cannot read nosuch\.toml"):
        kneebench.run("nosuch.toml")
    (own_place / "wrong.toml").write_text('storages.disk.path = "."\nquestio = ""')
    with pytest.raises(kneebench.PlanError, match='did you mean "question"'):
        kneebench.run("wrong.toml")


def test_what_is_no_plan_no_campaign_and_no_climb_is_a_type_error_with_what_to_do(
    results: LoadedResults,
) -> None:
    for call, said in (
        (lambda: kneebench.run({"storages": {}}), "Plan is required.*Plan.model_validate"),
        (lambda: kneebench.compare(5), "Results is required"),  # type: ignore[call-overload]
        (lambda: kneebench.Brief(5), r"Results is required.*kneebench\.load\(folder\)"),
        (lambda: kneebench.knee(results), r"Climb is required.*results\.climbs"),
    ):
        with pytest.raises(TypeError, match=said):
            call()


def test_the_package_tells_its_version() -> None:
    assert kneebench.__version__ == version("kneebench")


def test_what_is_printed_of_results_fits_one_screen(results: LoadedResults) -> None:
    climb = results.climbs[0]
    shown = [repr(thing) for thing in (results, climb, climb.rungs[0])]
    assert [len(text) < 80 * 24 for text in shown] == [True] * 3
    assert "stopped_by='plateau'" in shown[0]
    assert "knee_users=18" in shown[1]


def test_a_notebook_shows_the_answer_table(results: LoadedResults) -> None:
    page = results._repr_html_()
    assert "<p>Simulated: these figures come from a model" in page
    assert "<caption>What would a faster drive buy?</caption>" in page
    knees = [kneebench.knee(climb) for climb in results.climbs]
    assert [f"{found.nopm.value:,.0f} (" in page for found in knees if found] == [True, True]


def test_completion_offers_what_was_measured_and_not_the_library_below(
    results: LoadedResults,
) -> None:
    assert dir(results) == [
        "archive",
        "campaign",
        "climbs",
        "comparisons",
        "finished",
        "folder",
        "kept_id",
        "knees",
        "model_dump",
        "model_dump_json",
        "plot",
        "rungs",
        "seconds",
        "series",
        "sweep",
        "wait_shares",
    ]
    assert "nopm" in dir(results.climbs[0].rungs[0].tally)
    assert not [
        name
        for name in dir(kneebench.preset("simulated"))
        if name.startswith(("__", "model_v", "parse_"))
    ]


def test_a_mistyped_preset_names_the_one_that_was_perhaps_meant() -> None:
    with pytest.raises(kneebench.UnknownPart, match=r"unknown name \(did you mean 'simulated'\?\)"):
        kneebench.preset("simulatd")


def test_a_preset_is_a_plan_by_its_name() -> None:
    assert kneebench.preset("quick").question
    with pytest.raises(kneebench.UnknownPart, match="quick, running, scan, server, simulated"):
        kneebench.preset("slow")
