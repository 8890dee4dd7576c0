"""For all tests: the options --long and --write-snapshots, and a directory of their own for
examples in docstrings, which may write.
"""

import gc
from collections.abc import Callable

import pytest
from _pytest.doctest import DoctestItem
from hypothesis import HealthCheck, settings

# A machine that stands still for a second is no slow strategy.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# Nothing that is imported and collected is garbage: searching it takes a third of that time.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again, but not among what stays until the end."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Collect at exit what stayed until then: nanobind reports its objects that are not, such as
    those of a DuckDB that tests have imported.
    """
    gc.unfreeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --long and --write-snapshots."""
    parser.addoption(
        "--long", action="store_true", help="all seeds of simulations and all steps of kills"
    )
    parser.addoption(
        "--write-snapshots", action="store_true", help="write what people read anew, to be reviewed"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what is marked as long, unless that was asked for."""
    if item.get_closest_marker("long") and not item.config.getoption("--long"):
        pytest.skip("takes long: make test-long")


@pytest.fixture(scope="session")
def seeds(request: pytest.FixtureRequest) -> Callable[[int], range]:
    """So many seeds with --long, else a quarter of them."""
    long = bool(request.config.getoption("--long"))
    return lambda count: range(count if long else count // 4)


@pytest.fixture(autouse=True)
def _directory_of_its_own(request: pytest.FixtureRequest) -> None:
    if isinstance(request.node, DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
