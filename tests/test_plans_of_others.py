"""Plans of others: `check` starts nothing that they name, root asks before it runs them, and a
folder that this user did not record here is like an archive.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kneebench.campaign.preflight import read_plan
from kneebench.commands.trusting import trusted
from kneebench.databases.engines.mariadb.builds import find_build
from kneebench.directories import changeable_by_others
from kneebench.errors import PlanError, Refused
from kneebench.lab.host import host
from kneebench.plan.preset import preset_text
from kneebench.plan.study import Study
from kneebench.results import Store, load
from kneebench.results.joining import find_joinable
from kneebench.results.origin import NOT_OWN, is_own

KNEEBENCH = [sys.executable, "-m", "kneebench"]
SHORT = 2**15
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of other users")
SIMULATED = preset_text("simulated")


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    return own_place


def ran(*words: object, answer: str = "") -> tuple[int, str, str]:
    command = [*KNEEBENCH, *map(str, words)]
    ended = subprocess.run(command, input=answer, capture_output=True, text=True)
    return ended.returncode, ended.stdout, " ".join(ended.stderr.split())


def program(file: Path, prints: str) -> Path:
    """A program that leaves a file beside it where it is started."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\ntouch {file}.ran\n{prints}\n")
    file.chmod(0o755)
    return file


def plan_with_programs(place: Path) -> Path:
    place.chmod(0o755)
    meter = program(place / "meter", "while echo 100; do sleep 0.2; done")
    for name in ("postgres", "initdb"):
        program(place / "bin" / name, "echo 'postgres (PostgreSQL) 15.1'")
    file = place / "plan.toml"
    file.write_text(
        f'storages.disk.path = "{place}"\n[database]\nbin_dir = "{place}/bin"\n'
        'settings = { shared_preload_libraries = "/tmp/theirs", fsync = "off" }\n'
        f'[power]\nmeters = [{{ name = "meter", type = "command", scope = "wall",'
        f' command = ["{meter}", "--fast"] }}]\n'
    )
    return file


def test_check_starts_no_program_of_a_plan_and_names_each_with_arguments_and_account(
    place: Path,
) -> None:
    _, printed, _ = ran("check", plan_with_programs(place), "--json")
    found = {one["subject"]: one["seen"] for one in json.loads(printed)}
    warned = [one["seen"] for one in json.loads(printed) if one["level"] == "warning"]
    assert [seen for seen in warned if seen.startswith("fsync is off")]
    assert list(place.rglob("*.ran")) == []
    user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
    assert found["power meter meter"] == f"run executes, as {user}: {place}/meter --fast"
    assert f"{place}/bin" in found["database.bin_dir"]
    assert "/tmp/theirs" in found["database.settings.shared_preload_libraries"]
    assert "version 15.1 in" in printed


def test_the_version_of_a_mariadb_is_read_and_not_asked_for(place: Path) -> None:
    server = program(place / "bin" / "mariadbd", "echo mariadbd Ver 10.11.19-MariaDB")
    with pytest.raises(PlanError, match="system_tables"):  # it has a version, and no messages
        find_build(server.parent)
    assert list(place.rglob("*.ran")) == []


def plan_with_host(place: Path, host: str, python: str) -> Path:
    """A plan of hosts that nobody can log in to."""
    there = f'ssh = "ssh://root@127.0.0.1:1", python = "{python}"'
    named = f"load = [{{ {there} }}]"
    if host == "database":
        named = f'database = {{ {there}, address = "127.0.0.1" }}'
    database = 'url = "postgresql://bench@127.0.0.1:1/tpcc"' if host == "load" else ""
    storage = "" if host == "load" else f'storages.disk.path = "{place}"\n'
    file = place / "plan.toml"
    file.write_text(f'hosts.{named}\n{storage}[database]\nengine = "postgres"\n{database}\n')
    file.chmod(0o644)
    return file


@pytest.mark.parametrize("host", ["load", "database"])
def test_check_starts_no_python_that_a_plan_names_for_its_hosts(place: Path, host: str) -> None:
    file = plan_with_host(place, host, "/srv/theirs/python3")
    _, printed, said = ran("check", file, "--json")
    assert printed, said
    levels = {one["subject"]: (one["level"], one["seen"]) for one in json.loads(printed)}
    level, seen = levels["load hosts" if host == "load" else "database host"]
    assert level == "warning" and "check starts none of those" in seen


