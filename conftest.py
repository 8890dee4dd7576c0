"""For all tests: the option --long, and a directory of their own for examples in docstrings, which
may write.
"""

from collections.abc import Callable

import pytest
from _pytest.doctest import DoctestItem


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --long."""
    parser.addoption(
        "--long", action="store_true", help="all seeds of simulations and all steps of kills"
    )


@pytest.fixture(scope="session")
def seeds(request: pytest.FixtureRequest) -> Callable[[int], range]:
    """So many seeds with --long, else a quarter of them."""
    long = bool(request.config.getoption("--long"))
    return lambda count: range(count if long else count // 4)


@pytest.fixture(autouse=True)
def _directory_of_its_own(
    request: pytest.FixtureRequest, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(request.node, DoctestItem):
        monkeypatch.chdir(str(tmp_path))
