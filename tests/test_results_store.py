"""What is put comes back; a killed campaign goes on; two writers are kept apart."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kneebench.errors import KneebenchError, Refused
from kneebench.lab.host import host
from kneebench.plan.configurations import configurations
from kneebench.plan.study import Study
from kneebench.records import Configuration, Order, Second, Setting
from kneebench.results import Store, campaigns, load
from kneebench.results.campaign_folders import find_unfinished
from kneebench.results.campaign_reader import series
from kneebench.results.lock import held
from kneebench.results.tables import read_seconds
from tests.recorded.record import RECORDINGS, unpack
from tests.recordings import (
    PLATEAU,
    recorded,
    recorded_host,
    recorded_plan,
    recorded_rung,
)

PLAN = recorded_plan(question="What would faster storage buy this database?")
HOST = recorded_host().model_copy(update={"places": {}})
SECONDS = tuple(
    Second(
        at_s=at,
        transaction="payment",
        committed=9 - at,
        rolled_back=0,
        failed=0,
        unknown=0,
        mean_s=0.002,
        p50_s=0.001,
        p99_s=0.004,
        p999_s=0.005,
        max_s=0.006,
    )
    for at in range(3)
)
"""Recordings have none."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path, Study(PLAN), HOST)


def test_a_rung_comes_back_with_its_series_and_seconds(store: Store) -> None:
    measured = recorded_rung("final_run")._replace(seconds=SECONDS)
    store.put(measured)
    assert store.rung(measured.rung.order) == measured.rung
    kept = series(load(store.folder), measured.rung, "cores.busy", "device.write_bytes")
    assert {one.quantity for one in kept} == {"cores.busy", "device.write_bytes"}
    assert kept == tuple(
        s
        for s in sorted(measured.series, key=lambda s: (s.quantity, s.source))
        if s.quantity in ("cores.busy", "device.write_bytes")
    )
    file = f"{measured.rung.order.key}.parquet"
    assert read_seconds(store.folder / "seconds" / file) == SECONDS


def test_a_rung_without_series_or_seconds_is_kept_too(store: Store) -> None:
    measured = recorded_rung("final_run")._replace(series=(), seconds=())
    store.put(measured)
    assert series(load(store.folder), measured.rung) == ()


def test_a_rung_that_was_not_measured_is_not_there(store: Store) -> None:
    assert store.rung(Order(configuration="disk", phase="search", users=4)) is None
    assert store.climb(Configuration(id="disk", storage="disk")) is None


def test_rungs_load_in_the_order_measured(store: Store) -> None:
    order = [2, 0, 1]
    measured = [recorded_rung("search", number=number) for number in order]
    for one in measured:
        store.put(one)
    assert load(store.folder).climbs[0].rungs == tuple(one.rung for one in measured)


def test_a_kept_climb_has_its_own_rungs_and_not_those_of_the_report(tmp_path: Path) -> None:
    store = Store(unpack(PLATEAU, tmp_path))
    climb = store.climb(Configuration(id="disk", storage="disk"))
    assert climb is not None
    phases = {rung.order.phase for rung in climb.rungs}
    assert {"warm_up", "search", "drift_check"} <= phases
    assert not {"final_run", "fixed_rate"} & phases
    assert climb.stopped_by == "plateau"


def test_configurations_of_the_plan_without_rungs_are_there_empty(store: Store) -> None:
    assert [(climb.configuration.storage, climb.rungs) for climb in load(store.folder).climbs] == [
        ("disk", ()),
        ("memory", ()),
    ]


def test_a_campaign_is_named_by_its_day_and_question_and_a_second_one_is_numbered(
    store: Store, tmp_path: Path
) -> None:
    assert store.folder.name.endswith("-what-would-faster-storage")
    assert Store.create(tmp_path, Study(PLAN), HOST).folder.name == f"{store.folder.name}-2"


def test_a_named_folder_that_exists_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(Refused, match="mine"):
        Store.create(tmp_path, Study(PLAN), HOST, name="mine")