def test_power_starts_the_program_of_a_meter_only_where_its_user_agrees(place: Path) -> None:
    file = plan_with_programs(place)
    code, _, said = ran("power", file, "--seconds", "1", answer="y\n")
    assert (code, list(place.rglob("*.ran"))) == (Refused.exit_code, [])
    assert "/meter --fast" in said and "--trust-plan" in said
    code, printed, said = ran("power", file, "--seconds", "2", "--trust-plan", "--json")
    assert code == 0, said
    assert json.loads(printed)[0]["watts"] == 100


# --- whose file it is -----------------------------------------------------------------------------


def safe(place: Path) -> Path:
    file = place / "plan.toml"
    file.write_text(SIMULATED)
    file.chmod(0o644)
    return file


@needs_root
def test_a_plan_that_another_user_could_change_is_found_by_file_directory_and_link(
    place: Path,
) -> None:
    file = safe(place)
    assert changeable_by_others(file) == ""
    (place / "link").symlink_to("plan.toml")
    assert changeable_by_others(place / "link") == ""
    os.lchown(place / "link", SHORT, SHORT)
    assert "link belongs to" in changeable_by_others(place / "link")
    file.chmod(0o666)
    assert "others may write" in changeable_by_others(file)
    file.chmod(0o644)
    place.chmod(0o777)
    assert "others may write" in changeable_by_others(file)
    place.chmod(0o1777)
    assert changeable_by_others(file) == "", "as in /tmp, its entry is ours alone"
    place.chmod(0o755)
    os.chown(file, SHORT, SHORT)
    assert "belongs to" in changeable_by_others(file)
    os.chown(file, 0, 0)
    os.chown(place, SHORT, SHORT)
    assert "belongs to" in changeable_by_others(file)
    assert changeable_by_others(place / "missing")
    assert changeable_by_others(place) != ""


@needs_root
@pytest.mark.parametrize("command", [["run"], ["noise"], ["check", "--try"], ["profile"]])
def test_root_runs_a_plan_of_another_user_only_if_told(place: Path, command: list[str]) -> None:
    os.chown(file := safe(place), SHORT, SHORT)
    code, _, said = ran(*command, file, "--json")
    assert code == Refused.exit_code, said
    assert "--trust-plan" in said and f"{file} belongs to" in said
    assert not (place / "kneebench-results").exists()


@needs_root
def test_root_accepts_by_a_plan_of_another_user_only_if_told(folder: Path, place: Path) -> None:
    os.chown(file := place / "plan.toml", SHORT, SHORT)
    code, _, said = ran("accept", folder, file, "--yes")
    assert code == Refused.exit_code, said
    assert "--trust-plan" in said and f"{file} belongs to" in said


@needs_root
@pytest.mark.parametrize(
    ("command", "host"), [(["hosts", "check"], "load"), (["clean"], "database")]
)
def test_root_is_asked_about_the_hosts_of_another_users_plan_if_it_names_their_python(
    place: Path, command: list[str], host: str
) -> None:
    for python, option, asked in (
        ("/srv/theirs/python3", (), True),
        ("/srv/theirs/python3", ("--trust-plan",), False),
        ("python3", (), False),
    ):
        os.chown(file := plan_with_host(place, host, python), SHORT, SHORT)
        code, printed, said = ran(*command, file, *option)
        assert (code == Refused.exit_code, "--trust-plan" in said) == (asked, asked), said
        assert asked or "ssh" in printed + said, "it went there"


@needs_root
def test_root_runs_a_plan_of_another_user_with_an_option_and_its_own_without(place: Path) -> None:
    file = safe(place)
    trusted(file, lambda: Study(read_plan(file)), sure=False)
    os.chown(file, SHORT, SHORT)
    trusted(file, lambda: Study(read_plan(file)), sure=True)
    pipe = [*KNEEBENCH, "run", "/dev/stdin", "--no-brief"]
    ended = subprocess.run(pipe, input=SIMULATED, capture_output=True, text=True)
    assert ended.returncode == Refused.exit_code, "who wrote a pipe is not known"


@needs_root
def test_a_plan_that_becomes_roots_own_once_it_was_read_is_still_that_of_another_user(
    place: Path,
) -> None:
    os.chown(file := safe(place), SHORT, SHORT)
    place.chmod(0o1777)

    def read() -> Study:
        plan = Study(read_plan(file))
        shutil.copy(file, mine := place / "of-root")
        mine.replace(file)  # as its owner may, in /tmp, with a file of root's
        return plan

    with pytest.raises(Refused, match="belongs to"):
        trusted(file, read, sure=False)


# --- whose folder it is ---------------------------------------------------------------------------


