"""Load hosts that are nodes of a Ray cluster: a real one with a token, in network namespaces; the
controller is a node of it, the database host is reached by ssh.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench.campaign.machines.opening import planned_load_hosts
from kneebench.errors import PlanError
from kneebench.hosts.ray_cluster import cluster
from kneebench.plan.hosts import RayHosts
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from tests import namespaces
from tests.namespaces import (
    CONTROLLER,
    DONE,
    ROOT,
    SHORT_LADDER,
    Controller,
    Hosts,
    rungs_of,
)

RAY = ROOT / ".tools" / "ray"
NEEDS = namespaces.missing() or ("" if RAY.exists() else "needs Ray in .tools/ray (make ray)")
clustered = pytest.mark.skipif(bool(NEEDS), reason=NEEDS or "-")
START = (
    *(sys.executable, "-m", "ray.scripts.scripts", "start", "--disable-usage-stats"),
    *("--num-cpus=1", "--object-store-memory=80000000"),
)
PLAN = """
question = "Nodes of a Ray cluster"
[database]
engine = "postgres"
base_image_path = "{folder}/images"
[workload]
warehouses = 1
[storages.disk]
path = "{folder}/data"
[hosts]
database = {{ ssh = "root@192.0.2.1", name = "db", address = "192.0.2.1", python = "{python}" }}
load = {{ ray = "{controller}:6379", without = ["{controller}"] }}
"""
PLAN += f"{SHORT_LADDER}users = 5\n"


class Lab(Controller):
    """The cluster, and a plan that uses it."""

    def __init__(self, net: Hosts) -> None:
        ours = {
            "PYTHONPATH": str(RAY),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": "kneebench" * 5,
            "RAY_USAGE_STATS_ENABLED": "0",
            "XDG_CACHE_HOME": str(net.folder / "cache"),
        }
        super().__init__(net, ours)
        there = net.folder / "db"
        (there / "data").mkdir(parents=True)
        self.plan = net.folder / "plan.toml"
        self.plan.write_text(
            PLAN.format(folder=there, python=sys.executable, controller=CONTROLLER)
        )

    def start(self) -> None:
        """The head with the controller, and a node on each load host."""
        head = (
            "--head",
            "--include-dashboard=false",
            f"--node-ip-address={CONTROLLER}",
            "--port=6379",
        )
        folder = f"--temp-dir={self.folder / 'ray'}"
        self.net.run(*START, *head, folder, env=self.environment)
        for name in ("load1", "load2"):
            own = f"--node-ip-address={self.net.addresses[name]}"
            to = f"--address={CONTROLLER}:6379"
            self.net.run(*START, to, own, on=name, env=self.environment)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with namespaces.hosts("db", "load1", "load2") as net:
        (net.folder / "db").mkdir()
        net.sshd("db", {"XDG_STATE_HOME": str(net.folder / "db" / "state")})
        (net.folder / "known_hosts").write_text(net.known_hosts())
        found = Lab(net)
        found.start()
        yield found


@clustered
def test_a_killed_actor_makes_the_rung_invalid_and_it_is_measured_again(lab: Lab) -> None:
    out = lab.folder / "out"
    process = lab.kneebench("run", lab.plan, "--out", out, "--json")
    killed = 0
    said: list[str] = []
    assert process.stdout
    for line in process.stdout:
        said.append(line)
        if not killed and "measuring" in line:
            (killed,) = (
                pid
                for pid in lab.net.processes("load2")
                if b"LoadActor" in Path(f"/proc/{pid}/cmdline").read_bytes()
            )
            os.kill(killed, signal.SIGKILL)
    assert process.wait() in DONE, "".join(said[-5:])
    rungs = [*rungs_of(out).values()]
    assert len(rungs) == 3
    nodes = [lab.net.addresses[name] for name in ("load1", "load2")]
    for rung in rungs:
        hosts = rung["tally"]["hosts"]
        assert [one["name"] for one in hosts] == nodes
        orders = rung["tally"]["transactions"]["new_order"]["window"]["committed"]
        assert sum(one["new_orders"] for one in hosts) == orders > 0
        assert not [one["sentence"] for one in rung["checks"] if not one["passed"]]
    lost = [one["words"] for r in rungs for one in r["remarks"] if one["kind"] == "host_lost"]
    assert len(lost) == 1
    assert lost[0].startswith(f"host {nodes[1]} was lost ")


@clustered
@pytest.mark.parametrize("wrong", [{"RAY_AUTH_MODE": "disabled"}, {"RAY_AUTH_TOKEN": "x" * 40}])
def test_a_cluster_is_used_with_its_token_only(lab: Lab, wrong: dict[str, str]) -> None:
    process = lab.kneebench("hosts", "check", lab.plan, **wrong)
    said = process.communicate(timeout=120)[0]
    assert process.returncode == PlanError.exit_code, said
    assert "token" in said.lower()


def test_without_the_package_it_is_said_which_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kneebench.extras.find_spec", lambda name: None)
    ray = RayHosts(ray="auto")
    with pytest.raises(PlanError, match=r"kneebench\[ray\]") as refused, cluster(ray):
        pass
    database = "{ ssh = 'root@192.0.2.1', address = '192.0.2.1' }"
    plan = parse_plan(
        f"storages.disk.path = '.'\nhosts = {{ load = {{ ray = 'auto' }}, database = {database} }}"
    )
    found = planned_load_hosts(Study(plan))
    assert [(one.level, one.subject, one.do) for one in found] == [
        ("error", "load hosts", refused.value.do)
    ]