def test_an_unfinished_campaign_of_the_same_plan_is_gone_on_with(
    store: Store, tmp_path: Path
) -> None:
    store.close()
    asked = PLAN.model_copy(
        update={
            "question": "Again?",
            "erase": ("a drive that a killed run left",),
            "ladder": PLAN.ladder.model_copy(update={"budget": 60.0}),
        }
    )
    assert find_unfinished(tmp_path, Study(asked), HOST) == store.folder
    assert Store.for_study(tmp_path, Study(asked), HOST).folder == store.folder
    assert Store.for_study(tmp_path, Study(asked), HOST, fresh=True).folder != store.folder


def test_another_directory_or_drive_under_the_same_name_is_not_gone_on_with(tmp_path: Path) -> None:
    there = HOST.model_copy(update={"places": {".": "/mnt/a on /dev/sda1 at /mnt/a (ext4)"}})
    store = Store.create(tmp_path, Study(PLAN), there)
    store.close()
    other = there.model_copy(update={"places": {".": "/mnt/a on /dev/sdb1 at /mnt/a (ext4)"}})
    assert find_unfinished(tmp_path, Study(PLAN), there) == store.folder
    assert find_unfinished(tmp_path, Study(PLAN), HOST) == store.folder, (
        "a campaign that does not tell its places"
    )
    assert find_unfinished(tmp_path, Study(PLAN), other) is None


def test_a_place_is_told_with_its_directory_and_what_is_mounted_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()
    here = host([Path()]).places["."]
    assert here.startswith(f"{tmp_path.resolve()} on ")
    monkeypatch.chdir(tmp_path / "below")
    assert host([Path()]).places["."] == here.replace(
        str(tmp_path.resolve()), str((tmp_path / "below").resolve()), 1
    )


def test_another_plan_another_machine_and_a_finished_campaign_are_not_gone_on_with(
    store: Store, tmp_path: Path
) -> None:
    store.close()
    other = PLAN.model_copy(
        update={"workload": PLAN.workload.model_copy(update={"warehouses": 61})}
    )
    assert find_unfinished(tmp_path, Study(other)) is None
    assert find_unfinished(tmp_path, Study(PLAN), HOST.model_copy(update={"cores": 8})) is None
    Store(store.folder).finish()
    assert find_unfinished(tmp_path, Study(PLAN)) is None


def test_another_process_is_kept_out_and_told_why(store: Store, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from kneebench.results import Store;"
        " Store(Path(sys.argv[1]))"
    )
    tried = subprocess.run(
        [sys.executable, "-c", code, str(store.folder)], capture_output=True, text=True, check=False
    )
    assert "Refused" in tried.stderr
    assert "another kneebench run writes to it" in tried.stderr
    store.close()
    assert (
        subprocess.run([sys.executable, "-c", code, str(store.folder)], check=False).returncode == 0
    )


def test_looking_for_unfinished_campaigns_does_not_let_another_process_into_our_own(
    store: Store, tmp_path: Path
) -> None:
    found = find_unfinished(tmp_path, Study(PLAN))
    code = (
        "import sys; from pathlib import Path; from kneebench.results import Store;"
        " Store(Path(sys.argv[1]))"
    )
    tried = subprocess.run(
        [sys.executable, "-c", code, str(store.folder)], capture_output=True, text=True, check=False
    )
    assert "another kneebench run writes to it" in tried.stderr
    assert found is None, "it is being written"