@pytest.fixture
def folder(place: Path) -> Path:
    """A campaign of our own that was just begun."""
    plan = read_plan(safe(place))
    with Store.create(Path("kneebench-results"), Study(plan), host(plan.paths)) as store:
        return store.folder


def is_ours(folder: Path) -> bool:
    return is_own(folder, load(folder).campaign)


def put_plan(folder: Path, **keys: object) -> None:
    """Put another plan into the head of a folder."""
    head = json.loads((folder / "campaign.json").read_text())
    head["plan"].update(keys)
    (folder / "campaign.json").write_text(json.dumps(head))


def test_only_a_folder_that_this_user_recorded_here_has_its_plan_run_unasked(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (folder / "campaign.json").read_text()
    assert is_ours(folder)
    put_plan(folder, raw_profile=True)
    assert not is_ours(folder), "another plan's text in our folder"
    code, _, said = ran("accept", folder, "--yes")
    assert (code, "it measures storages with fio" in said) == (PlanError.exit_code, True), said
    (folder / "campaign.json").write_text(before)
    assert is_ours(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "another"))
    assert not is_ours(folder), "another user's, or one whose state directory was lost"
    code, _, said = ran("accept", folder)
    assert code == PlanError.exit_code, said
    assert "it is not your own; it would" in said and "--yes" in said


@needs_root
def test_what_another_user_recorded_with_a_key_that_is_ours_now_is_not_ours(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_ours(folder)
    nobody = 65534
    for file in (place / "state", *(place / "state").rglob("*")):
        os.chown(file, nobody, nobody)
    monkeypatch.setattr("os.geteuid", lambda: nobody)
    assert not changeable_by_others(place / "state" / "kneebench" / "origin.key")
    assert not is_ours(folder)


def test_a_folder_of_others_gets_no_configurations_of_ours_and_does_not_become_ours(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = read_plan(place / "plan.toml")
    storages = {**plan.storages, "third": plan.storages["fast drive"]}
    machine, wider = host(plan.paths), Study(plan).changed(storages=storages)
    assert find_joinable(folder.parent, wider, machine) == folder
    with Store(shutil.copytree(folder, ours := place / "ours"), wider) as store:
        assert store.reopen()
    assert is_ours(ours), "with configurations that joined it here"
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("kneebench.results.origin.machine_number", lambda: "of another machine")
        assert not is_ours(folder)
        assert find_joinable(folder.parent, wider, machine) is None
        with Store(folder, wider) as store:
            store.reopen()
        assert not is_ours(folder)


def test_no_copy_of_an_origin_and_no_key_that_others_could_read_makes_a_folder_ours(
    folder: Path, place: Path
) -> None:
    other = shutil.copytree(folder, place / "other")
    assert is_ours(other), "a copy of all is still ours"
    put_plan(other, question="And of theirs?")
    assert not is_ours(other)
    (folder / "origin").unlink()
    assert not is_ours(folder), "as recorded before there were keys"
    (folder / "origin").symlink_to(other / "origin")
    assert not is_ours(folder)
    (folder / "origin").unlink()
    shutil.copy(other / "origin", folder / "origin")
    assert is_ours(folder)
    (place / "state" / "kneebench" / "origin.key").chmod(0o644)
    assert not is_ours(folder)


def test_no_other_word_in_place_of_a_password_that_was_taken_out_is_the_same_plan(
    place: Path,
) -> None:
    file = plan_with_programs(place)
    file.write_text(file.read_text().replace("--fast", "PASSWORD=hush"))
    plan = read_plan(file)
    with Store.create(Path("kneebench-results"), Study(plan), host(plan.paths)) as store:
        folder = store.folder
    assert is_ours(folder)
    head = (folder / "campaign.json").read_text()
    assert "PASSWORD=***" in head
    (folder / "campaign.json").write_text(head.replace("PASSWORD=***", "PASSWORD=`theirs`"))
    assert not is_ours(folder)


def test_an_unfinished_folder_of_others_is_not_resumed_and_a_warning_says_so(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, said = read_plan(place / "plan.toml"), list[str]()
    words = plan.brief.model_copy(update={"machine": {"chassis": "the other one"}})
    again = plan.model_copy(update={"brief": words})

    def opened() -> Path:
        root, machine = folder.parent, host(plan.paths)
        watch = lambda event: said.append(event.doing)  # noqa: E731
        with Store.for_study(root, Study(again), machine, watch=watch) as store:
            store.reopen()
            return store.folder

    assert (opened(), said) == (folder, [])
    assert is_ours(folder), "also with other words, as the plan that resumes it has them"
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "another"))
    assert opened() != folder
    assert said == [f"not resumed: {folder} {NOT_OWN}"]
