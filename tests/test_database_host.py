"""A database host: a machine reached by a real sshd, in a network namespace, on which kneebench
restores, starts and meters its servers; users on this machine, or on a load host.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench.errors import PlanError, Refused
from kneebench.lab.programs import found
from tests import namespaces
from tests.loaded import DEBIAN
from tests.namespaces import DONE, SHORT_LADDER, Controller, Hosts, rungs_of

LOST = 3
NEEDS = namespaces.missing()
apart = pytest.mark.skipif(bool(NEEDS), reason=NEEDS or "-")
PLAN = """
question = "A database host"
emulated_path = "{folder}/data"
[database]
engine = "postgres"
base_image_path = "{folder}/images"
{build}
[workload]
warehouses = 1
[storages.disk]
{storage}
[hosts]
database = {{ ssh = "root@192.0.2.1", name = "db", address = "192.0.2.1", python = "{python}" }}
{load}
"""
PLAN += f"{SHORT_LADDER}users = 3\n".replace('"4s"', '"2s"')
QUERIES = 'type = "tproc-h"\nscale = 0.02\nqueries = [6, 1]\nstreams = [1, 2]'
EMULATED = 'drives = [{ emulated = "nvme-fast", size = "1GiB" }]'
MODELLED = Path(__file__).with_name("modelled_power.py")
POWER = """
[power]
headline = "there"
idle = "5s"
load_step = false
[[power.meters]]
name = "there"
type = "command"
scope = "wall"
unit = "J"
there = true
command = {there}
[[power.meters]]
name = "here"
type = "command"
scope = "wall"
unit = "J"
command = {here}
"""
LOAD = 'load = [{{ ssh = "root@192.0.2.2", name = "load1", python = "{python}" }}]'


class Lab(Controller):
    """A database host and a load host, with what a user has on the controller."""

    def __init__(self, net: Hosts) -> None:
        super().__init__(net)
        self.there = self.folder / "db"

    def plan(
        self,
        *,
        load: bool = False,
        python: str = sys.executable,
        emulated: bool = False,
        encrypted: bool = False,
    ) -> Path:
        """The plan's file; with users on the load host, or on the controller. `encrypted`: by a
        build that can, where it is installed.
        """
        (self.there / "data").mkdir(exist_ok=True)
        users = LOAD.format(python=sys.executable) if load else ""
        build = f'bin_dir = "{DEBIAN}"' if encrypted and DEBIAN.exists() else ""
        file = self.folder / "plan.toml"
        storage = EMULATED if emulated else f'path = "{self.there}/data"'
        given = {"folder": self.there, "python": python, "load": users, "build": build}
        given["storage"] = storage
        file.write_text(PLAN.format(**given))
        return file

    def processes(self) -> dict[int, str]:
        """The processes of kneebench and of its servers on the database host, with their words."""
        found = {}
        for pid in self.net.processes("db"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                if "postgres" in words or "python" in words:
                    found[pid] = words
        return found

    def await_nothing(self, limit_s: float = 60.0) -> None:
        """Wait until nothing of kneebench's is left on the database host."""
        until = time.monotonic() + limit_s
        data, journal = self.there / "data", self.there / "state"
        while left := [
            *self.processes().values(),
            *data.iterdir(),
            *journal.rglob("journal/*/*.json"),
        ]:
            assert time.monotonic() < until, left
            time.sleep(0.2)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with namespaces.hosts("db", "load1") as net:
        (net.folder / "db").mkdir()
        net.sshd("db", {"XDG_STATE_HOME": str(net.folder / "db" / "state")})
        net.sshd("load1")
        (net.folder / "known_hosts").write_text(net.known_hosts())
        yield Lab(net)


def await_line(process: subprocess.Popen[str], part: str) -> None:
    """Read what the command says until a line contains that."""
    assert process.stdout
    seen = []
    for line in process.stdout:
        seen.append(line)
        if part in line:
            return
    raise AssertionError("".join(seen))


