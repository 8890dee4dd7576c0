"""Calls from Python that a first try gets wrong: each error says what is wrong and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import kneebench
from kneebench.records import Series
from kneebench.results.parquet import write_series
from kneebench.results.tables import read_series
from tests.simulated_campaign import plan

SEPARATE = r"quantities are separate texts: series\('a', 'b'\)"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> kneebench.Results:
    return kneebench.run(plan(), tmp_path_factory.mktemp("campaigns"))


@pytest.mark.parametrize("given", [["log.write_latency", "cores.busy"], 5, None])
def test_quantities_that_are_no_texts_are_a_type_error(
    results: kneebench.Results, given: object
) -> None:
    with pytest.raises(TypeError, match=SEPARATE):
        results.series(given)


def test_a_wrong_query_of_our_own_is_not_called_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "series.parquet"
    write_series(file, [Series(quantity="a", source="", unit="s", at_s=(1.0,), value=(2.0,))])
    nested: Any = [["a"]]
    with pytest.raises(duckdb.BinderException):
        read_series(file, nested)


def test_what_follows_the_folder_of_a_run_is_given_by_name(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="positional argument"):
        kneebench.run(plan(), tmp_path, True)
