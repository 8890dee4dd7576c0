"""Campaigns from Python and in notebooks: found by name, drawn, shown with their caveats, and
followed while they run.
"""

from __future__ import annotations

import pydoc
import re
import runpy
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

import kneebench
from kneebench.brief import drawing
from kneebench.notebook.running import in_notebook
from kneebench.plan.writer import to_toml
from kneebench.records import Remark
from tests.recordings import recorded
from tests.simulated_campaign import finished, nightly, plan

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
EXECUTE = runpy.run_path(str(ROOT / "docs" / "execute_notebook.py"))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> kneebench.Results:
    return kneebench.load(finished(plan(), tmp_path_factory.mktemp("campaigns")))


# --- by name ------------------------------------------------------------------------------------


def test_a_climb_is_found_by_the_name_of_its_configuration(results: kneebench.Results) -> None:
    assert results["slow"] is results.climbs[1]
    assert "slow" in results and "slo" not in results and 1 not in results
    with pytest.raises(KeyError) as unknown:
        results["slo"]
    assert str(unknown.value) == (
        "results['slo']: no such configuration; did you mean 'slow'? available: fast, slow"
    )
    assert isinstance(unknown.value, kneebench.PlanError)


def test_a_storage_with_several_configurations_is_none_of_them(tmp_path: Path) -> None:
    cores = {"cores": [1, 2]}
    ladder = {"users": [4, 8], "step": 2, "window": "6s", "final_window": "6s", "checkpoints": 0}
    swept = kneebench.load(finished(plan(constraints=cores, ladder=ladder), tmp_path))
    with pytest.raises(kneebench.UnknownConfiguration, match=r"use one of: fast \(1 core\), fast"):
        swept["fast"]
    assert swept["fast (1 core)"].configuration.cores == 1
    assert set(swept.sweep()["cores"]) == {1, 2}
    assert "NOPM" in swept.plot.sweep().to_json()


def test_campaigns_are_found_in_the_default_folder_by_name(
    own_place: Path, results: kneebench.Results
) -> None:
    Path("kneebench-results").symlink_to(results.folder.parent)
    assert [one.id for one in kneebench.campaigns()] == [results.campaign.id]
    for name in ("latest", results.campaign.id, results.campaign.id[:12], Path(results.folder)):
        assert kneebench.load(name).campaign == results.campaign
    with pytest.raises(kneebench.PlanError, match="did you mean"):
        kneebench.load(results.campaign.id.replace("what", "that"))


def test_two_campaigns_are_compared_as_the_command_does(results: kneebench.Results) -> None:
    both = kneebench.compare(results, results)
    assert [row.storage for row in both.rows] == ["fast", "slow"] * 2
    assert both.rows[1].against.ratio == kneebench.compare(results)[0].ratio
    assert "so no interval covers drift" in both.caveats[-1]
    assert all(text in unescape(both._repr_html_()) for text in both.caveats)
    head = results.campaign
    other = head.model_copy(update={"plan": {**head.plan, "workload": {"warehouses": 8}}})
    apart = results.model_copy(update={"campaign": other})
    with pytest.raises(kneebench.PlanError, match="workload"):
        kneebench.compare(results, apart)
    assert "differences of figures" in str(kneebench.compare(results, apart, anyway=True).caveats)


# --- as a notebook shows them -------------------------------------------------------------------


def test_a_notebook_shows_what_a_reader_must_know(results: kneebench.Results) -> None:
    cautions = [part for part in kneebench.Brief(results).sections if part.name == "cautions"]
    page = unescape(results._repr_html_())
    sentences = [sentence for part in cautions for sentence in part.sentences]
    assert sentences and all(sentence in page for sentence in sentences)
    climb = results["slow"]
    for shown in (climb, kneebench.knee(climb), kneebench.compare(results)[0]):
        assert "<caption>SIMULATED: " in shown._repr_html_()
    assert "(n too small)" in kneebench.knee(climb)._repr_html_()


def test_a_notebook_shows_failed_checks_and_invalid_rungs_first() -> None:
    from kneebench.notebook.loaded import loaded

    whole = recorded()
    climb = whole.climbs[0]
    why = Remark(kind="test", severity="invalid", words="the load <generator> was busy")
    rungs = (climb.rungs[0].with_remarks(why), *climb.rungs[1:])
    climbs = (climb.model_copy(update={"rungs": rungs}), *whole.climbs[1:])
    page = loaded(whole.model_copy(update={"climbs": climbs}))._repr_html_()
    assert page.startswith("<p><strong>1 rung is invalid</strong></p>")
    assert "the load &lt;generator&gt; was busy" in page
    assert "invalid: the load &lt;generator&gt; was busy" in climbs[0]._repr_html_()


