"""A campaign with a meter of each kind, read from peers that play a secret curve with disturbances:
its energy is that of the peers' own count, and the disturbed windows have none.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from kneebench import Brief, run
from kneebench.plan import Plan
from kneebench.records import Event, Results
from kneebench.units import power
from tests.power_peers import COMMUNITY, SECRET, SNMPD, USER, Peers, Truth

PLAN: dict[str, Any] = {
    "question": "What do all meters show?",
    "workload": {"warehouses": 1},
    "ladder": {
        "users": 2,
        "warm_up": "2s",
        "final_window": "20s",
        "checkpoints": 0,
        "rounds": "short",
        "restore_every": 8,
        "fixed_rate_share": 0,
    },
    "storages": {"disk": {"path": "disk"}},
}
DISTURBED_IN = {2: "gap", 4: "frozen", 7: "sentinel"}
"""The round in which each begins."""
SURELY_S = {"gap": 5.0, "frozen": 2.0, "sentinel": 1.5}
"""A window that has so much of one cannot be measured."""
UNNOTICED_S = 24.0
"""So long a meter may do not change before it is noticed."""
STALLED = "more than once"
"""Of a counter that this machine, which runs other tests, read too seldom for a moment."""
REASONS = {
    "gap": ("no reading", STALLED),
    # At its end the counter jumps.
    "frozen": ("did not change", "(at most", "less than a tenth of idle", STALLED),
    "sentinel": ("stands for no value", "went back", "beyond", "is above", "rose by", STALLED),
}
CLOSE = 0.02
"""What is not refused is as near to the truth as this, also on a machine that is busy."""


def meters(peers: Peers) -> list[dict[str, Any]]:
    ports, folder = peers.ports, peers.folder
    here = {"address": "127.0.0.1", "every": "200ms"}
    pdu = {**here, "type": "snmp", "port": ports.snmp, "pdu": "apc-outlet", "outlet": [3, 4]}
    known = {"user": USER, "password_variable": "PEERS_SECRET"}
    web = {"certificate_file": str(folder / "bmc.pem"), "every": "200ms"}
    found = [
        {**here, **known, "name": "bmc", "type": "ipmi", "port": ports.ipmi},
        {
            **known,
            **web,
            "name": "redfish",
            "type": "redfish",
            "address": f"https://127.0.0.1:{ports.redfish}",
        },
        {**pdu, "name": "pdu v2c", "password_variable": "PEERS_COMMUNITY"},
        {**pdu, **known, "name": "pdu v3"},
        {"name": "cpu", "type": "rapl", "sysfs": str(folder / "sys")},
        {**here, "name": "analyser", "type": "ptd", "port": ports.ptd},
        {
            "name": "document",
            "type": "http",
            "scope": "wall",
            "url": f"http://127.0.0.1:{ports.http}/meter",
            "pointer": "/meter/0/total_kJ",
            "unit": "kJ",
        },
        {
            "name": "program",
            "type": "command",
            "scope": "wall",
            "command": ["python3", str(folder / "program.py")],
        },
    ]
    return [one for one in found if ports.snmp or one["type"] != "snmp"]


def campaign(place: Path, peers: Peers, repeats: int, disturbed: bool) -> Results:
    plan = {
        **PLAN,
        "power": {
            "meters": meters(peers),
            "headline": "document",
            "idle": "5s",
            "load_step": False,
        },
        "database": {"base_image_path": str(place / "image")},
    }
    plan["ladder"] = {**PLAN["ladder"], "repeats": repeats}
    measuring = [False]

    def watch(event: Event) -> None:
        """A round that other processes disturbed is measured again, and then disturbed again."""
        order = event.data.get("order")
        if isinstance(order, dict):
            before, measuring[0] = measuring[0], event.doing.endswith(": measuring")
            kind = DISTURBED_IN.get(order["repeat"], "")
            if kind and disturbed and measuring[0] and not before:
                peers.disturb(kind)

    return run(Plan.model_validate(plan), place / "out", watch=watch, fresh=True)


def overlap(a: tuple[float, float], b: tuple[float, float]) -> float:
    return min(a[1], b[1]) - max(a[0], b[0])


def expected(truth: Truth, begin: float, end: float) -> str | None:
    """The disturbance that a window must be invalid for; empty for one without any; None where a
    little of one may go unnoticed.
    """
    found: str | None = ""
    for kind, start, stop in truth.disturbed:
        seen = overlap((begin, end), (start, stop))
        since = start + UNNOTICED_S if kind == "frozen" else start
        noticed = overlap((begin, end), (since, stop))
        if noticed >= SURELY_S[kind]:
            return kind
        if seen > -1.5:
            found = None
    return found


@pytest.fixture
def place(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (own_place / "disk").mkdir()
    monkeypatch.setenv("PEERS_SECRET", SECRET)
    monkeypatch.setenv("PEERS_COMMUNITY", COMMUNITY)
    return own_place


def words_of(folder: Path) -> str:
    texts = (file for file in folder.rglob("*") if file.suffix in (".json", ".jsonl", ".html"))
    return "\n".join(file.read_text() for file in texts)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(not shutil.which("ipmitool"), reason="needs ipmitool")
def test_energy_is_that_of_the_peers_and_disturbed_windows_have_none(place: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    with Peers(seed, place / "peers") as peers:
        results = campaign(place, peers, 8, disturbed=True)
        named = {one["name"] for one in meters(peers)}
        truth = peers.truth()
    rungs = [rung for climb in results.climbs for rung in climb.of("final_run")]
    valid: list[str] = []
    judged = {"": 0, **dict.fromkeys(DISTURBED_IN.values(), 0)}
    for rung in rungs:
        assert rung.power and {one.meter for one in rung.power.meters} == named
        begin, end = rung.power.began_at, rung.power.ended_at
        kind = expected(truth, begin, end)
        if kind is None:
            continue
        judged[kind] += 1
        joules = truth.joules(begin, end)
        for one in rung.power.meters:
            said = f"{rung.order.key} ({kind or 'undisturbed'}), {one.meter}: {one}"
            if kind:
                assert one.watts is None, said
                assert any(word in one.why for word in REASONS[kind]), said
            elif STALLED not in one.why:
                valid.append(one.meter)
                assert not one.why, said
                assert one.joules == pytest.approx(joules, rel=CLOSE), f"{said}; true {joules}"
        assert (rung.quantity("system.power") is None) == bool(kind)
    assert min(judged.values()) >= 1, judged
    assert set(valid) == named
    [folder] = (place / "out").iterdir()
    assert not [secret for secret in (SECRET, COMMUNITY) if secret in words_of(folder)]


@pytest.mark.skipif(not SNMPD.exists(), reason="needs snmpd (make debian)")
def test_the_peers_have_a_pdu_of_both_versions(tmp_path: Path) -> None:
    with Peers(1, tmp_path / "peers") as peers:
        assert {"pdu v2c", "pdu v3"} <= {one["name"] for one in meters(peers)}


def fixed_watts(place: Path, seed: int) -> tuple[str, str]:
    """The power of a short campaign beside peers of a seed, as its brief prints it; and the peers'
    own count.
    """
    with Peers(seed, place / f"peers-{seed}") as peers:
        results = campaign(place, peers, 0, disturbed=False)
        truth = peers.truth()
    [rung] = results.climbs[0].of("fixed_load")
    assert rung.power
    own = truth.joules(rung.power.began_at, rung.power.ended_at) / rung.power.seconds
    assert rung.quantity("system.power") == pytest.approx(own, rel=CLOSE)
    [section] = [one for one in Brief(results).sections if one.name == "power"]
    [row] = section.tables[0].rows
    return row.cells[3], power(own)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.skipif(not shutil.which("ipmitool"), reason="needs ipmitool")
def test_another_curve_gives_another_brief(place: Path) -> None:
    printed, own = zip(*(fixed_watts(place, seed) for seed in (11, 12)), strict=True)
    assert printed[0] != printed[1]
    assert own[0] != own[1]
