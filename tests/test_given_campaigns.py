"""Campaigns given by name where Python takes one, and shown by ids that tell them apart."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import kneebench
from kneebench.cli import app
from kneebench.results.given_campaigns import told_apart
from kneebench.results.redaction import pack

Campaigns = tuple[Path, Path]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Campaigns:
    """Two campaigns of one id with different figures, each in a folder of its own."""
    place = tmp_path_factory.mktemp("hosts")
    plan = kneebench.preset("simulated")
    found = [
        kneebench.run(kneebench.with_keys(plan, {"seed": seed}, name="night"), place / host)
        for host, seed in (("h1", 9300), ("h3", 6))
    ]
    one, other = (results.folder for results in found)
    assert one and other and one.name == other.name
    return one, other


@pytest.fixture
def here(measured: Campaigns, monkeypatch: pytest.MonkeyPatch) -> str:
    """The working directory is that of both hosts; the id of both campaigns."""
    monkeypatch.chdir(measured[0].parent.parent)
    return measured[0].name


def called(*words: str | Path) -> str:
    answer = CliRunner().invoke(app, [str(word) for word in words])
    assert answer.exit_code in (0, 6, 7), answer.output
    return answer.stdout


def test_a_name_and_a_path_are_campaigns_wherever_results_are(here: str) -> None:
    results = kneebench.load("night", "h1")
    path = Path("h1") / here
    assert kneebench.compare("night", folder="h1") == kneebench.compare(results)
    assert kneebench.compare(path) == kneebench.compare(results)
    assert kneebench.compare("latest", results, folder="h1").rows[0].campaign == here
    both = kneebench.accept(baseline=str(path), campaign="night", folder="h3")
    assert both.baseline == f"h1/{here}" and not both.itself
    assert kneebench.Brief("nigh", folder="h1").title == kneebench.Brief(results).title
    with pytest.raises(kneebench.PlanError, match="did you mean night"):
        kneebench.accept(baseline=results, campaign="nihgt", folder="h1")


def test_campaigns_of_one_id_are_told_apart_by_their_paths(here: str) -> None:
    names = [f"h1/{here}", f"h3/{here}"]
    found = json.loads(called("compare", *names, "--json"))
    assert list(dict.fromkeys(row["campaign"] for row in found["storages"])) == names
    shown = called("compare", *names)
    assert f"seed is 9300 in h1/{here} and 6 in h3/{here}" in " ".join(shown.split())
    both = kneebench.compare(*names)
    assert [point.campaign for point in both.trends[0].points] == names
    assert all(name in both._repr_html_() for name in names)
    judged = json.loads(called("accept", *names, "--json"))
    assert (judged["baseline"], judged["campaign"]) == (names[0], names[1])
    trend = json.loads(called("trend", *names, "--json"))
    assert [one["id"] for one in trend["campaigns"]] == names


def test_a_page_names_campaigns_of_one_id_by_their_paths(here: str, tmp_path: Path) -> None:
    names = [f"h1/{here}", f"h3/{here}"]
    for command in ("compare", "trend", "accept"):
        page = tmp_path / f"{command}.html"
        called(command, *names, "--page", page)
        assert all(name in page.read_text() for name in names), command


def test_an_archive_and_its_redacted_copy_are_told_apart_and_are_one_campaign(
    here: str, tmp_path: Path
) -> None:
    results = kneebench.load(Path("h1") / here)
    own, public = tmp_path / "own.kneebench", tmp_path / "public.kneebench"
    pack(results, own, redact=False)
    pack(results, public, redact=True)
    rows = kneebench.compare(own, public, anyway=True).rows
    assert list(dict.fromkeys(row.campaign for row in rows)) == [own.name, public.name]
    assert kneebench.accept(baseline=results, campaign=own).itself


def test_campaigns_that_begin_in_the_same_second_on_two_machines_are_two(here: str) -> None:
    one, other = (kneebench.load(Path(host) / here) for host in ("h1", "h3"))
    at = other.campaign.model_copy(update={"started_at": one.campaign.started_at})
    same_second = other.model_copy(update={"campaign": at})
    assert not kneebench.accept(baseline=one, campaign=same_second).itself


def test_results_without_a_folder_have_numbers_and_one_given_twice_keeps_its_id(here: str) -> None:
    one, other = (kneebench.load(Path(host) / here) for host in ("h1", "h3"))
    bare = [results.model_copy(update={"folder": None}) for results in (one, other)]
    assert [each.campaign.id for each in told_apart(bare)] == [here, f"{here} (2)"]
    assert [each.campaign.id for each in told_apart([one, one])] == [here, here]
    assert [each.kept_id for each in told_apart([one, other])] == [here, here]


def test_copies_in_one_folder_have_columns_of_their_own_in_a_trend(
    here: str, tmp_path: Path
) -> None:
    shutil.copytree(Path("h1") / here, tmp_path / "one")
    shutil.copytree(Path("h3") / here, tmp_path / "two")
    trend = json.loads(called("trend", "--in", tmp_path, "--json"))
    assert sorted(one["id"] for one in trend["campaigns"]) == ["one", "two"]