@apart
def test_a_campaign_on_a_database_host_is_as_one_here(lab: Lab) -> None:
    out = lab.folder / "out"
    emulated = all(map(found, ("qemu-storage-daemon", "nbdfuse", "mkfs.xfs")))
    process = lab.kneebench("run", lab.plan(load=True, emulated=emulated), "--out", out)
    said = process.communicate(timeout=400)[0]
    assert process.returncode in DONE, said
    assert ("EMULATED DRIVES" in said) == emulated
    rungs = [*rungs_of(out).values()]
    phases = {rung["order"]["phase"] for rung in rungs}  # a busy machine chooses its rate again
    assert phases == {"fixed_load", "final_run", "fixed_rate"}
    for rung in rungs:
        orders = rung["tally"]["transactions"]["new_order"]["whole"]["committed"]
        assert orders > 0
        assert not [check["sentence"] for check in rung["checks"] if not check["passed"]]
        assert rung["devices"]
        assert [host["name"] for host in rung["tally"]["hosts"]] == ["load1"]
        assert {"cores.busy", "device.writes", "log.write_latency"} <= set(rung["quantities"])
    (folder,) = out.iterdir()
    assert (folder / "brief.html").exists()
    head = (folder / "campaign.json").read_text()
    assert "kneebench_users" not in head
    lab.await_nothing()


@apart
def test_queries_run_on_the_database_host_and_their_answers_are_compared_here(lab: Lab) -> None:
    out, file = lab.folder / "out-queries", lab.plan()
    text = (
        file.read_text().replace("warehouses = 1", QUERIES).replace('address = "192.0.2.1", ', "")
    )
    file.write_text(text[: text.index("[ladder]")] + "[ladder]\nrepeats = 2\n")
    code, said = lab.done("run", file, "--out", out)
    assert code == 0, said
    rungs = [*rungs_of(out).values()]
    phases = {rung["order"]["phase"] for rung in rungs}
    assert phases >= {"query", "warm_query", "search", "final_run"}
    for rung in rungs:
        assert [check["name"] for check in rung["checks"] if check["passed"]] == ["answers"]
        assert rung["devices"]
        assert {"cores.busy", "device.reads"} <= set(rung["quantities"])
    cold = [one for one in rungs if one["order"]["phase"] == "query"]
    assert all(one["quantities"]["device.read_bytes"]["value"] > 0 for one in cold)
    lab.await_nothing()


@pytest.mark.long
@apart
def test_power_is_read_where_its_meter_is(lab: Lab) -> None:
    out, meter = lab.folder / "out-power", [sys.executable, str(MODELLED)]
    file = lab.plan()
    there, here = ([*meter, str(lab.folder / name), "J"] for name in ("there", "here"))
    file.write_text(file.read_text() + POWER.format(there=json.dumps(there), here=json.dumps(here)))
    code, said = lab.done("run", file, "--out", out)
    assert code in DONE, said
    rungs = [*rungs_of(out).values()]
    assert rungs, said
    for rung in rungs:
        two = {one["meter"]: one["watts"] for one in rung["power"]["meters"]}
        assert two["there"] == pytest.approx(two["here"], rel=0.05)  # of the same machine
        assert rung["quantities"]["system.power"]["value"] == two["there"]
    [folder] = out.iterdir()
    power = json.loads((folder / "campaign.json").read_text())["power"]
    assert [one["on_database_host"] for one in power["meters"]] == [True, False]
    lab.await_nothing()


@apart
def test_what_is_known_of_the_hosts_before_a_run(lab: Lab) -> None:
    process = lab.kneebench("hosts", "check", lab.plan(load=True), "--json")
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 0, said
    found = json.loads(said)
    assert {one["subject"] for one in found} == {"database host db", "load host load1"}
    assert any("bit/s" in one["seen"] for one in found)
    lab.await_nothing()


MEASURING = """
import sys
from pathlib import Path
from kneebench.lab.journal import Journal
with Journal().directory(Path(sys.argv[1]), "data"):
    print("ready", flush=True)
    sys.stdin.read()
"""


