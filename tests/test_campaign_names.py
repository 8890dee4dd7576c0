"""Campaigns by name: what a person may type, and what a wrong name says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from kneebench.campaign.preflight import preset
from kneebench.cli import app
from kneebench.commands.completing import campaign_names
from kneebench.errors import PlanError
from kneebench.lab.host import host
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.results.atomic_write import write_text
from kneebench.results.campaign_names import find_campaign
from kneebench.results.formats import write_kept
from kneebench.results.head import read_head
from kneebench.results.store import Store

BEGUN = datetime(2026, 11, 20, 3, 0, tzinfo=UTC)


def plan_named(name: str, question: str = "") -> Plan:
    said = {"name": name, "question": question or "What does this storage buy?"}
    return preset("simulated").model_copy(update=said)


def begun(root: Path, day: int, name: str = "", question: str = "") -> Path:
    """The folder of a campaign that began so many days after the first."""
    with Store.create(root, Study(plan_named(name, question)), host()) as store:
        at = BEGUN + timedelta(days=day)
        head = read_head(store.folder).model_copy(update={"started_at": at.isoformat()})
        write_kept(store.folder / "campaign.json", head)
        return store.folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    begun(tmp_path, 0, "nightly-sata")
    begun(tmp_path, 1, "nightly-nvme")
    begun(tmp_path, 2, "nightly-sata")
    begun(tmp_path, 3, question="What do two more drives buy this database, and at what price?")
    return tmp_path


def day(folder: Path) -> int:
    return (datetime.fromisoformat(read_head(folder).started_at) - BEGUN).days


@pytest.mark.parametrize(
    ("typed", "is_day"),
    [
        ("latest", 3),
        ("latest~1", 2),
        ("latest~3", 0),
        ("nightly-sata", 2),
        ("nightly-sata~1", 0),
        ("nightly-n", 1),
        ("nightly-s~1", 0),
        ("what-do-two-more-drives-buy", 3),
        ("what", 3),
        ("what-do-t~0", 3),
    ],
)
def test_a_campaign_is_found_by_what_a_person_types(root: Path, typed: str, is_day: int) -> None:
    assert day(find_campaign(typed, root)) == is_day


def test_a_path_and_a_folders_name_and_its_beginning_find_a_campaign(root: Path) -> None:
    folder = find_campaign("latest", root)
    dated = folder.name[:10]
    assert folder.name == f"{dated}-what-do-two-more-drives-buy"
    for typed in (folder, str(folder), folder.name, f"{dated}-what"):
        assert find_campaign(typed, root) == folder


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("nightly-satta", "no such campaign (did you mean nightly-sata"),
        ("nightly", "3 campaigns begin with it: "),
        ("latest~4", "only 4 campaigns in "),
        ("nightly-nvme~1", "only 1 campaign of the name nightly-nvme in "),
        ("stag", "no such campaign; looked in stag and "),
        ("NIGHTLY-N", "no such campaign (did you mean nightly-nvme"),
        ("Latest", "no such campaign (did you mean latest?)"),
        ("lates", "no such campaign (did you mean latest?)"),
        ("latest~", "no such campaign (did you mean latest?)"),
        ("wath-do", "no such campaign (did you mean what-do-two-more-drives-buy"),
        ("", "cannot find a campaign: its name is empty; see `kneebench list`"),
    ],
)
def test_a_name_that_finds_no_campaign_says_why_and_what_is_near(
    root: Path, typed: str, said: str
) -> None:
    with pytest.raises(PlanError) as error:
        find_campaign(typed, root)
    assert said in str(error.value)


def test_campaigns_of_one_question_have_one_name_and_the_newest_is_meant(tmp_path: Path) -> None:
    question = "What would faster storage than the disk under /srv/databases/production buy it?"
    first, second = (begun(tmp_path, day, question=question) for day in (0, 1))
    for typed in ("what-would-faster-storage", "what-would", second.name):
        assert find_campaign(typed, tmp_path) == second
    assert find_campaign("what~1", tmp_path) == first == find_campaign(first.name, tmp_path)
    assert find_campaign("what-would-faster-storage-2", tmp_path) == second


def test_an_exact_name_is_meant_before_one_that_begins_so(tmp_path: Path) -> None:
    exact, longer = begun(tmp_path, 0, "nightly"), begun(tmp_path, 1, "nightly-sata")
    assert find_campaign("nightly", tmp_path) == exact
    assert find_campaign("nightly-", tmp_path) == longer


def test_the_tab_key_offers_what_finds_a_campaign(root: Path) -> None:
    context = typer.Context(typer.main.get_command(app), ignore_unknown_options=True)
    context.params = {"root": root}
    offered = campaign_names(context, "")
    assert {"latest", "nightly-sata", "what-do-two-more-drives-buy"} <= set(offered)
    assert all(find_campaign(one, root) for one in offered)


def test_a_file_in_place_of_a_folder_of_campaigns_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text("")
    for words in (["list"], ["show", "latest"], ["trend"]):
        answer = CliRunner().invoke(app, [*words, "--in", str(file)])
        assert answer.exit_code == 2
        assert f"{file}: it is a file; name a folder of campaigns" in answer.stderr


def test_a_list_into_a_pipe_has_one_line_for_each_campaign(root: Path) -> None:
    folder, long = begun(root, 4, "n" * 29), "many words " * 30
    head = read_head(folder)
    tagged = {**head.plan, "tags": {"note": f"{long}end"}}
    write_kept(folder / "campaign.json", head.model_copy(update={"plan": tagged}))
    answer = CliRunner().invoke(app, ["list", "--in", str(root)])
    assert len(answer.stdout.splitlines()) == 6  # with the heading
    [line] = [line for line in answer.stdout.splitlines() if folder.name in line]
    assert "unfinished" in line and f"note={long}end" in line


def test_latest_of_an_empty_folder_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"no campaign in .*; name one, or start one with"):
        find_campaign("latest", tmp_path)


def test_a_damaged_campaign_is_found_by_its_name_and_is_never_the_latest(root: Path) -> None:
    folder = find_campaign("latest", root)
    write_text(folder / "campaign.json", "{")
    assert find_campaign(folder.name, root) == folder
    assert day(find_campaign("latest", root)) == 2


def test_a_folder_has_a_short_name_of_whole_words(tmp_path: Path) -> None:
    question = "What would faster storage than the disk under /srv/databases/production buy it?"
    names = [begun(tmp_path, 0, question=question).name for _ in range(2)]
    assert [name[11:] for name in names] == [
        "what-would-faster-storage",
        "what-would-faster-storage-2",
    ]
    assert max(map(len, names)) <= 40


def test_a_numbered_folder_is_no_longer_than_another(tmp_path: Path) -> None:
    for name, second in (("", "what-would-a-faster-drive-2"), ("n" * 29, "n" * 27 + "-2")):
        folders = [begun(tmp_path, 0, name, "What would a faster drive buy?") for _ in range(2)]
        assert len(folders[0].name) == 40
        assert folders[1].name[11:] == second


@pytest.mark.parametrize("name", ["../up", "a b", ".hidden", "-x", "x" * 30, "a/b", "ends."])
def test_a_name_that_fits_no_folder_is_refused(name: str) -> None:
    document = preset("simulated").model_dump(mode="json")
    with pytest.raises(ValueError, match=r"letters and digits|at most 29"):
        Plan.model_validate({**document, "name": name})
