"""Meters of power, one by one: what they read of files and of peers, and the errors of wrong
configurations, which never say a secret.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import psutil
import pytest
from pydantic import Field
from rich.console import Console

from kneebench import KneebenchError
from kneebench.campaign.power_meters import _finding, _read
from kneebench.measurement.power.now import PowerNow, own_meters, power_now
from kneebench.measurement.power.recordings import OwnRecordings
from kneebench.measurement.power_meters import command, http, hwmon, nvme, rapl, redfish, snmp
from kneebench.measurement.power_meters.power_source import (
    EnergySince,
    NoAnswer,
    NotBelieved,
    PowerSource,
    believed,
)
from kneebench.plan.power import PUBLIC, Power, PowerMeter, Private, private_keys, table_of
from kneebench.plan.reader import parse_plan
from kneebench.records import PowerMeterFacts
from kneebench.results.private_names import KINDS, Name, by_key
from kneebench.screen.power import meters
from kneebench.secrets import clean
from kneebench.shelf import POWER_METERS
from tests.power_peers import COMMUNITY, SECRET, USER, Peers, certificate

KNEEBENCH = [sys.executable, "-m", "kneebench"]
STORAGE = 'storages.disk.path = "."\n'
FROM_ENVIRONMENT = {"PEERS_SECRET": SECRET, "PEERS_WRONG": "wrong-hush-77", "PEERS_SHORT": "hush-1"}


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peers]:
    with Peers(3, tmp_path_factory.mktemp("peers")) as found:
        yield found


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in FROM_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def table(**keys: Any) -> Any:
    return Power.model_validate({"meters": [{"name": "m", **keys}]}).meters[0]


# --- what is believed -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "number", [0xFFFF, 0xFFFFFFFF, 2**32, 0x7FFFFFFF, -1, float("nan"), 60_000]
)
def test_numbers_that_mean_none_are_not_believed(number: float) -> None:
    with pytest.raises(NotBelieved):
        believed(number, 1.0, 50_000.0)


def test_the_sentinel_of_a_sensor_in_microwatts_is_not_4_kilowatts(tmp_path: Path) -> None:
    chip = hwmon_chip(tmp_path, "power_meter", power1_input=2**32)
    source = hwmon.open_source(table(type="hwmon", scope="wall", sysfs=str(tmp_path)))
    with pytest.raises(NotBelieved, match="stands for no value"):
        source.read()
    (chip / "power1_input").write_text("347000000\n")
    assert source.read().watts == pytest.approx(347.0)


# --- hwmon ----------------------------------------------------------------------------------------


def hwmon_chip(sysfs: Path, name: str, number: int = 0, **files: object) -> Path:
    chip = sysfs / f"class/hwmon/hwmon{number}"
    chip.mkdir(parents=True)
    (chip / "name").write_text(f"{name}\n")
    for file, value in files.items():
        (chip / file).write_text(f"{value}\n")
    return chip


def test_energy_comes_before_power_and_a_long_mean_is_no_reading(tmp_path: Path) -> None:
    hwmon_chip(tmp_path, "both", power1_input=5_000_000, energy1_input=7_000_000)
    hwmon_chip(tmp_path, "slow", 1, power1_average=5_000_000, power1_average_interval=60_000)
    hwmon_chip(tmp_path, "mean", 2, power1_average=6_000_000, power1_average_interval=1000)
    found = {one.chip: one.file.name for one in hwmon.channels(tmp_path)}
    assert found == {"both": "energy1_input", "mean": "power1_average"}


def test_a_channel_is_named_by_label_or_number_and_off_is_no_zero(tmp_path: Path) -> None:
    chip = hwmon_chip(
        tmp_path, "ina", power1_input=10**6, power1_label="12V", power2_input=2 * 10**6
    )
    for channel, watts in (("12V", 1.0), ("1", 1.0), ("2", 2.0)):
        keys = {"chip": "ina", "channel": channel, "scope": "dc", "sysfs": str(tmp_path)}
        assert hwmon.open_source(table(type="hwmon", **keys)).read().watts == watts
    with pytest.raises(KneebenchError, match="name one of its channels"):
        hwmon.open_source(table(type="hwmon", chip="ina", scope="dc", sysfs=str(tmp_path)))
    (chip / "power2_enable").write_text("0\n")
    with pytest.raises(NoAnswer, match="switched off"):
        hwmon.open_source(table(type="hwmon", **keys)).read()


def test_an_energy_counter_that_goes_back_is_not_believed(tmp_path: Path) -> None:
    chip = hwmon_chip(tmp_path, "e", energy1_input=9_000_000)
    source = hwmon.open_source(table(type="hwmon", chip="e", scope="drive", sysfs=str(tmp_path)))
    assert source.read().joules == 0.0
    (chip / "energy1_input").write_text("11000000\n")
    assert source.read().joules == pytest.approx(2.0)
    (chip / "energy1_input").write_text("1000000\n")
    with pytest.raises(NotBelieved, match="went back"):
        source.read()


# --- RAPL -----------------------------------------------------------------------------------------


def domain(folder: Path, name: str, uj: int = 0, most_uj: int | None = 300_000_000) -> Path:
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "energy_uj").write_text(f"{uj}\n")
    if most_uj:
        (folder / "max_energy_range_uj").write_text(f"{most_uj}\n")
    (folder / "constraint_0_max_power_uw").write_text("100000000\n")
    return folder


def package(sysfs: Path, number: int = 0, **of: Any) -> Path:
    return domain(sysfs / f"class/powercap/intel-rapl:{number}", f"package-{number}", **of)


def rapl_source(sysfs: Path) -> PowerSource:
    return rapl.open_source(table(type="rapl", sysfs=str(sysfs)))


def set_uj(folder: Path, uj: int) -> None:
    (folder / "energy_uj").write_text(f"{uj}\n")


def test_packages_and_their_memory_count_once(tmp_path: Path) -> None:
    first, second = package(tmp_path), package(tmp_path, 1)
    domain(first / "intel-rapl:0:0", "core")
    memory = domain(first / "intel-rapl:0:1", "dram")
    domain(tmp_path / "class/powercap/intel-rapl:2", "psys")
    domain(tmp_path / "class/powercap/intel-rapl-mmio:0", "package-0")
    source = rapl_source(tmp_path)
    assert source.described == "package-0, package-0 dram, package-1"
    source.read()
    for folder, uj in ((first, 30_000_000), (second, 20_000_000), (memory, 4_000_000)):
        set_uj(folder, uj)
    assert source.read().joules == pytest.approx(54.0)


def test_a_counter_that_wrapped_once_is_followed(tmp_path: Path) -> None:
    folder = package(tmp_path, uj=290_000_000)
    source = rapl_source(tmp_path)
    source.read()
    set_uj(folder, 15_000_000)
    assert source.read().joules == pytest.approx(25.0)


def test_a_counter_that_may_have_wrapped_twice_is_not_believed(tmp_path: Path) -> None:
    folder = package(tmp_path, most_uj=60_000_000)
    source = rapl_source(tmp_path)
    assert source.longest_s == pytest.approx(60 / 200 / 4)
    source.read()
    time.sleep(0.35)
    set_uj(folder, 15_000_000)
    with pytest.raises(NotBelieved, match="more than once"):
        source.read()


def test_a_counter_without_a_range_that_goes_back_is_not_believed(tmp_path: Path) -> None:
    folder = package(tmp_path, uj=9_000_000, most_uj=None)
    source = rapl_source(tmp_path)
    source.read()
    set_uj(folder, 10_000_000)
    assert source.read().joules == pytest.approx(1.0)
    set_uj(folder, 1_000_000)
    with pytest.raises(NotBelieved, match="went back, and what it counts to is unknown"):
        source.read()


def test_a_value_beyond_the_range_is_not_believed_and_the_next_one_is(tmp_path: Path) -> None:
    folder = package(tmp_path)
    source = rapl_source(tmp_path)
    source.read()
    set_uj(folder, 2**42)
    with pytest.raises(NotBelieved, match="beyond"):
        source.read()
    set_uj(folder, 3_000_000)
    assert source.read().joules == pytest.approx(3.0)


def test_memory_that_takes_more_than_its_package_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rapl, "JUDGED_S", 0.05)
    folder = package(tmp_path)
    memory = domain(folder / "intel-rapl:0:0", "dram")
    source = rapl_source(tmp_path)
    source.read()
    time.sleep(0.1)
    set_uj(folder, 3_000_000)
    set_uj(memory, 9_000_000)
    with pytest.raises(NotBelieved, match="package-0 dram shows"):
        source.read()


def test_two_zones_of_one_name_both_count(tmp_path: Path) -> None:
    first = package(tmp_path)
    second = domain(tmp_path / "class/powercap/intel-rapl:1", "package-0")
    source = rapl_source(tmp_path)
    source.read()
    set_uj(first, 5_000_000)
    set_uj(second, 5_000_000)
    assert source.read().joules == pytest.approx(10.0)


# --- counters of energy ---------------------------------------------------------------------------


def test_a_counter_counts_only_what_is_believed() -> None:
    counter = EnergySince()
    assert counter.since_first(100.0, 1.0, 500.0) == 0.0
    assert counter.since_first(130.0, 1.0, 500.0) == 30.0
    for wrong in (float("nan"), float("inf"), 2**32, 90.0, 1e9, 95.0):
        with pytest.raises(NotBelieved):
            counter.since_first(wrong, 1.0, 500.0)
    assert counter.since_first(105.0, 1.0, 500.0) == 40.0


# --- a program, a rating, documents ---------------------------------------------------------------


def test_a_programs_lines_are_readings_at_their_arrival(tmp_path: Path) -> None:
    script = tmp_path / "meter.sh"
    script.write_text("#!/bin/sh\nfor n in 1 2 3 4 5 6; do echo 10$n W; sleep 0.2; done\nexit 3\n")
    script.chmod(0o755)
    with OwnRecordings([table(type="command", scope="wall", command=[str(script)])]) as found:
        time.sleep(2.0)
        samples = found.new_samples().samples[0]
    values = [one.value for one in samples if one.value is not None]
    assert values == [101.0, 102.0, 103.0, 104.0, 105.0, 106.0]
    times = [one.at_s for one in samples if one.value is not None]
    assert all(0.1 < b - a < 0.5 for a, b in pairwise(times))
    assert any("ended with exit code 3" in one.why for one in samples)


def test_a_program_has_no_passwords_of_other_meters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("OUTLET", "3")
    given = ["sh", "-c", f"env > {tmp_path}/seen; while :; do echo 100; sleep 0.1; done"]
    named = table(type="command", scope="wall", command=given, environment=["OUTLET"])
    with OwnRecordings([named]):
        seen = dict(line.split("=", 1) for line in (tmp_path / "seen").read_text().splitlines())
    assert (seen["OUTLET"], seen["LC_TIME"]) == ("3", "C")
    usual = ("PATH", "HOME", "LANG", "PWD", "SHLVL", "OLDPWD", "_", "OUTLET")
    assert not [name for name in seen if name not in usual and not name.startswith("LC_")]


def test_a_program_ends_with_its_meter(tmp_path: Path) -> None:
    given = ["sh", "-c", "sleep 1000 & echo $!; wait"]
    source = command.open_source(table(type="command", scope="dc", command=given, most="9000kW"))
    started = round(source.read().watts or 0)
    assert psutil.pid_exists(started)
    source.close()
    until = time.monotonic() + 5
    while psutil.pid_exists(started) and psutil.Process(started).status() != "zombie":
        assert time.monotonic() < until
        time.sleep(0.05)


def test_what_a_meter_says_and_what_to_do_about_it_are_told_apart() -> None:
    fails = "echo 'no bus; no meter' >&2; exit 4"
    keys = {"type": "command", "scope": "wall", "command": ["sh", "-c", fails]}
    [found] = _read([table_of("command").model_validate({"name": "wall", **keys})], None, 0.1)
    told = _finding(found)
    assert told.seen.endswith("ended with exit code 4: no bus; no meter")
    assert told.do == found.do and not told.do.startswith("no meter")


def test_ratings_of_drives_are_no_readings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvme"
    states = {"psds": [{"max_power": 2500}, {"max_power": 1100}]}
    program.write_text(f"#!/bin/sh\necho '{json.dumps(states)}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(nvme, "PROGRAM", str(program))
    with OwnRecordings([table(type="nvme", drives=["nvme0", "nvme1"])]) as found:
        assert found.meters[0].facts.rated_w == 50.0
        [now] = power_now([found], 0.1)
    assert now.watts is None
    assert "rating" in now.why


def test_power_of_a_bmc_is_the_input_of_all_its_supplies(peers: Peers) -> None:
    address = f"https://127.0.0.1:{peers.ports.redfish}"
    keys = {"type": "redfish", "address": address}
    found = redfish.open_source(table(**keys, certificate_file=str(peers.folder / "bmc.pem")))
    assert found.described.count("/InputPowerWatts/Reading") == 2
    path = "/redfish/v1/Chassis/1/Power#/PowerControl/0/PowerConsumedWatts"
    pinned = table(**keys, path=path, fingerprint=fingerprint(peers.folder / "bmc.pem"))
    older = redfish.open_source(pinned)
    for _ in range(100):  # the peer's power moves: readings of one moment are compared
        before, between, after = (source.read().watts or 0 for source in (found, older, found))
        if after == pytest.approx(before, rel=0.02):
            break
    assert between == pytest.approx(0.8 * after, rel=0.05)


def test_a_connection_that_is_opened_again_is_checked_again(peers: Peers, tmp_path: Path) -> None:
    sent: list[str] = []
    (tmp_path / "other").mkdir()
    file, other = certificate(tmp_path), certificate(tmp_path / "other")

    class Answers(BaseHTTPRequestHandler):  # HTTP/1.0: each request has a connection of its own
        def do_GET(self) -> None:
            sent.append(self.headers["Authorization"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"w": 100}')

        def log_message(self, *said: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answers)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    keys = {"type": "http", "scope": "wall", "pointer": "/w", "user": USER}
    keys |= {"url": f"https://127.0.0.1:{server.server_port}/", "fingerprint": fingerprint(file)}
    source = http.open_source(table(**keys, password_variable="PEERS_SECRET"))
    assert [source.read().watts for _ in range(2)] == [100.0, 100.0]
    context.load_cert_chain(other)
    with pytest.raises(KneebenchError, match="its fingerprint is"):
        source.read()
    assert len(sent) == 2
    server.shutdown()


def fingerprint(file: Path) -> str:
    said = subprocess.run(
        ["openssl", "x509", "-in", file, "-noout", "-fingerprint", "-sha256"],
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip().partition("=")[2]


def test_objects_of_pdus_are_numbers_with_a_unit() -> None:
    for name, known in snmp.pdus().items():
        keys = {"outlet": [1]} if "{outlet}" in known["power"] else {}
        assert table(type="snmp", address="pdu", pdu=name, **keys).pdu == name
        assert known["power"].startswith("1.3.6.1.4.1.")
        assert known["unit"] > 0


def test_this_machines_own_meters_are_found(tmp_path: Path) -> None:
    package(tmp_path / "sys")
    hwmon_chip(tmp_path / "sys", "power_meter", power1_input=10**8)
    (tmp_path / "sys/class/nvme/nvme0").mkdir(parents=True)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/ipmi0").touch()
    found = [*own_meters(tmp_path / "sys", tmp_path / "dev")]
    assert [one.type for one in found] == ["hwmon", "ipmi", "nvme", "rapl"]
    assert [one.measures for one in found] == ["wall", "wall", "drive", "cpu"]
    assert all(one.on_database_host for one in found)


@pytest.mark.parametrize("kind", POWER_METERS.names())
def test_every_meter_of_the_shelf_has_a_table_and_a_way_to_open_it(kind: str) -> None:
    module = POWER_METERS.module(kind)
    assert callable(module.open_source)
    assert module.TABLE.__doc__
    assert all(field.description for field in module.TABLE.model_fields.values())
    assert {*private_keys(module.TABLE).values()} <= {*KINDS}


class Unheard(PowerMeter):
    """A type of meters that nobody has yet."""

    rack: Annotated[str, Field(description="Where it is")] = ""
    token_file: Annotated[Path | None, Field(description="File with its token")] = None
    owner: Annotated[tuple[str, ...], Private("user"), Field(description="Whose it is")] = ()
    unit: Annotated[str, PUBLIC, Field(description="Its unit")] = "W"


def test_what_a_new_type_of_meters_names_is_private_unless_it_is_marked() -> None:
    own = {"rack": "id", "token_file": "path", "owner": "user"}
    assert private_keys(Unheard) == {"covers": "host", **own}


def test_what_a_meter_covers_and_how_it_is_reached_is_redacted() -> None:
    meter = {"type": "redfish", "covers": ["rack-acme", "nvme0n1"], "certificate_file": "/ca/acme"}
    assert [*by_key({"meters": [meter]})] == [Name("host", "rack-acme"), Name("path", "/ca/acme")]


# --- wrong configurations -------------------------------------------------------------------------

SNMP = 'type = "snmp", address = "127.0.0.1", pdu = "apc-outlet", outlet = [3]'
IN_PLAN = {
    'type = "psychic"': "one of: command, http, hwmon",
    'type = "http", url = "http://x", pointer = "/w"': "required here, one of: wall, dc, cpu",
    'type = "rapl", scope = "wall"': "cpu: that is what a meter of type rapl measures",
    'type = "rapl", accuracy = "often"': 'a share in quotes, as in "1%"',
    f"{SNMP}, oid = ['1.3.6.1.4.1.9']": "one of pdu and oid",
    'type = "snmp", address = "x", pdu = "acme"': "one of: apc-outlet",
    'type = "snmp", address = "x", pdu = "apc-outlet"': "the numbers of its outlets",
    'type = "ipmi", password_variable = "A", password_file = "b"': "one of password_variable and",
    'type = "rapl", most = 300': "a power with its unit in quotes",
    'type = "redfish", address = "https://x", fingerprint = "abc"': "fingerprint",
    'type = "command", scope = "wall", command = []': "command",
}


@pytest.mark.parametrize("keys", IN_PLAN)
def test_a_wrong_meter_in_a_plan_is_an_error_with_its_line(keys: str) -> None:
    text = f'{STORAGE}[power]\nmeters = [{{ name = "m", {keys} }}]\n'
    with pytest.raises(KneebenchError) as error:
        parse_plan(text)
    assert IN_PLAN[keys] in str(error.value)
    assert "line 3" in str(error.value)


TOGETHER = {
    'headline = "m"': "a meter or sum of scope wall: mW/NOPM is of all that a server takes",
    'headline = "x"': "a meter or sum, one of: m, n",
    'sums = { s = ["m", "n"] }': "meters of one scope",
    'sums = { m = ["m", "n"] }': "a name that no meter has",
    'sums = { s = ["m", "x"] }': "two meters or more of: m, n",
}


@pytest.mark.parametrize("keys", TOGETHER)
def test_meters_that_do_not_fit_together_are_an_error(keys: str) -> None:
    meters = '[{ name = "m", type = "rapl" }, { name = "n", type = "ipmi" }]'
    with pytest.raises(KneebenchError) as error:
        parse_plan(f"{STORAGE}[power]\nmeters = {meters}\n{keys}\n")
    assert TOGETHER[keys] in str(error.value)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "the wrong password of a BMC": (
        {"type": "ipmi", "address": "127.0.0.1", "port": "ipmi", "user": USER}
        | {"password_variable": "PEERS_WRONG"},
        f"wrong password for its user {USER}",
    ),
    "a BMC that is not there": (
        {"type": "ipmi", "address": "127.0.0.1", "port": 9, "user": USER}
        | {"password_variable": "PEERS_SECRET"},
        "establish|session|no answer|no reading",
    ),
    "a certificate that nobody signed": (
        {"type": "redfish", "address": "https://127.0.0.1:{redfish}"},
        "the certificate of 127.0.0.1: self.signed.*name the authority",
    ),
    "another fingerprint": (
        {"type": "redfish", "address": "https://127.0.0.1:{redfish}", "fingerprint": "ab" * 32},
        "its fingerprint is",
    ),
    "a password in the clear": (
        {"type": "redfish", "address": "http://127.0.0.1:{http}", "user": USER}
        | {"password_variable": "PEERS_SECRET"},
        "not encrypted",
    ),
    "a path without a number": (
        {"type": "redfish", "address": "http://127.0.0.1:{http}", "path": "/redfish/v1/Chassis#/W"},
        "nothing at /W, where a number should be",
    ),
    "a variable that is not set": (
        {"type": "ipmi", "address": "127.0.0.1", "password_variable": "PEERS_NOWHERE"},
        "the environment has no PEERS_NOWHERE",
    ),
    "a file that others can read": (
        {"type": "ipmi", "address": "127.0.0.1", "password_file": "open"},
        "its mode is 0644: others can read it.*chmod 600",
    ),
    "another community": (
        {"type": "snmp", "address": "127.0.0.1", "port": "snmp", "pdu": "apc-outlet", "outlet": [3]}
        | {"password_variable": "PEERS_WRONG"},
        "No SNMP response .* or a wrong community",
    ),
    "the wrong password of v3": (
        {"type": "snmp", "address": "127.0.0.1", "port": "snmp", "pdu": "apc-outlet", "outlet": [3]}
        | {"user": USER, "password_variable": "PEERS_WRONG"},
        f"wrong password for its user {USER}",
    ),
    "a short password of v3": (
        {"type": "snmp", "address": "127.0.0.1", "port": "snmp", "pdu": "apc-outlet", "outlet": [3]}
        | {"user": USER, "password_variable": "PEERS_SHORT"},
        "8 characters",
    ),
    "an outlet that is not there": (
        {"type": "snmp", "address": "127.0.0.1", "port": "snmp", "pdu": "apc-outlet", "outlet": [9]}
        | {"password_variable": "PEERS_COMMUNITY"},
        "has no number",
    ),
    "a URL with a port that is none": (
        {"type": "http", "scope": "wall", "url": "http://h:99999/x", "pointer": "/w"},
        "its address: Port out of range",
    ),
    "a password in a URL": (
        {"type": "http", "scope": "wall", "url": "https://:wrong-hush-77@h/x", "pointer": "/w"},
        "it is no URL of a host",
    ),
    "no PTDaemon": ({"type": "ptd", "port": "http"}, "not as PTDaemon|closed the connection"),
    "no document": (
        {"type": "http", "scope": "wall", "url": "http://127.0.0.1:{http}/none", "pointer": "/w"},
        "HTTP status 404",
    ),
    "no program": (
        {"type": "command", "scope": "wall", "command": ["no-such-program"]},
        "no such program",
    ),
    "a program's variable that is not set": (
        {"type": "command", "scope": "wall", "command": ["true"], "environment": ["NOWHERE"]},
        "the environment has no NOWHERE",
    ),
    "a program that fails": (
        {"type": "command", "scope": "wall", "command": ["sh", "-c", "echo broken >&2; exit 4"]},
        "ended with exit code 4: broken",
    ),
    "no RAPL": ({"type": "rapl", "sysfs": "/nowhere"}, "has no package .virtual machines"),
    "no sensor": ({"type": "hwmon", "scope": "wall", "sysfs": "/nowhere"}, "no channel of power"),
    "a model beside a real server": ({"type": "model"}, "the simulated engine's"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_meter_is_a_clear_error_without_a_secret(
    wrong: str, peers: Peers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEERS_COMMUNITY", COMMUNITY)
    keys, words = WRONG[wrong]
    first_s = 12.0 if "outlet" in keys else 4.5  # that one must have answered, on a busy machine
    monkeypatch.setattr("kneebench.measurement.power.recordings.FIRST_S", first_s)
    if keys["type"] == "ipmi" and not shutil.which("ipmitool"):
        pytest.skip("needs ipmitool")
    if keys["type"] == "snmp" and not peers.ports.snmp:
        pytest.skip("needs snmpd")
    (peers.folder / "open").write_text(SECRET)
    (peers.folder / "open").chmod(0o644)
    ports = vars(peers.ports)
    given = {
        key: ports.get(value, value)
        if key == "port"
        else value.format(**ports)
        if key in ("address", "url")
        else str(peers.folder / value)
        if key == "password_file"
        else value
        for key, value in keys.items()
    }
    with pytest.raises(KneebenchError) as error, OwnRecordings([table(**given)]):
        pass
    said = str(error.value)
    assert said.startswith("power meter m")
    assert re.search(words, said, re.DOTALL), said
    assert not [secret for secret in (*FROM_ENVIRONMENT.values(), COMMUNITY) if secret in said]


def test_a_secret_in_a_programs_arguments_is_in_no_result() -> None:
    plan = {"power": {"meters": [{"command": ["meter", "--token", "hush", "--password=hush"]}]}}
    assert "hush" not in json.dumps(clean(plan)).replace("--password=***", "")


def test_a_secret_in_a_query_is_in_no_result() -> None:
    meter = {"url": "http://h/x?auth_key=hush&a=hush", "pointer": "/w"}
    assert clean({"meters": [meter]})["meters"][0]["url"] == "http://h/x?auth_key=***&a=***"


def test_power_lists_the_meters_of_a_plan_and_says_no_secret(peers: Peers, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(
        f'{STORAGE}[power]\nmeters = [{{ name = "doc", type = "http", scope = "wall",'
        f' url = "http://127.0.0.1:{peers.ports.http}/meter", pointer = "/meter/0/total_kJ",'
        ' unit = "kJ", every = "200ms" },\n'
        f' {{ name = "bmc", type = "redfish", address = "https://127.0.0.1:{peers.ports.redfish}",'
        f' user = "{USER}", password_variable = "PEERS_SECRET" }}]\n'
    )
    done = subprocess.run(
        [*KNEEBENCH, "power", file, "--seconds", "2", "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, **FROM_ENVIRONMENT},
    )
    assert done.returncode == 2, done.stderr
    doc, bmc = json.loads(done.stdout)
    assert doc["watts"] > 50
    assert doc["period_s"] == pytest.approx(0.2, abs=0.1)
    assert doc["age_s"] < 1
    assert bmc["watts"] is None
    assert "certificate" in bmc["why"] or "self-signed" in bmc["why"]
    assert SECRET not in done.stdout + done.stderr


def test_power_prints_what_each_meter_covers() -> None:
    covers = {"pdu": ("db1", "shelf 2"), "cpu": ()}
    found = [
        PowerNow(facts=PowerMeterFacts(name=name, type="x", scope="wall", covers=covered))
        for name, covered in covers.items()
    ]
    console = Console(width=160, file=StringIO(), force_terminal=False)
    console.print(*meters(found), sep="\n")
    printed = console.file.getvalue().splitlines()
    assert "db1, shelf 2" in next(line for line in printed if "pdu" in line)
    assert "database host" in next(line for line in printed if "cpu" in line)


def test_without_a_plan_power_says_what_this_machine_has() -> None:
    done = subprocess.run([*KNEEBENCH, "power"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "no meter of power" in done.stdout or "scope: wall is all" in done.stdout