def test_looking_whether_a_folder_is_being_written_writes_nothing(tmp_path: Path) -> None:
    assert not held(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_settings_image_and_notes_are_in_the_head_and_finish_says_the_exit_state(
    store: Store, tmp_path: Path
) -> None:
    store.put_settings(
        Configuration(id="disk", storage="disk"),
        [Setting(name="io_method", value="worker", matters=True)],
    )
    store.put_base_image({"bytes": "7"})
    store.put_note("as it was")
    results = store.finish(lambda whole: 4)
    assert results.finished
    assert results.campaign.settings["disk"][0].value == "worker"
    assert (results.campaign.base_image, results.campaign.notes) == ({"bytes": "7"}, ("as it was",))
    assert [(one.exit_code, one.finished, one.damaged) for one in campaigns(tmp_path)] == [
        (4, True, "")
    ]


def test_no_password_gets_into_a_campaign(tmp_path: Path) -> None:
    plan = PLAN.model_copy(
        update={
            "database": PLAN.database.model_copy(
                update={"restore_command": "PGPASSWORD=hunter2 ./restore.sh"}
            )
        }
    )
    store = Store.create(
        tmp_path,
        Study(plan),
        HOST,
        command="kneebench run --url postgresql://bench:hunter2@db.example/kneebench",
    )
    store.put_settings(
        Configuration(id="disk", storage="disk"),
        [Setting(name="primary_conninfo", value="host=a password=hunter2 user=b")],
    )
    store.put_note("could not connect to postgresql://bench:hunter2@db.example")
    text = (store.folder / "campaign.json").read_text()
    assert "hunter2" not in text
    assert "postgresql://bench@db.example" in text
    store.close()
    assert Store.for_study(tmp_path, Study(plan), HOST).folder == store.folder


def test_no_password_of_an_error_gets_into_a_rung(store: Store) -> None:
    measured = recorded_rung("search")
    store.put(
        measured._replace(
            rung=measured.rung.model_copy(update={"notes": ("lost postgresql://bench:hunter2@db",)})
        )
    )
    assert "hunter2" not in (store.folder / "rungs" / f"{measured.rung.order.key}.json").read_text()


def test_a_damaged_file_gives_an_error_that_names_it(tmp_path: Path) -> None:
    folder = unpack(PLATEAU, tmp_path)
    rung = folder / "rungs" / "disk.search-4.json"
    rung.write_text(rung.read_text()[:200])
    with pytest.raises(KneebenchError, match=r"disk\.search-4\.json.*damaged"):
        load(folder)


@pytest.mark.parametrize(
    "histogram",
    ["AAAA", "no base64 at all", "HISTFAAAAAB42pNpmSzMwMBgyQABTBDKT4GBgdnNYMcCBvsPEBlGBgAwSgKC"],
)
def test_a_damaged_histogram_gives_an_error_that_names_its_file(
    tmp_path: Path, histogram: str
) -> None:
    folder = unpack(PLATEAU, tmp_path)
    file = next((folder / "rungs").glob("disk.final_run-*-1.json"))
    document = json.loads(file.read_text())
    document["rung"]["tally"]["latency"]["histogram"] = histogram
    file.write_text(json.dumps(document))
    with pytest.raises(KneebenchError, match=rf"{re.escape(file.name)}: the file is damaged"):
        load(folder)


def test_a_file_that_is_too_deep_to_be_read_is_damaged(tmp_path: Path) -> None:
    folder = unpack(PLATEAU, tmp_path)
    (folder / "campaign.json").write_text(100_000 * "[")
    with pytest.raises(KneebenchError, match=r"campaign\.json: the file is damaged"):
        load(folder)


def test_a_damaged_table_gives_an_error_that_names_it(tmp_path: Path) -> None:
    folder = unpack(PLATEAU, tmp_path)
    results = load(folder)
    (rung, *_) = results.climbs[0].of("final_run")
    file = folder / "series" / f"{rung.order.key}.parquet"
    assert series(results, rung)
    file.write_bytes(b"PAR1 but not really")
    with pytest.raises(KneebenchError, match=rf"{re.escape(file.name)}.*damaged"):
        series(results, rung)


def test_a_damaged_campaign_is_listed_with_what_is_wrong(tmp_path: Path) -> None:
    folder = unpack(PLATEAU, tmp_path)
    head = json.loads((folder / "campaign.json").read_text())
    (folder / "campaign.json").write_text(json.dumps({**head, "host": "lost"}))
    (listed,) = campaigns(tmp_path)
    assert "campaign.json" in listed.damaged
    assert "host" in listed.damaged


def test_a_damaged_campaign_does_not_keep_another_from_starting(
    store: Store, tmp_path: Path
) -> None:
    (store.folder / "campaign.json").write_text("{")
    store.close()
    assert find_unfinished(tmp_path, Study(PLAN)) is None
    assert Store.for_study(tmp_path, Study(PLAN), HOST).folder != store.folder


def test_a_folder_without_a_campaign_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(KneebenchError, match=r"campaign\.json"):
        load(tmp_path)


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_loads_with_its_configurations_and_each_rung_that_has_a_file(name: str) -> None:
    results = recorded(name)
    assert results.folder
    assert not results.campaign.simulated
    assert [climb.configuration for climb in results.climbs] == [
        *configurations(RECORDINGS[name].plan)
    ]
    rungs = [rung for one in results.climbs for rung in (*one.rungs, *one.superseded)]
    assert {rung.order.key for rung in rungs} == {
        file.stem for file in (results.folder / "rungs").iterdir()
    }


def test_another_image_or_another_kneebench_is_told_and_a_campaign_without_an_image_yet_takes_any(
    store: Store,
) -> None:
    assert store.differing({"key": "postgres-18.1-7w"}) == ""
    store.put_base_image({"key": "postgres-18.1-7w", "reused": "no"})
    assert store.differing({"key": "postgres-18.1-7w", "reused": "yes"}) == ""
    assert (
        store.differing({"key": "postgres-18.2-7w"})
        == "base image changed: postgres-18.1-7w, now postgres-18.2-7w"
    )
    head = json.loads((store.folder / "campaign.json").read_text())
    (store.folder / "campaign.json").write_text(json.dumps({**head, "kneebench": "0.0.1"}))
    store.close()
    assert (
        Store(store.folder)
        .differing({"key": "postgres-18.1-7w"})
        .startswith("kneebench changed: 0.0.1, now ")
    )


def test_a_setting_that_changed_before_a_campaign_was_gone_on_with_is_noted(store: Store) -> None:
    configuration = Configuration(id="disk", storage="disk")
    store.put_settings(
        configuration, [Setting(name="jit", value="off"), Setting(name="max_wal_size", value="1GB")]
    )
    assert load(store.folder).campaign.notes == ()
    store.put_settings(
        configuration, [Setting(name="jit", value="off"), Setting(name="max_wal_size", value="2GB")]
    )
    assert load(store.folder).campaign.notes == (
        "max_wal_size changed on disk during the campaign: 1GB, then 2GB",
    )


def test_a_campaign_has_the_schema_of_its_own_documents(store: Store) -> None:
    assert {file.stem for file in (store.folder / "schema").glob("*.json")} == {
        "campaign",
        "rung",
        "climb",
        "conditions",
        "finished",
    }
    assert "rung" in json.loads((store.folder / "schema" / "rung.json").read_text())["required"]


def test_a_finished_campaign_that_lost_a_rung_or_has_one_twice_is_damaged(
    store: Store, tmp_path: Path
) -> None:
    for number in (0, 1):
        store.put(recorded_rung("search", number=number))
    store.finish()
    rungs = store.folder / "rungs"
    assert load(store.folder).finished
    twice = rungs / "again.json"
    twice.write_bytes((rungs / "disk.search-2.json").read_bytes())
    for lost in (None, "disk.search-4.json"):
        if lost:
            (rungs / lost).unlink()
        with pytest.raises(KneebenchError, match=r"again\.json.*contains the rung disk\.search-2"):
            load(store.folder)
    twice.unlink()
    with pytest.raises(KneebenchError, match="1 files in rungs/, but 2 were measured"):
        load(store.folder)
    (listed,) = campaigns(tmp_path)
    assert "1 files in rungs/" in listed.damaged
