"""What the benchmarks are made of: scripts that keep the mix, turns that alternate, servers that
are loaded, judged and removed.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import psutil
import pytest

from bench.ratio import Size
from bench.scripts import MIX, constant_scripts, random_scripts
from bench.servers import loaded
from bench.turn import in_turn
from kneebench.plan.workload import Workload


@pytest.mark.parametrize(
    "scripts",
    [lambda folder: constant_scripts(folder, 10, 1), lambda folder: random_scripts(folder, 10)],
    ids=["constant", "random"],
)
def test_the_weights_of_the_scripts_keep_the_mix(scripts, tmp_path):
    given = [word for word in scripts(tmp_path) if word != "-f"]
    weights = Counter[str]()
    for word in given:
        file, weight = word.split("@")
        (kind,) = re.findall(r"kneebench\.(\w+)\(", Path(file).read_text())
        weights[kind] += int(weight)
    assert len(given) <= 128
    assert {
        kind: weight * sum(MIX.values()) / weights.total() for kind, weight in weights.items()
    } == MIX


def test_sides_take_turns_forwards_and_backwards():
    order = []
    found = in_turn(
        3, lambda: order.append("a") or len(order), lambda: order.append("b") or len(order)
    )
    assert "".join(order) == "abbaab" and found == [[1, 4, 5], [2, 3, 6]]


def test_a_benchmarks_server_is_judged_and_leaves_nothing(tmp_path):
    with loaded(
        Size(quick=True), Workload(warehouses=1), {"shared_buffers": "128MB"}, place=tmp_path
    ) as server:
        server.require_consistent()
        assert server.cpu_s() > 0 and server.log_bytes() > 0
        server.run("UPDATE public.warehouse SET w_ytd = w_ytd + 1")
        with pytest.raises(RuntimeError, match="Consistency condition 1 "):
            server.require_consistent()
        family = server.process.family()
    assert not any(psutil.pid_exists(pid) for pid in family) and not list(tmp_path.iterdir())
