"""How a climb gets its database when the plan does not say so: by kind of server, kept as it was
done; and the storage that a URL stands for.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kneebench.databases.engines.postgres.remote import RemotePostgres
from kneebench.databases.several import engine_of
from kneebench.errors import PlanError
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.json_schema import plan_schema
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from kneebench.plan.writer import to_toml
from kneebench.results import Store
from kneebench.results.compare_plans import compare_plans
from tests.recordings import recorded_host

URL = 'database.url = "postgresql://me@db.example/x"\n'
CASES = {
    "ours": ('storages.disk.path = "."\n', "copy"),
    "url": (URL, "template"),
    "hammerdb": (f'{URL}database.schema_from = "hammerdb"\n', "none"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_default_is_resolved_by_the_kind_of_server_kept_so_and_may_be_written(
    case: str, tmp_path: Path
) -> None:
    text, done = CASES[case]
    plan = parse_plan(text)
    assert Study(plan).only_database.restore == done
    for said in ("auto", done):
        assert (
            Study(parse_plan(f'{text}database.restore = "{said}"\n')).only_database.restore == done
        )
    engine = engine_of(
        Study(parse_plan(f'{text}database.restore = "{done}"\n')).databases,
        Journal(tmp_path / "journal"),
    )
    assert not isinstance(engine, RemotePostgres) or engine.how == done
    kept = json.loads(
        (Store.create(tmp_path, Study(plan), recorded_host()).folder / "campaign.json").read_text()
    )["plan"]
    assert kept["database"]["restore"] == done
    assert (
        compare_plans(kept, Study(plan).document)
        == compare_plans(
            Study(plan).document, Study(parse_plan(f'{text}database.restore = "{done}"\n')).document
        )
        == []
    )
    assert Study(parse_plan(to_toml(Plan.model_validate(kept)))).only_database.restore == done


@pytest.mark.parametrize("how", ["copy", "clone"])
def test_files_of_a_server_by_url_cannot_be_copied_and_the_plan_is_told_its_line(
    how: str, tmp_path: Path
) -> None:
    with pytest.raises(
        PlanError, match=r'plan, line 2: database\.restore\n.*\n.*"template", "command" or "none"'
    ):
        parse_plan(f'{URL}database.restore = "{how}"\n')
    with pytest.raises(PlanError, match="needs the server's files"):
        engine_of(
            Study(
                Plan.model_validate({"database": {"url": "postgresql:///x", "restore": how}})
            ).databases,
            Journal(tmp_path),
        )


def test_a_plan_with_a_server_by_url_needs_no_storages() -> None:
    plan = parse_plan(URL)
    assert Study(plan).only_database.urls == {"server": "postgresql://me@db.example/x"}
    assert plan.base == "server"
    assert parse_plan(to_toml(plan)) == plan
    assert parse_plan(f'baseline = "server"\n{URL}') == plan.model_copy(
        update={"baseline": "server"}
    )


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (URL, True),
        ('storages.disk.path = "."', True),
        ("seed = 1", False),
        ('database.restore = "copy"', False),
    ],
)
def test_the_schema_asks_for_storages_or_a_url_as_the_reader_does(text: str, fits: bool) -> None:
    values: dict[str, Any] = tomllib.loads(text)
    validator = jsonschema.Draft202012Validator(plan_schema())
    assert validator.is_valid(values) == fits
    if not fits:
        with pytest.raises(PlanError, match="storages"):
            parse_plan(text)
