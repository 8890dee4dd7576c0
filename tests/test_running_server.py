"""docs/server.md and docs/hammerdb.md say what is so: their SQL, their plans and their keys, tried
on a server that runs already.
"""

# ruff: noqa: F811 (fixtures are imported, and arguments named after them)

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kneebench
from kneebench.databases.several import engine_of
from kneebench.plan import Plan
from kneebench.plan.json_schema import tables
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from tests.elsewhere import (  # noqa: F401 (fixtures)
    PASSWORD,
    Elsewhere,
    databases,
    elsewhere,
    no_password_around,
)
from tests.loaded import WITHOUT_DEBIAN

DOCS = Path(__file__).parent.parent / "docs"
URL = re.compile(r"postgresql://[^\"]+")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", ["server.md", "hammerdb.md"])
def test_every_key_that_a_page_names_is_a_key_of_the_plan(page: str) -> None:
    known = {".".join((*table.path, key.name)) for table in tables() for key in table.keys}
    named = set(re.findall(r"`((?:database|workload|ladder)\.[a-z_.]+)", (DOCS / page).read_text()))
    assert named
    assert named <= known


def test_the_defaults_that_the_page_on_hammerdb_names_are_those_of_the_plan() -> None:
    defaults = {
        ".".join((*table.path, key.name)): key.default for table in tables() for key in table.keys
    }
    rows = re.findall(
        r"^\|[^|]*\|[^|]*\| `([a-z_.]+)` \| ([^|]+) \|",
        (DOCS / "hammerdb.md").read_text(),
        re.MULTILINE,
    )
    told = {
        key: default.strip("`")
        for key, default in rows
        if key in defaults and key != "database.url"
    }
    assert len(told) > 8
    assert told == {key: defaults[key] for key in told}


def test_the_example_plans_measure_one_load_and_a_schema_of_hammerdb_from_a_copy() -> None:
    one, foreign = (parse_plan(text) for text in blocks("hammerdb.md", "toml"))
    assert (one.ladder.users, one.ladder.repeats, one.workload.home) == (16, 0, "all")
    assert (Study(foreign).only_database.restore, foreign.database.schema_from) == (
        "template",
        "hammerdb",
    )


@pytest.fixture
def granted(elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> Iterator[Elsewhere]:
    """The server with the role and the database that docs/server.md makes, both called page."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    role, _ = blocks("server.md", "sql")
    before = databases(elsewhere)
    elsewhere.execute(
        *(
            one
            for one in (
                role.replace("choose one", PASSWORD).replace(" kneebench", " page").split(";")
            )
            if one.strip()
        )
    )
    yield elsewhere
    elsewhere.execute(
        *(f"DROP DATABASE {name} WITH (FORCE)" for name in databases(elsewhere) - before),
        "DROP OWNED BY page",
        "DROP ROLE page",
    )


def small(plan: Plan, url: str) -> Plan:
    """A plan of the docs at this server, with one warehouse and one short load."""
    said: dict[str, Any] = plan.model_dump(exclude_unset=True)
    ladder = {
        "users": 2,
        "repeats": 0,
        "warm_up": 1.0,
        "window": 1.0,
        "final_window": 1.0,
        "checkpoints": 0,
    }
    return Plan.model_validate(
        {
            **said,
            "database": {**said["database"], "url": url},
            "workload": {"warehouses": 1},
            "ladder": ladder,
            "meters": ["cores"],
        }
    )


@pytest.mark.postgres15
@WITHOUT_DEBIAN
def test_the_role_of_the_page_may_do_all_and_only_the_image_stays(
    granted: Elsewhere, tmp_path: Path
) -> None:
    url = granted.url("page", user="page")
    plan = small(kneebench.preset("running"), url)
    before = databases(granted)
    found = engine_of(Study(plan).databases, granted.journal).findings()
    assert [finding for finding in found if finding.level in ("warning", "error", "refused")] == []
    results = kneebench.run(plan, folder=tmp_path)
    assert results.finished
    assert [climb.configuration.storage for climb in results.climbs] == ["server"]
    assert not any(
        "CHECKPOINT" in note
        for climb in results.climbs
        for rung in climb.rungs
        for note in rung.notes
    )
    (image,) = databases(granted) - before
    assert image.startswith("kneebench_image_")
    _, listing = blocks("server.md", "sql")
    assert image in {name for name, _ in granted.execute(listing)}
    assert granted.execute(
        "SELECT count(*) FROM pg_class WHERE relname = 'order_line'", database="page"
    ) == [(0,)]
