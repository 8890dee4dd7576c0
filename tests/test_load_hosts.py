"""Users on several hosts: real ones in network namespaces, reached by a real sshd, one with its
clock 250 ms ahead, the other with another monotonic clock; and processes of this machine.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kneebench.errors import PlanError
from kneebench.hosts.connection import BOOT, Connection, HostLost, here
from kneebench.hosts.load_hosts import PROGRAM, connect
from kneebench.hosts.package import NOTHING, load_package
from kneebench.hosts.spread_load import OF_A_SECOND, merged_seconds, offset
from kneebench.plan.hosts import LoadHost
from tests import namespaces
from tests.namespaces import DONE, FAKETIME, SHORT_LADDER, Controller, Hosts, rungs_of
from tests.parameters import some
from tests.stand_in import BIN

AHEAD_S = 0.25
AHEAD = {"LD_PRELOAD": str(FAKETIME), "FAKETIME": f"+{AHEAD_S}s"}
"""The environment of the host whose clock is ahead."""
MARKS = """
import sys, time, psycopg
with psycopg.connect(host="192.0.2.1", user="bench", dbname="tpcc", autocommit=True) as session:
    while True:
        row = (sys.argv[1], time.time())
        session.execute("INSERT INTO marks VALUES (%s, %s, clock_timestamp())", row)
        time.sleep(0.1)
"""
"""What a third party runs beside the users: a host's own time of day beside the server's."""
NEEDS = namespaces.missing() or ("" if BIN.exists() else "needs Debian's PostgreSQL 15")
several = pytest.mark.skipif(bool(NEEDS), reason=NEEDS or "-")
PLAN = """
question = "Two load hosts"
[database]
engine = "postgres"
url = "postgresql://bench@192.0.2.1:5432/tpcc"
[workload]
warehouses = 1
[hosts]
load = [
    {{ ssh = "root@192.0.2.2", name = "ahead", python = "{python}" }},
    {{ ssh = "root@192.0.2.3", name = "other", python = "{python}" }},
]
"""
PLAN += f"{SHORT_LADDER}users = 5\n"


class Lab(Controller):
    """A database host and two load hosts, with what a user has on the controller."""

    def __init__(self, net: Hosts) -> None:
        super().__init__(net, {"PGPASSWORD": "secret"})
        self.plan = self.folder / "plan.toml"
        self._before: dict[str, float] = {}

    def asked(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of the workload's database, for a superuser."""
        given = {"host": str(self.folder / "pg"), "user": "postgres", "dbname": "tpcc"}
        with psycopg.connect(**given, autocommit=True) as session:
            answer = session.execute(query)
            return answer.fetchall() if answer.description else []

    @contextlib.contextmanager
    def marked(self) -> Iterator[None]:
        """A third party on each load host marks its time of day in a table meanwhile."""
        self.asked("CREATE TABLE marks (host text, there float8, here timestamptz)")
        self.asked("GRANT INSERT ON marks TO bench")
        markers = [
            self.net.start(
                *(sys.executable, "-c", MARKS, name),
                on=name,
                env={**self.environment, **(AHEAD if name == "ahead" else {})},
            )
            for name in ("ahead", "other")
        ]
        try:
            yield
        finally:
            for one in markers:
                one.kill()
                one.wait()
            query = (
                "SELECT host, min(extract(epoch FROM here) - there)::float8 FROM marks GROUP BY 1"
            )
            self._before = dict(self.asked(query))
            self.asked("DROP TABLE marks")

    def overlap(self, hosts: Iterable[dict[str, Any]]) -> float:
        """The part of the longest window in which all windows were open, by the server's clock as
        the marks have it.
        """
        windows = [
            (
                one["opened_at"] + self._before[one["name"]],
                one["closed_at"] + self._before[one["name"]],
            )
            for one in hosts
        ]
        common = min(end for _, end in windows) - max(start for start, _ in windows)
        return float(common / max(end - start for start, end in windows))

    def users(self) -> list[str]:
        """Where the users' sessions come from."""
        with psycopg.connect(
            host=str(self.folder / "pg"), user="postgres", dbname="postgres"
        ) as session:
            query = (
                "SELECT host(client_addr) FROM pg_stat_activity WHERE"
                " application_name = 'kneebench' AND client_addr <> '192.0.2.254'"
            )
            return [address for (address,) in session.execute(query)]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with namespaces.hosts("db", "ahead", "other") as net:
        net.sshd("ahead", AHEAD)
        net.sshd("other", before=["unshare", "--time", "--monotonic", "3600"])
        (net.folder / "db").mkdir()
        net.sshd("db", {"XDG_STATE_HOME": str(net.folder / "db" / "state")})
        _database(net)
        (net.folder / "known_hosts").write_text(net.known_hosts())
        yield Lab(net)


