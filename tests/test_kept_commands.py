"""Shell commands may hold secrets in any form: results and pages keep a hash of them, and what a
failing one says is told without them.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from kneebench.brief import Brief
from kneebench.databases.external.engine import run_shell_command
from kneebench.databases.several import engine_of
from kneebench.errors import KneebenchError, PlanError
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.faults import PlanFaults
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from kneebench.records import Results
from kneebench.results import Store
from kneebench.results.campaign_folders import find_unfinished
from kneebench.secrets import kept_command
from tests.parameters import some
from tests.recordings import recorded, recorded_host, recorded_plan, with_campaign

HOLDING = (
    "AWS_SECRET_ACCESS_KEY=hunter2 wal-g backup-fetch /data LATEST",
    "restore.sh --password hunter2 --host db",
    "mysql -phunter2 < dump.sql",
    "restore.sh --token=hunter2",
    "curl -H 'Authorization: Bearer hunter2' https://backup.example | sh",
    "export PASSWORD=hunter2; ./restore.sh",
    "psql postgresql://me:hunter2@db/x -f back.sql",
    "echo hunter2 | ./restore.sh",
)


def by_url(command: str, **settings: str) -> Plan:
    database = {
        "url": "postgresql://me@db.example/x",
        "restore": "command",
        "restore_command": command,
    }
    return recorded_plan(database=database, storages={"disk": {}, "memory": {}})


def with_command(command: str) -> Results:
    """A recording as if it had been restored by a command, with the command in its
    plan.
    """
    return with_campaign(recorded(), plan=by_url(command).model_dump(mode="json"))


@pytest.mark.parametrize("command", some(HOLDING, HOLDING[:3]))
def test_no_secret_of_a_command_gets_into_a_campaign_or_its_brief(
    command: str, tmp_path: Path
) -> None:
    store = Store.create(tmp_path, Study(by_url(command)), recorded_host())
    kept = (store.folder / "campaign.json").read_text()
    brief = Brief(with_command(command))
    assert "hunter2" not in kept + brief.html() + brief.json()
    assert kept_command(command) in json.loads(kept)["plan"]["database"]["restore_command"]


def test_a_setting_that_is_a_command_is_kept_by_its_hash_too(tmp_path: Path) -> None:
    plan = Plan.model_validate(
        {
            "database": {"settings": {"archive_command": "TOKEN=hunter2 push %p", "jit": False}},
            "storages": {"disk": {"path": "."}},
        }
    )
    settings = json.loads(
        (Store.create(tmp_path, Study(plan), recorded_host()).folder / "campaign.json").read_text()
    )["plan"]["database"]["settings"]
    assert settings == {"archive_command": kept_command("TOKEN=hunter2 push %p"), "jit": False}


def test_a_campaign_is_gone_on_with_under_the_same_command_and_no_other(tmp_path: Path) -> None:
    command = HOLDING[0]
    store = Store.create(tmp_path, Study(by_url(command)), recorded_host())
    store.close()
    assert find_unfinished(tmp_path, Study(by_url(command))) == store.folder
    assert find_unfinished(tmp_path, Study(by_url(command.replace("hunter2", "hunter3")))) is None


def test_the_brief_prints_that_a_command_must_be_replaced_and_what_it_prints_is_refused(
    tmp_path: Path,
) -> None:
    brief = Brief(with_command(HOLDING[0]))
    (repeat,) = [section for section in brief.sections if section.name == "repeat"]
    assert any("Commands are not saved" in sentence for sentence in repeat.sentences)
    with pytest.raises(PlanFaults, match=r"database\.restore_command") as caught:
        parse_plan(repeat.code[0], "plan.toml")
    assert [fault.allowed for fault in caught.value.faults] == ["the command itself"]
    with pytest.raises(PlanError, match="placeholder that results keep in place of a command"):
        engine_of(Study(by_url(kept_command(HOLDING[0]))).databases, Journal(tmp_path))


@pytest.mark.parametrize("command", HOLDING[:-1])
def test_what_a_failing_command_says_is_told_without_the_secrets_that_stand_in_it(
    command: str,
) -> None:
    failing = f"set -x; cat <<'END' >&2\n{command}\nuser me, hunter2: refused\nEND\nexit 3"
    with pytest.raises(KneebenchError, match=r"(?s)exit code 3.*: refused") as caught:
        run_shell_command("database.restore_command", failing, {}, "PGPASSWORD", "disk")
    assert "hunter2" not in str(caught.value)


def test_a_command_knows_the_server_and_the_storage_and_not_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQLCMDPASSWORD", "hunter2")
    monkeypatch.setenv("BACKUP_TOKEN", "theirs")
    run_shell_command(
        "database.restore_command",
        f"env > {tmp_path}/seen",
        {"SQLCMDUSER": "bench"},
        "SQLCMDPASSWORD",
        "volume A",
    )
    seen = (tmp_path / "seen").read_text().splitlines()
    given = {"SQLCMDUSER=bench", "KNEEBENCH_STORAGE=volume A", "BACKUP_TOKEN=theirs"}
    assert given <= set(seen)
    assert not any("hunter2" in line for line in seen)


@pytest.mark.parametrize(
    "line",
    [
        'restore_command = "restore.sh --password hunter2"',
        'restore = "command"\nrestore_command = ["restore.sh", "--password", "hunter2"]',
        'restore_command = "echo hunter2',
        "restore_command = { echo = 'hunter2' ]",
    ],
)
def test_a_fault_in_a_plan_does_not_repeat_its_command(line: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan(f'[database]\nurl = "postgresql:///x"\n{line}\n', "plan.toml")
    assert "restore_command" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_kept_command_is_no_command_that_a_shell_runs() -> None:
    kept = kept_command("true hunter2")
    assert kept.startswith("true [not kept, hash ")
    assert subprocess.run(["test", kept], check=False).returncode == 0
    assert kept_command(kept) == kept
    assert kept_command("true hunter3") != kept