@apart
def test_the_network_of_a_database_host_that_is_measured_is_not_tested(lab: Lab) -> None:
    plan = lab.plan(load=True)
    other = lab.net.start(
        *(sys.executable, "-c", MEASURING, lab.there / "measured"),
        on="db",
        env={**os.environ, "XDG_STATE_HOME": str(lab.there / "state")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdout
    other.stdout.readline()
    process = lab.kneebench("hosts", "check", plan, "--json")
    said = process.communicate(timeout=120)[0]
    other.communicate(b"", timeout=60)
    assert process.returncode == Refused.exit_code, said
    assert "another kneebench run is active" in said
    assert "bit/s" not in said
    lab.await_nothing()


@pytest.mark.long
@apart
def test_a_link_that_is_full_is_named_as_the_bottleneck(lab: Lab) -> None:
    """A transaction takes some 300 bytes: only a slow link can be filled here. What is sent to the
    host first goes at full speed.
    """
    lab.kneebench("check", lab.plan(load=True)).communicate(timeout=120)
    lab.net.slow("db", "384kbit")
    try:
        out = lab.folder / "slow"
        given = ("--users", "3", "--for", "4s", "--no-brief", "--out", out)
        process = lab.kneebench("run", lab.plan(load=True), *given)
        said = process.communicate(timeout=300)[0]
    finally:
        lab.net.fast("db")
    assert process.returncode in DONE, said
    assert re.search(r"bottleneck +network", said), said
    (rung,) = rungs_of(out).values()
    (host,) = rung["tally"]["hosts"]
    assert host["received_per_s"] + host["sent_per_s"] < 96_000
    (head,) = out.glob("*/campaign.json")
    link = json.loads(head.read_text())["link"]
    assert link["interface"] == "eth0"
    assert 20_000 < link["measured"]["load1"] < 48_000


@apart
def test_a_killed_controller_leaves_nothing_on_the_database_host(lab: Lab) -> None:
    process = lab.kneebench("run", lab.plan(), "--out", lab.folder / "killed", "--json")
    await_line(process, "warming up")
    assert any("postgres" in one for one in lab.processes().values())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    lab.await_nothing()


@pytest.mark.long
@apart
def test_a_killed_agent_leaves_nothing_and_the_campaign_goes_on(lab: Lab) -> None:
    out, plan = lab.folder / "agent", lab.plan(encrypted=True)
    process = lab.kneebench("run", plan, "--out", out, "--json")
    await_line(process, '"kind": "rung"')
    (agent,) = (pid for pid, words in lab.processes().items() if "sys.stdin.buffer" in words)
    os.kill(agent, signal.SIGKILL)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == LOST, said
    assert "database host db was lost" in said
    lab.await_nothing()
    again = lab.kneebench("run", plan, "--out", out)
    said = again.communicate(timeout=300)[0]
    assert again.returncode in DONE, said
    assert "resuming" in said
    phases = {one["order"]["phase"] for one in rungs_of(out).values()}
    assert phases == {"fixed_load", "final_run", "fixed_rate"}, said


@pytest.mark.long
@apart
def test_clean_puts_a_host_back_on_which_everything_was_killed(lab: Lab) -> None:
    plan = lab.plan()
    process = lab.kneebench("run", plan, "--out", lab.folder / "all", "--json")
    await_line(process, "warming up")
    for ours in (b"read done", b"sys.stdin.buffer"):  # the guardian first: it would clean up
        for pid in lab.net.processes("db"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if ours in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert any("postgres" in one for one in lab.processes().values())
    said = lab.kneebench("clean", plan).communicate(timeout=60)[0]
    assert "ended: the PostgreSQL server" in said
    lab.await_nothing(limit_s=5.0)
    assert "nothing to clean up" in lab.kneebench("clean", plan).communicate(timeout=60)[0]


@pytest.mark.long
@apart
def test_a_cut_link_leaves_nothing_on_the_database_host(lab: Lab) -> None:
    process = lab.kneebench("run", lab.plan(), "--out", lab.folder / "cut", "--json")
    await_line(process, "warming up")
    lab.net.link("db", "down")
    try:
        began = time.monotonic()
        said = process.communicate(timeout=60)[0]
        assert process.returncode == LOST, said
        assert "database host db was lost" in said
        assert time.monotonic() - began < 20
        lab.await_nothing()
    finally:
        lab.net.link("db", "up")


@apart
def test_ctrl_c_puts_the_database_host_back(lab: Lab) -> None:
    process = lab.kneebench("run", lab.plan(), "--out", lab.folder / "ended", "--json")
    await_line(process, "warming up")
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    lab.await_nothing(limit_s=10.0)


@apart
def test_another_python_is_refused_before_anything_is_sent(lab: Lab) -> None:
    plan = lab.plan(python=str(lab.folder / "none"))
    process = lab.kneebench("run", plan, "--out", lab.folder / "refused", "--yes")
    said = process.communicate(timeout=60)[0]
    assert process.returncode == PlanError.exit_code, said
    assert "cannot reach host db" in said
    assert 'name a Python there with python = "..."' in said


@apart
def test_what_is_wrong_on_the_database_host_says_where(lab: Lab) -> None:
    plan = lab.plan()
    text = plan.read_text()
    for old, new, words in (
        (f"{lab.there}/data", "/nowhere", "database host db: /nowhere"),
        ('address = "192.0.2.1"', 'address = "192.0.2.2"', "Cannot assign requested address"),
    ):
        plan.write_text(text.replace(old, new))
        process = lab.kneebench("run", plan)
        said = process.communicate(timeout=60)[0]
        assert (process.returncode, words in said) == (PlanError.exit_code, True), said
    _, said = lab.done("hosts", "check", plan)
    assert "Traceback" not in said, said
    lab.await_nothing()
