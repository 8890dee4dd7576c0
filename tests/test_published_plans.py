"""The plans after published documents: what the documents say, and what stands in for their drives.

The figures below were copied from the documents once, apart from the plans.
"""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.brief.profile import ProfilePage
from kneebench.campaign.preflight import preflight_checks, preset, published_findings
from kneebench.cli import app
from kneebench.databases.engines.sqlserver import engine as sqlserver
from kneebench.databases.several import engine_of
from kneebench.lab.journal import Journal
from kneebench.measurement.profile import JOBS, Profile, profile
from kneebench.plan import Plan
from kneebench.plan.overrides import Override, override
from kneebench.plan.preset import preset_text, published_presets
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from tests.documented_server import one_server

RELATIVE = {
    ("micron-9300-scaling", "NOPM", "4 drives"): +35,
    ("micron-9300-scaling", "power per NOPM", "4 drives"): -18,
    ("micron-9300-sata", "NOPM", "2 NVMe"): +150,
    ("micron-9300-sata", "NOPM", "4 NVMe"): +170,
    ("micron-9300-sata", "mean latency", "2 NVMe"): -23,
    ("micron-9300-sata", "mean latency", "4 NVMe"): -32,
    ("micron-9300-sata", "P99.9 latency", "2 NVMe"): -88,
    ("micron-9300-sata", "P99.9 latency", "4 NVMe"): -89,
}
"""Increases and decreases in percent."""
ABSOLUTE = {
    ("micron-9300-scaling", "users", "2 drives", "users"): 192,
    ("micron-9300-scaling", "users", "4 drives", "users"): 408,
    ("micron-9300-sata", "log write", "8 SATA", "ms"): 5,
    ("sandisk-sn861", "TPM", "SN861", "TPM"): 5_190_000,
    ("sandisk-sn861", "device writes", "SN861", "MB/s"): 3700,
    ("sandisk-sn861", "device reads", "SN861", "MB/s"): 251,
    ("sandisk-sn861", "CPU busy", "SN861", "%"): 48,
    ("register-9100", "64 KiB sequential read, depth 256, 4 workers", "1 drive", "GB/s"): 2.3,
    ("register-9100", "64 KiB sequential write, depth 256, 4 workers", "1 drive", "MB/s"): 700,
}
IOMETER = {
    "4 KiB random, 50% read, depth 256, 4 workers": (365_000, 1500),
    "4 KiB random, 70% read, depth 256, 4 workers": (385_000, 1575),
    "4 KiB random read, depth 256, 4 workers": (385_000, 1580),
    "4 KiB random read, depth 256": (175_000, 715),
    "4 KiB sequential read, depth 256": (175_000, 4575),
}
"""IOPS and MB/s of two drives in RAID 0, by the row of a profile that is like Iometer's."""


def told_in_comments(name: str) -> list[Override]:
    """The keys that a plan's own comments set to try it on emulated drives."""
    comments = re.findall(r"^# ?(.*)$", preset_text(name), re.MULTILINE)
    words = shlex.split(" ".join(line.rstrip("\\") for line in comments if "--set" in line))
    return [override(words[n + 1]) for n, word in enumerate(words) if word == "--set"]


def test_the_figures_of_the_plans_are_those_of_the_documents_and_name_them() -> None:
    found: dict[tuple[str, ...], float] = {}
    for name in published_presets():
        for one in preset(name).brief.published:
            key = (name, one.name, one.storage, one.unit)
            assert key not in found
            found[key] = one.value
            assert one.source.startswith(("Micron 9300", "SanDisk SN861", "The Register, Micron"))
    wanted: dict[tuple[str, ...], float] = {
        (*key, "x"): 1 + percent / 100 for key, percent in RELATIVE.items()
    }
    for row, (iops, mb_per_s) in IOMETER.items():
        wanted["register-9100", row, "2 drives", "IOPS"] = iops
        wanted["register-9100", row, "2 drives", "MB/s"] = mb_per_s
    assert found == pytest.approx({**wanted, **ABSOLUTE})


def test_the_set_ups_of_the_plans_are_those_of_the_documents() -> None:
    scaling, sata = preset("micron-9300-scaling"), preset("micron-9300-sata")
    table = scaling.database.model_dump()
    assert (table["data_files"], table["tempdb_files"]) == (48, 8)
    assert table["settings"] == {"maxdop": 1, "target_recovery_time": 60}
    drives = {name: (one.layout, len(one.drives)) for name, one in sata.storages.items()}
    assert drives == {"8 SATA": ("raid10", 8), "2 NVMe": ("mirror", 2), "4 NVMe": ("mirror", 4)}
    assert sata.base == "8 SATA"
    assert sata.ladder.stops.log_latency.limit == 0.005
    assert not any(one.log_apart for one in sata.storages.values())
    sweep = preset("sandisk-sn861")
    [drive] = sweep.storages.values()
    assert (sweep.workload.warehouses, sweep.ladder.users) == (2500, 601)
    assert (sweep.ladder.warm_up, sweep.ladder.final_window) == (120, 600)
    assert [one >> 30 for one in sweep.constraints.memory] == [*range(32, 257, 32)]
    assert (sweep.constraints.cores, sweep.ladder.stops.saturation.busy) == ("saturating", 0.97)
    assert (drive.precondition, sweep.constraints.siblings) == ("sequential 1, random 2", False)
    review = preset("register-9100").storages["2 drives"]
    assert (review.layout, len(review.drives)) == ("stripe", 2)