def test_a_knee_and_a_comparison_say_what_must_be_known_of_their_runs() -> None:
    few = Remark(kind="warehouses", severity="caveat", words="2 warehouses per user")
    whole = recorded()
    rungs = tuple(
        one.with_remarks(few) if one.order.phase == "final_run" else one
        for one in whole.climbs[0].rungs
    )
    climb = whole.climbs[0].model_copy(update={"rungs": rungs})
    runs = len(climb.of("final_run"))
    assert f"{runs} of {runs} runs: 2 warehouses per user." in kneebench.knee(climb)._repr_html_()
    either = whole.model_copy(update={"climbs": (climb, *whole.climbs[1:])})
    [nopm] = [one for one in kneebench.compare(either) if one.quantity == "nopm"]
    assert f"{runs} of {2 * runs} runs: 2 warehouses per user." in nopm._repr_html_()
    assert "caveats" not in nopm.model_dump()


def test_a_plan_and_a_brief_have_a_page_in_a_notebook(results: kneebench.Results) -> None:
    shown = kneebench.preset("memory")._repr_html_()
    assert "How much memory" in shown and "256 MiB" in shown and "emulated drives" in shown
    framed = kneebench.Brief(results)._repr_html_()
    assert unescape(re.search('srcdoc="([^"]*)"', framed)[1]) == kneebench.Brief(results).html()


def test_charts_are_the_figures_of_the_brief(results: kneebench.Results) -> None:
    brief = kneebench.Brief(results)
    figures = {one.name: one for part in brief.sections for one in part.figures}
    drawn = {
        "curve": results.plot.curve(),
        "latency-mean": results.plot.latency(),
        "latency-p999": results.plot.latency("p999"),
        "log-writes": results.plot.log_writes(),
    }
    for name, chart in drawn.items():
        made = chart.to_dict()
        assert " ".join(made["title"]["subtitle"]).startswith("Simulated. Derived from TPC-C")
        vega = drawing.titled(figures[name], brief.says)
        assert type(chart).from_json(vega).to_dict() == made
    with pytest.raises(kneebench.KneebenchError, match="several sizes of memory"):
        results.plot.sweep()


def test_an_estimate_is_printed_with_its_unit(results: kneebench.Results) -> None:
    found = kneebench.knee(results["slow"])
    assert re.fullmatch(r"[\d,]+ NOPM \([\d,]+ to [\d,]+, n=3\)", str(found.nopm))
    assert re.fullmatch(r"[\d.]+ ms \([\d.]+ ms to [\d.]+ ms, n=3\)", str(found.latency_s))
    assert re.match(r"\d+ users \(", str(found.users))
    assert re.match(r"0\.\d+x \(", str(kneebench.compare(results)[0].ratio))
    assert "unit" not in found.model_dump_json()


def test_help_shows_what_is_kneebenchs_own() -> None:
    public = [getattr(kneebench, name) for name in kneebench.__all__]
    for kind in (one for one in public if isinstance(one, type)):
        page = pydoc.plain(pydoc.render_doc(kind))
        assert "model_" not in page.replace("model_validate()", ""), kind
        assert "inherited from pydantic" not in page, kind
    fields = subprocess.run(
        [sys.executable, "-c", "import kneebench; help(kneebench.Rung)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "warm_up_s: float" in fields and "quantity(self" in fields
    page = pydoc.plain(pydoc.render_doc(kneebench.Results))
    assert "knees(self)" in page and 'results["slow drive"]' in page


# --- progress -----------------------------------------------------------------------------------

SCRIPT = """
import kneebench
plan = kneebench.read_plan("plan.toml")
kneebench.run(plan, folder="results", fresh=True, progress={})
"""


@pytest.mark.parametrize(("progress", "printed"), [("None", False), ("True", True)])
def test_a_script_prints_progress_only_where_it_is_wanted(
    own_place: Path, progress: str, printed: bool
) -> None:
    Path("plan.toml").write_text(to_toml(nightly("1ms")))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(progress)], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert ("final run, 8 users: " in done.stderr) == printed
    assert printed or not done.stderr


def test_the_watcher_of_a_script_gets_the_events_beside_progress(
    own_place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []
    short = plan(ladder={"users": 4, "final_window": "5s", "repeats": 1, "checkpoints": 0})
    kneebench.run(short, "results", watch=lambda event: seen.append(event.kind), progress=True)
    assert not in_notebook() and "rung" in seen
    assert "4 users" in capsys.readouterr().err


def test_the_example_notebook_has_the_outputs_that_its_cells_give(tmp_path: Path) -> None:
    """Also: the line of progress, and that charts are drawn without a network."""
    kept, again = EXECUTE["kept"](), EXECUTE["executed"](EXECUTE["kept"](), tmp_path)
    for before, after in zip(kept.cells, again.cells, strict=True):
        assert after.get("outputs") == before.get("outputs"), before.source
    assert EXECUTE["PAGE"].read_text() == EXECUTE["page"](kept), "run docs/execute_notebook.py"
    text = NOTEBOOK.read_text()
    assert "31 rungs measured" in text
    assert not re.search(r"/tmp|/home|/root|20\d\d-\d\d|cdn", text)