def _database(net: Hosts) -> None:
    """PostgreSQL 15 on the database host, which takes users from the network by password."""
    folder = net.folder / "pg"
    folder.mkdir()
    net.run("chown", "postgres", folder)
    account = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    net.run(
        *account,
        BIN / "initdb",
        *("-D", folder / "data", "-U", "postgres", "-A", "trust", "--no-sync"),
        on="db",
        cwd="/",
    )
    with (folder / "data" / "pg_hba.conf").open("a") as file:
        file.write("host all all 192.0.2.0/24 scram-sha-256\n")
    with (folder / "data" / "postgresql.conf").open("a") as file:
        file.write(f"listen_addresses='192.0.2.1'\nunix_socket_directories='{folder}'\nfsync=off\n")
    command = [*account, BIN / "postgres", "-D", folder / "data"]
    net.start(*command, on="db", cwd="/", stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            with psycopg.connect(
                host=str(folder), user="postgres", dbname="postgres", autocommit=True
            ) as session:
                session.execute("CREATE ROLE bench LOGIN CREATEDB PASSWORD 'secret'")
                session.execute("GRANT pg_monitor, pg_checkpoint TO bench")
                session.execute("CREATE DATABASE tpcc OWNER bench")
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise AssertionError("PostgreSQL does not answer")


@several
def test_a_campaign_over_two_hosts_counts_as_the_database_does(lab: Lab) -> None:
    lab.plan.write_text(PLAN.format(python=sys.executable))
    code, said = lab.done("hosts", "check", lab.plan)
    assert code == 0, said
    assert "250 ms ahead" in said
    assert said.count("reaches the database at 192.0.2.1:5432") == 2
    out = lab.folder / "whole"
    with lab.marked():
        code, said = lab.done("run", lab.plan, "--out", out, "--yes")
    assert code in DONE, said
    for name, rung in rungs_of(out).items():
        hosts = {one["name"]: one for one in rung["tally"]["hosts"]}
        users = rung["order"]["users"]
        halves = [-(-users // 2), users // 2]
        assert [hosts["ahead"]["users"], hosts["other"]["users"]] == halves, name
        assert abs(hosts["ahead"]["ahead_s"] - AHEAD_S) < 0.005
        assert abs(hosts["other"]["ahead_s"]) < 0.005
        orders = rung["tally"]["transactions"]["new_order"]["window"]["committed"]
        assert sum(one["new_orders"] for one in hosts.values()) == orders > 0
        failed = [one["sentence"] for one in rung["checks"] if not one["passed"]]
        assert not failed
        assert {one["name"] for one in rung["checks"]} >= {"identity", "new_orders", "rollbacks"}
        assert lab.overlap(hosts.values()) >= 0.95, (name, hosts)
    brief = next(out.glob("*/brief.html")).read_text()
    assert "The users ran on 2 load hosts." in brief
    assert not lab.users()


@pytest.mark.long
@several
def test_a_server_by_url_whose_machine_gives_ssh_is_metered_as_ours(lab: Lab) -> None:
    text = PLAN.format(python=sys.executable)
    there = f'[hosts]\ndatabase = {{ ssh = "root@192.0.2.1", python = "{sys.executable}" }}\n'
    lab.plan.write_text(text.replace("[hosts]\n", there))
    out = lab.folder / "metered"
    code, said = lab.done("run", lab.plan, "--users", "4", "--for", "4s", "--out", out)
    assert code in DONE, said
    (rung,) = rungs_of(out).values()
    assert rung["devices"]
    assert {"cores.busy", "device.writes", "processes.cpu"} <= set(rung["quantities"])
    assert rung["quantities"]["processes.cpu"]["sources"]["server"] > 0
    assert "secret" not in "".join(file.read_text() for file in out.rglob("*.json"))
    brief = next(out.glob("*/brief.html")).read_text()
    assert "are those of database host 192.0.2.1" in brief


@several
@pytest.mark.long
def test_a_host_that_stays_away_ends_the_campaign_which_goes_on_there(lab: Lab) -> None:
    lab.plan.write_text(PLAN.format(python=sys.executable))
    out = lab.folder / "away"
    process = lab.kneebench("run", lab.plan, "--out", out, "--yes", "--json", "--no-brief")
    said: list[str] = []
    assert process.stdout
    for line in process.stdout:
        said.append(line)
        if '"kind": "rung"' in line:
            lab.net.link("other", "down")
    assert process.wait() == HostLost.exit_code, "".join(said[-5:])
    kept = len(rungs_of(out))
    assert kept >= 1
    lab.net.link("other", "up")
    code, again = lab.done("run", lab.plan, "--out", out, "--yes", "--no-brief")
    assert code in DONE, again
    assert "resuming" in again
    phases = {one["order"]["phase"] for one in rungs_of(out).values()}
    assert phases == {"fixed_load", "final_run", "fixed_rate"}, again
    assert len(rungs_of(out)) > kept


@pytest.mark.long
@several
def test_a_cut_link_makes_the_rung_invalid_and_it_is_measured_again(lab: Lab) -> None:
    lab.plan.write_text(PLAN.format(python=sys.executable))
    out = lab.folder / "cut"
    process = lab.kneebench("run", lab.plan, "--out", out, "--yes", "--json", "--no-brief")
    cut_at = lost_after_s = 0.0
    said: list[str] = []
    assert process.stdout
    for line in process.stdout:
        said.append(line)
        if not cut_at and "measuring" in line:
            lab.net.link("other", "down")
            cut_at = time.monotonic()
        if cut_at and not lost_after_s and "host other was lost" in line:
            lost_after_s = time.monotonic() - cut_at
            threading.Timer(3.0, lab.net.link, ("other", "up")).start()
            for _ in range(30):
                if not (left := lab.users()):
                    break
                time.sleep(0.1)
            assert not left
    assert process.wait() in DONE, "".join(said[-5:])
    assert 0 < lost_after_s < 8, "".join(said[-5:])
    (lost,) = [
        one["words"]
        for rung in rungs_of(out).values()
        for one in rung["remarks"]
        if one["kind"] == "host_lost"
    ]
    assert lost.startswith("host other was lost ")
    assert "s after the start" in lost


@several
def test_a_host_with_a_dead_data_network_makes_the_rung_invalid_and_is_named(lab: Lab) -> None:
    lab.plan.write_text(PLAN.format(python=sys.executable))
    out = lab.folder / "dead"
    lost = ("ip", "neigh", "replace", "192.0.2.1", "lladdr", "02:00:00:00:00:01", "dev", "eth0")
    process = lab.kneebench(
        *("run", lab.plan, "--users", "4", "--for", "9s"),
        *("--out", out, "--yes", "--json", "--no-brief"),
    )
    cut, words = False, None
    assert process.stdout
    for line in process.stdout:
        if not cut and "measuring" in line:
            cut = True
            lab.net.run(*lost, "nud", "permanent", on="other")
            back = ("ip", "neigh", "del", "192.0.2.1", "dev", "eth0")
            threading.Timer(5.0, lab.net.run, back, {"on": "other"}).start()
        if words := re.search(
            r"host other completed no transaction for (\d+) s .* (\d+) seg", line
        ):
            process.send_signal(signal.SIGINT)
            break
    process.communicate(timeout=60)
    assert words, "the rung was used"
    assert 4 <= int(words[1]) <= 9
    assert int(words[2]) > 0, "segments sent again are counted there"


@pytest.mark.long
@several
def test_a_killed_controller_leaves_no_session_and_no_process(lab: Lab) -> None:
    lab.plan.write_text(PLAN.format(python=sys.executable))
    before = {name: len(lab.net.processes(name)) for name in ("ahead", "other")}
    out = lab.folder / "killed"
    process = lab.kneebench("run", lab.plan, "--out", out, "--yes", "--json", "--no-brief")
    assert process.stdout
    for line in process.stdout:
        if "measuring" in line:
            break
    assert set(lab.users()) == {"192.0.2.2", "192.0.2.3"}
    process.send_signal(signal.SIGKILL)
    process.wait()
    until = time.monotonic() + 10
    while lab.users() and time.monotonic() < until:
        time.sleep(0.1)
    assert not lab.users()
    while time.monotonic() < until and any(
        len(lab.net.processes(name)) > count for name, count in before.items()
    ):
        time.sleep(0.1)
    assert {name: len(lab.net.processes(name)) for name in before} == before


@several
@pytest.mark.parametrize("wrong", some(["host key", "login", "python", "full disk"], ["host key"]))
def test_a_host_that_cannot_be_used_is_an_error_before_anything_changes(
    lab: Lab, wrong: str
) -> None:
    python, known = sys.executable, lab.folder / "known_hosts"
    seen = {
        "host key": "Host key verification failed",
        "login": "Permission denied",
        "python": "No such file",
        "full disk": "No space left",
    }[wrong]
    text = PLAN.format(python="/no/python3" if wrong == "python" else python)
    lab.plan.write_text(text)
    cache = lab.folder / "ahead" / "cache"
    cache.mkdir(exist_ok=True)
    kept, allowed = known.read_text(), (lab.folder / "key.pub").read_text()
    try:
        if wrong == "host key":
            other = (lab.folder / "key.pub").read_text()
            known.write_text(f"192.0.2.2 {other}192.0.2.3 {other}")
        if wrong == "login":
            (lab.folder / "key.pub").write_text("")
        if wrong == "full disk":
            cache.rename(cache.with_name("kept"))
            cache.symlink_to(lab.folder / "small")
        out = lab.folder / f"wrong {wrong}"
        code, said = lab.done("run", lab.plan, "--out", out, "--yes")
        assert code == PlanError.exit_code, said
        assert seen in said, said
        assert "host ahead" in said
        assert not out.exists()
    finally:
        known.write_text(kept)
        (lab.folder / "key.pub").write_text(allowed)
        if wrong == "full disk":
            cache.unlink()
            cache.with_name("kept").rename(cache)


@several
def test_check_warns_of_a_load_host_with_another_key_before_it_says_how_to_accept_that(
    lab: Lab,
) -> None:
    lab.plan.write_text(PLAN.format(python="python3"))
    known = lab.folder / "known_hosts"
    kept, other = known.read_text(), (lab.folder / "key.pub").read_text()
    try:
        known.write_text(kept.replace(kept.splitlines()[1], f"192.0.2.2 {other.strip()}"))
        code, said = lab.done("check", lab.plan, "--json")
    finally:
        known.write_text(kept)
    assert code == PlanError.exit_code, said
    assert "load host ahead" in said and "load host other" in said
    assert said.index("its ssh host key has changed") < said.index("ssh-keygen"), said


# --- one machine ----------------------------------------------------------------------------------


def test_a_second_without_a_sample_is_added_as_nothing() -> None:
    empty = {"committed": 0, "rolled_back": 0, "failed": 1, "unknown": 0, "histogram": ""}
    one = {"at_s": 3, "transaction": "delivery", **empty, **dict.fromkeys(OF_A_SECOND, 0)}
    (both,) = merged_seconds([one, one])
    assert (both["failed"], both["mean_s"], both["histogram"]) == (2, 0, "")


def test_a_process_here_has_our_clock() -> None:
    with connect(LoadHost(here=True)) as host:
        found = offset(host)
        assert abs(found.ahead_s) <= max(found.bound_s, 1e-4)
        assert host.facts["cores"] == len(os.sched_getaffinity(0))


def test_files_that_are_sent_are_whole_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    command = [sys.executable, "-S", "-u", "-c", BOOT]  # without our own kneebench
    for _ in range(2):
        with Connection("sent", command, PROGRAM, load_package()) as host:
            assert "now" in host.ask("probe")
    (folder,) = (tmp_path / "kneebench" / "agents").iterdir()
    assert folder.name == load_package().name


def test_an_order_that_fails_says_why_and_the_next_one_works() -> None:
    with connect(LoadHost(here=True)) as host:
        assert "no load generator" in host.ask("tick")["failed"]
        assert "now" in host.ask("probe")


def test_a_host_that_ends_is_lost_at_once() -> None:
    with connect(LoadHost(here=True, name="short")) as host:
        os.kill(host.facts["pid"], signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(HostLost, match="host short was lost"):
            host.ask("probe")
        assert time.monotonic() - began < 2


def test_a_silent_controller_ends_the_host() -> None:
    host = connect(LoadHost(here=True))
    try:
        host._over.set()  # no more beats
        assert host._process.wait(timeout=15) == 1
    finally:
        host.close()


def test_an_older_python_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kneebench.hosts.connection.OLDEST_PYTHON", (4, 0))
    with pytest.raises(PlanError, match=r"it has Python 3\.\d+"):
        Connection("old", here(), PROGRAM, NOTHING)