def test_every_plan_says_what_the_document_says_and_what_was_assumed() -> None:
    for name in published_presets():
        text = preset_text(name)
        assert all(f"# {words}" in text for words in ("The document says:", "Assumed here:"))
        assert "BIOS profile" in preset(name).brief.machine


@pytest.mark.root
@pytest.mark.parametrize("name", ["micron-9300-sata", "sandisk-sn861", "register-9100"])
def test_a_plan_is_ready_once_its_own_comments_put_emulated_drives_in_place(
    name: str, own_place: Path
) -> None:
    def errors(plan: Plan) -> list[str]:
        engine = engine_of(Study(plan).databases, Journal())
        found = [
            one for one in preflight_checks(Study(plan), engine, Journal()) if one.level == "error"
        ]
        engine.close()
        return [f"{one.subject}: {one.seen}" for one in found]

    there = parse_plan(preset_text(name), name, overrides=told_in_comments(name))
    assert there.has_emulated_drives and not there.drives
    assert errors(there) == []


def test_the_plan_for_sql_server_is_ready_for_a_server_with_8_tempdb_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SQLCMDPASSWORD", "never shown")
    plan, session = preset("micron-9300-scaling"), one_server(monkeypatch)
    files = [(f"temp{n}", f"/tempdb/temp{n}.ndf", "ROWS") for n in range(1, 9)]

    def levels() -> dict[str, str]:
        engine = engine_of(Study(plan).databases, Journal())
        assert isinstance(engine, sqlserver.RemoteSqlServer)
        return {one.seen: one.level for one in engine.findings() if one.level == "error"}

    session.answer(r"FROM \[tempdb\]\.sys\.database_files", files[:1])
    assert levels() == {"tempdb: it has 1 data file, not 8": "error"}
    session.answer(r"FROM \[tempdb\]\.sys\.database_files", files)
    assert levels() == {}


def test_a_published_figure_of_a_row_that_no_profile_has_is_an_error_of_check() -> None:
    assert [*published_findings(Study(preset("register-9100")))] == []
    figure = 'name="4 KiB reads", kind="profile", value=1, unit="IOPS"'
    keys = [override(f'brief.published=[{{{figure}, storage="fast drive", source="x"}}]')]
    study, journal = Study(parse_plan(preset_text("simulated"), overrides=keys)), Journal()
    checked = preflight_checks(study, engine_of(study.databases, journal), journal)
    [found] = [one for one in checked if one.subject.startswith("brief.published")]
    assert (found.level, found.seen) == ("error", "no row of a profile is called '4 KiB reads'")
    assert "4 KiB random read, depth 256, 4 workers" in found.do


@pytest.mark.root
def test_a_profile_of_a_plan_has_the_published_figures_of_each_storage_marked(
    own_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mix = next(job for job in JOBS if job.read_percent == 50)
    monkeypatch.setattr("kneebench.measurement.profile.profile", partial(profile, jobs=[mix]))
    (own_place / "plan.toml").write_text(preset_text("register-9100"))
    fast = '[{emulated = "memory", size = "512MiB", count = %d}]'
    keys = ["--set", f'storages."1 drive".drives={fast % 1}']
    keys += ["--set", f'storages."2 drives".drives={fast % 2}']
    words = ["profile", "plan.toml", "--size", "64MiB", "--seconds", "1", "--out", "out", *keys]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0, answer.output
    assert sorted(one.name for one in (own_place / "out").iterdir()) == [
        *("profile-1-drive.html", "profile-1-drive.json"),
        *("profile-2-drives.html", "profile-2-drives.json"),
    ]
    found = Profile.model_validate_json((own_place / "out/profile-2-drives.json").read_text())
    assert (found.storage, found.emulated, found.file_system) == ("2 drives", True, "xfs")
    [table] = next(one for one in ProfilePage(found).sections if one.name == "published").tables
    assert len(table.rows) == 10
    cells = [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in table.rows[0].cells]
    assert cells[0] == mix.name
    assert cells[1].endswith(" IOPS")
    assert cells[2:] == ["365,000 IOPS", "The Register, Micron 9100: Iometer"]
    assert table.columns[2].title == "Published, not measured here"
    assert table.rows[2].cells[1] == "no valid row"
    assert "Published, not measured here" in " ".join(answer.stdout.split())
    assert ProfilePage(found).title.startswith("Emulated drives. 2 drives: ")
    assert "Emulated drives: no figure" in answer.stdout
    assert not [*(own_place / ".kneebench/drives").glob("*")]


def test_a_profile_of_a_plan_says_what_it_cannot_measure(own_place: Path) -> None:
    (own_place / "plan.toml").write_text(preset_text("micron-9300-scaling"))
    for words, seen in (
        (["plan.toml"], "its drives are not drives of this machine"),
        (["plan.toml", "--storage", "tape"], "no such storage in the plan"),
        ([".", "--storage", "tape"], "no plan"),
    ):
        refused = CliRunner().invoke(app, ["profile", *words])
        assert refused.exit_code == 2 and seen in refused.output


def test_the_command_lists_the_plans_and_prints_each() -> None:
    listed = CliRunner().invoke(app, ["plan", "preset", "--published"]).stdout
    assert [line.split()[0] for line in listed.splitlines()] == published_presets()
    for name in published_presets():
        for words in ([name], [name, "--published"]):
            printed = CliRunner().invoke(app, ["plan", "preset", *words])
            assert printed.stdout == preset_text(name)
    refused = CliRunner().invoke(app, ["plan", "preset"])
    assert refused.exit_code == 2
    assert "--published lists more" in refused.output
