"""pack --redact: no private name is left in any document or table, what was equal stays equal, and
the archive is read and compared as before.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import kneebench
from kneebench.cli import app
from kneebench.errors import KneebenchError
from kneebench.results.acceptance import accept
from kneebench.results.campaign_folders import LONGEST_FOLDER, slug
from kneebench.results.campaign_reader import series
from kneebench.results.private_names import Name, by_form, by_key
from kneebench.results.redaction import Redaction, Replacement, pack, redacted, redaction_of
from tests.packed import PATH, PRIVATE, SERIAL, SHORT, changed, texts, with_private_names
from tests.packed import campaign_of_few_rungs as campaign_in


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_private_names(campaign_in(tmp_path_factory.mktemp("redaction")))


@pytest.fixture(scope="module")
def packed(folder: Path) -> tuple[Path, tuple[Replacement, ...]]:
    file = folder.parent / "redacted.kneebench"
    return pack(kneebench.load(folder), file, redact=True)


def test_no_private_name_is_left_in_any_byte(
    folder: Path, packed: tuple[Path, tuple[Replacement, ...]]
) -> None:
    plain = folder.parent / "plain.kneebench"
    pack(kneebench.load(folder), plain)
    assert [one for one in PRIVATE if one not in texts(plain)] == []
    assert [one for one in PRIVATE if one in texts(packed[0])] == []
    results = kneebench.load(packed[0])
    sources = {
        one.source
        for climb in results.climbs
        for rung in climb.rungs
        for one in series(results, rung)
    }
    (sentence,) = (one for one in sources if " put " in one)
    assert [one for one in PRIVATE if one in sentence] == []


def test_what_was_equal_has_one_stand_in_and_what_was_within_stays_within(
    packed: tuple[Path, tuple[Replacement, ...]],
) -> None:
    head = kneebench.load(packed[0]).campaign
    (drive,), (place, disk) = head.drives_before, head.host.places
    path = str(head.plan["storages"]["fast drive"]["path"])
    assert head.plan["erase"] == [drive.wwid] == ["wwid1"]
    assert place == path
    assert path.startswith("/mnt/p")
    assert f"{path}/" in head.notes[0]
    assert disk.startswith("p")
    assert drive.by_id[0].startswith("/dev/disk/by-id/p")
    assert drive.path == "/dev/nvme0n1"
    load_host = head.plan["hosts"]["load"][0]
    assert head.link
    assert list(head.link.measured) == [load_host["name"]]
    assert load_host["ssh"].startswith("user")
    assert head.plan["power"]["meters"][0]["command"][1:] == ["***", "***"]


def test_each_replacement_is_listed_and_a_label_that_is_a_usual_word_stays_one_elsewhere(
    packed: tuple[Path, tuple[Replacement, ...]],
) -> None:
    found = {(one.kind, one.name) for one in packed[1]}
    assert {("serial", SERIAL), ("host", SHORT), ("path", "acme-nvme"), ("id", "data")} <= found
    head = kneebench.load(packed[0]).campaign
    assert head.drives_before[0].signatures
    assert head.drives_before[0].signatures[0].label.startswith("id")
    assert "raw_profile" in head.plan


def test_stand_ins_are_numbered_without_gaps_in_the_order_of_the_alphabet(
    packed: tuple[Path, tuple[Replacement, ...]],
) -> None:
    numbers: dict[str, list[int]] = {}
    for one in packed[1]:
        numbers.setdefault(one.kind, []).append(int(re.sub(r"\D", "", one.stand_in)))
    assert all(found == [*range(1, len(found) + 1)] for found in numbers.values()), numbers


def test_a_thread_on_a_core_is_no_user_on_a_host() -> None:
    sources = ["rustc@0", "terminals-0@1", "chromium@12", "bob@db1"]
    redaction = Redaction([one.name for text in sources for one in by_form(text)])
    assert [*map(redaction.text, sources)] == [*sources[:3], "user1@host1"]


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("no route to 2001:db8::1: down", "no route to host1: down"),
        ("2001:db8:0:0:0:0:0:1:5432 is busy.", "host1:5432 is busy."),
        ("from ::ffff:10.1.2.3 and 10.1.2.3.", "from host2 and host1."),
        ("bob@fe80::1%eth0 in [2001:db8::]:80", "user1@host2%eth0 in [host1]:80"),
        ("at 12:30:59 of a::Type", None),
        ("by 00:1B:44:11:3a:b7 or 00-1b-44-11-3a-b8.", "by mac2 or mac1."),
        ("enx001b44113ab7 and 001b.4411.3ab7", "enxmac2 and mac1"),
        ("00:1b:44:11:3a:b7 is 001B44113AB7, not 001b44113ab8", "mac1 is mac1, not 001b44113ab8"),
    ],
)
def test_ip_addresses_are_found_beside_colons_and_within_one_another(
    text: str, redacted: str | None
) -> None:
    redaction = Redaction([one.name for one in by_form(text)])
    assert redaction.text(text) == (redacted or text)


def test_a_name_is_found_in_capitals_too_but_not_a_path() -> None:
    names = Name("host", "db.example"), Name("user", "alice"), Name("path", "/srv/secret")
    redaction = Redaction([*names, Name("user", "DATABASE")])
    text = "Alice on DB.Example, ALICES, /srv/secret, Secret \u017fecret of DATABASE, a database"
    redacted = "user2 on host2, ALICES, /srv/p1, Secret \u017fecret of user1, a database"
    assert redaction.text(text) == redacted


def test_the_address_of_a_load_host_is_replaced_whole() -> None:
    plan = {"load": [{"ssh": "bob@2001:db8::1"}]}
    assert [*by_key(plan)] == [Name("host", "2001:db8::1")]


def test_a_redacted_campaign_has_the_figures_of_its_original(
    folder: Path, packed: tuple[Path, tuple[Replacement, ...]]
) -> None:
    found = accept(baseline=kneebench.load(folder), campaign=kneebench.load(packed[0]))
    assert found.itself
    assert [one.baseline for one in found.figures] == [one.campaign for one in found.figures]


def test_the_same_campaign_is_redacted_to_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.kneebench", "b.kneebench")]
    for file in files:
        pack(kneebench.load(folder), file, redact=True)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_the_command_prints_what_was_replaced(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.kneebench"
    words = ["pack", str(folder), "--redact", "--out", str(file)]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0, answer.output
    assert f"serial  {SERIAL}" in answer.stdout
    file.unlink()
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert {"kind": "serial", "name": SERIAL, "stand_in": "serial1"} in found["replaced"]


@pytest.fixture(scope="module")
def documents(folder: Path) -> dict[str, Any]:
    """One document of each kind."""
    kinds = ("campaign.json", "climbs/*", "rungs/*final_run*", "conditions/*", "finished.json")
    files = [next(iter(sorted(folder.glob(kind)))) for kind in kinds]
    return {str(file.relative_to(folder)): json.loads(file.read_text()) for file in files}


def _words(least: int = 4) -> st.SearchStrategy[str]:
    return st.from_regex(rf"[a-z]{{{least},8}}[0-9]{{2}}", fullmatch=True)


HEX = "0123456789abcdef"
HOSTS = st.tuples(_words(), _words()).map(lambda parts: f"{parts[0]}.{parts[1]}.example")
FORMS: dict[str, st.SearchStrategy[str]] = {
    "host": HOSTS,
    "IPv4": st.ip_addresses(v=4, network="10.0.0.0/8").map(str),
    "IPv6": st.ip_addresses(v=6, network="2001:db8::/32").map(str),
    "MAC": st.text(HEX, min_size=12, max_size=12).map(
        lambda text: ":".join(re.findall("..", text)),
    ),
    "serial": st.from_regex(r"[A-Z]{2}[0-9A-Z]{6,12}", fullmatch=True),
    "WWID": st.text(HEX, min_size=16, max_size=16).map("eui.{}".format),
    "mail": st.tuples(_words(), HOSTS).map("@".join),
    "path": st.tuples(_words(), _words()).map(lambda parts: f"/srv/{parts[0]}/{parts[1]}"),
    "user": _words(),
}
"""What a private name looks like, of each kind."""


def _with(document: Any, name: str) -> Any:
    """A document with a name behind each of its texts."""
    if isinstance(document, dict):
        kept = document.keys() - {"command", "tally"}
        return {key: _with(document[key], name) for key in sorted(kept)}
    if isinstance(document, list):
        return [_with(one, name) for one in document]
    return f"{document}, {name}" if isinstance(document, str) else document


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=3, deadline=None, derandomize=True, phases=[Phase.generate])
@given(data=st.data())
def test_a_private_name_of_each_form_is_in_no_text_of_an_archive(
    documents: dict[str, Any], form: str, data: st.DataObject
) -> None:
    name = data.draw(FORMS[form])
    made = {entry: _with(document, name) for entry, document in documents.items()}
    head, climb = made["campaign.json"], made[next(one for one in made if "climbs" in one)]
    head["id"] = f"2026-11-28-is-{slug(name)}"[:40]
    climb["climb"]["configuration"]["id"] = f"a-{slug(name)}"[:12]
    if form == "serial":
        head["drives_before"][0]["serial"] = name
    if form in ("host", "user"):
        user, host = ("me", name) if form == "host" else (name, "db")
        head["plan"]["hosts"]["load"][0]["ssh"] = f"{user}@{host}"
    found = [(entry, json.dumps(one).encode()) for entry, one in made.items()]
    redaction = redaction_of(Path("nowhere"), found)
    texts = "".join(text.decode() for _, text in redacted(Path("nowhere"), found, redaction))
    sensitive = {name, slug(name), *([] if form == "WWID" else re.findall(r"[a-z]{4,}\d\d", name))}
    assert [one for one in sensitive if one in texts + redaction.text(f"drive {name}")] == []
    assert len(redaction.text(head["id"])) <= LONGEST_FOLDER


def test_a_redacted_campaign_is_named_by_what_is_left_of_its_question(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(head: dict[str, Any]) -> None:
        head["id"] = "2026-11-28-db-host-10-9-8"
        head["plan"]["question"] = "DB host 10.9.8.7?"

    changed(Path(shutil.copytree(folder, tmp_path / "copy")) / "campaign.json", write)
    monkeypatch.chdir(tmp_path)
    words = ["pack", "copy", "--redact", "--json"]
    found = json.loads(CliRunner().invoke(app, words).stdout)
    assert re.fullmatch(r"2026-11-28-db-host-host\d\.kneebench", found["archive"])
    assert f"{kneebench.load(found['archive']).campaign.id}.kneebench" == found["archive"]


def test_a_redaction_that_would_damage_the_campaign_leaves_no_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kneebench.results.redaction.words_of_format", frozenset)
    results = kneebench.load(folder)
    named = [Name("host", "final_run")]
    monkeypatch.setattr("kneebench.results.redaction.names_of_this_machine", lambda: named)
    with pytest.raises(KneebenchError, match="with stand-ins it could not be read"):
        pack(results, tmp_path / "x.kneebench", redact=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["<ann@acme.example>", "(ann@acme.example)"])
def test_an_author_is_replaced_by_name_and_by_address_alone(
    address: str, folder: Path, tmp_path: Path
) -> None:
    def write(head: dict[str, Any]) -> None:
        head["plan"]["brief"]["authors"] = [f"Ann Example {address}"]
        head["notes"] = ["By Ann Example, that is ann@acme.example, at 10.9.8.7. Thanks"]

    changed(Path(shutil.copytree(folder, tmp_path / "copy")) / "campaign.json", write)
    pack(kneebench.load(tmp_path / "copy"), tmp_path / "x.kneebench", redact=True)
    [note] = kneebench.load(tmp_path / "x.kneebench").campaign.notes
    assert not [one for one in ("Ann", "ann", "acme", "10.9.8.7") if one in note], note


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{PATH}/a at 884/s", "/mnt/p1/p2/a at 884/s"),
        ("user db7 of db7.acme.example", "user host1 of host1"),
        ("db77 is not db7, nor is mydb7", "db77 is not host1, nor is mydb7"),
    ],
)
def test_only_whole_names_are_replaced(text: str, left: str) -> None:
    names = [Name("path", PATH), Name("host", "db7")]
    assert Redaction(names).text(text.replace("db7.acme.example", "db7")) == left


@pytest.mark.parametrize(
    ("name", "as_in_ids", "stand_in"),
    [
        (Name("host", "10.9.8.7"), "10-9-8-7", "host1"),
        (Name("host", "db7.acme.example"), "db7-acme-example", "host3"),
        (Name("user", "Ann_Example"), "ann-example", "user1"),
        (Name("author", "Ann Example"), "ann-example", "author1"),
        (Name("MAC", "00:1B:44:11:3A:B7"), "00-1b-44-11-3a-b7", "mac1"),
        (Name("path", "/srv/fast disk"), "fast-disk", "fast-disk"),
    ],
)
def test_a_name_is_replaced_in_the_id_of_another_campaign_too(
    name: Name, as_in_ids: str, stand_in: str
) -> None:
    redaction = Redaction([name])
    assert redaction.text(f"2026-11-20-on-{as_in_ids}") == f"2026-11-20-on-{stand_in}"


def test_a_logo_is_left_out_of_a_redacted_archive(folder: Path, tmp_path: Path) -> None:
    (folder / "logo.svg").write_text("<svg></svg>")
    file = tmp_path / "x.kneebench"
    pack(kneebench.load(folder), file, redact=True)
    pack(kneebench.load(folder), tmp_path / "y.kneebench")
    (folder / "logo.svg").unlink()
    assert "logo.svg" not in zipfile.ZipFile(file).namelist()
    assert "logo.svg" in zipfile.ZipFile(tmp_path / "y.kneebench").namelist()


def test_a_storage_of_a_hosts_name_keeps_its_rungs(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.kneebench"
    names = [Name("host", "fast")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kneebench.results.redaction.names_of_this_machine", lambda: names)
        pack(kneebench.load(folder), file, redact=True)
    climbs = kneebench.load(file).climbs
    assert re.fullmatch(r"slow-drive host\d-drive", " ".join(climb.id for climb in climbs))
    assert all(climb.rungs for climb in climbs)
    assert re.search(r"\bfast\b", texts(file)) is None


def test_a_storage_named_as_a_wwid_begins_keeps_its_name_and_rungs(tmp_path: Path) -> None:
    names = ("nvme", "NVMe drive (192 MiB)", "eui", "naa.fast", "t10")
    ladder = {"users": 4, "repeats": 1, "checkpoints": 0, "window": "2s", "final_window": "2s"}
    plan = {
        "question": "Which?",
        "database": {"engine": "simulated"},
        "storages": {name: {"simulated": {"log_latency": "1ms"}} for name in names},
        "ladder": {**ladder, "warm_up": "1s", "latency_rate": "20/s"},
    }
    results = kneebench.run(kneebench.Plan.model_validate(plan), tmp_path / "campaigns")
    file = tmp_path / "redacted.kneebench"
    assert not [one for one in pack(results, file, redact=True).replaced if one.kind == "WWID"]
    before, after = results.climbs, kneebench.load(file).climbs
    assert {one.configuration.storage for one in before} == set(names)
    assert [one.configuration for one in after] == [one.configuration for one in before]
    orders = [[rung.order for rung in one.rungs] for one in before]
    assert [[rung.order for rung in one.rungs] for one in after] == orders


@pytest.mark.parametrize(
    "wwid",
    [
        "eui.0025385771b0a1c4",
        "naa.5000c500a1b2c3d4",
        "nvme.1af4-3030303030303031-51454d55204e564d65204374726c-00000001",
        "t10.ATA_QEMU_HARDDISK_QM00001",
        "uuid.6c6b5a1e-7f3a-4d54-9d71-0a9b8c7d6e5f",
        "wwn-0x5000c500a1b2c3d4",
        "nvme-eui.0025385771b0a1c4",
        "nvme-Samsung_SSD_980_PRO_S5GXNX0T",
        "0x5000c500a1b2c3d4",
    ],
)
def test_a_wwid_is_known_by_its_form(wwid: str) -> None:
    assert [one.name for one in by_form(f"on {wwid}, busy")] == [Name("WWID", wwid)]
