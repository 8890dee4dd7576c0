"""One short campaign on two real databases: the embedded PostgreSQL 18 and Debian's 15, their
servers side by side.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench import run
from kneebench.analysis.databases import database_rows
from kneebench.analysis.outcome import conditions
from kneebench.brief import Brief
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.records import Results
from kneebench.results import compare_campaigns
from tests.loaded import DEBIAN, WITHOUT_DEBIAN, shared_images
from tests.recordings import section

pytestmark = [pytest.mark.postgres15, WITHOUT_DEBIAN, pytest.mark.long]


LADDER = {
    "users": 2,
    "warm_up": "1s",
    "window": "1s",
    "final_window": "1s",
    "checkpoints": 0,
    "rounds": "short",
    "repeats": 2,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """Measured in memory, in a directory that the server's account can enter."""
    images = {"base_image_path": str(shared_images()), "page_cache": "warm"}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        Path(memory).chmod(0o755)
        plan = Plan.model_validate(
            {
                "databases": {"18": images, "15": {**images, "bin_dir": str(DEBIAN)}},
                "workload": {"warehouses": 1},
                "ladder": LADDER,
                "storages": {"memory": {"path": memory}},
            }
        )
        for _ in range(6):  # a busy machine disturbs windows of a second
            results = run(plan, tmp_path_factory.mktemp("results"))
            if all(climb.stopped_by != "invalid" for climb in results.climbs):
                break
        yield results


def test_two_versions_are_measured_in_turn_and_nothing_is_left(results: Results) -> None:
    assert results.finished and not Journal().leftovers()
    assert [climb.configuration.name for climb in results.climbs] == ["memory, 18", "memory, 15"]
    for climb in results.climbs:
        checks = [check for _, some in conditions(climb) for check in some]
        assert len(checks) >= 24 and all(check.passed for check in checks)
    rounds = [rung for climb in results.climbs for rung in climb.of("final_run")]
    order = [rung.order.configuration for rung in sorted(rounds, key=lambda rung: rung.started_at)]
    assert order == ["memory-18", "memory-15", "memory-15", "memory-18"]
    for version in ("15", "18"):
        assert results.campaign.image_of(version)["key"].startswith(f"postgres-{version}")


def test_they_are_compared_as_databases_with_the_settings_of_each(results: Results) -> None:
    eighteen, fifteen = database_rows(results)
    assert {"log.write_latency", "server.cpu_per_transaction"} <= {*fifteen.figures}
    undisturbed = not any(rung.invalid for climb in results.climbs for rung in climb.rungs)
    assert "nopm" in fifteen.figures or not undisturbed
    assert {*fifteen.against} <= {*eighteen.figures}
    engines = section(Brief(results), "databases").tables[0]
    assert [row.cells[:2] for row in engines.rows] == [
        ("18", "PostgreSQL 18"),
        ("15", "PostgreSQL 15"),
    ]
    assert "shared_buffers = " in engines.rows[1].cells[2]
    assert len(compare_campaigns([results, results])) == 4, "versions are compared by database"
