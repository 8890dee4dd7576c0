"""What all tests need: a state directory of their own, servers to share, the slowest files first,
and Ctrl-C that works.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import runpy
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench.brief import drawing, rendering
from tests import leftovers
from tests.cpu_time import CpuTime, Note
from tests.leftovers import MEMORY
from tests.loaded import Servers

SLOWEST = (
    *("installed_wheel", "campaign_drives", "campaign_postgres", "volumes", "database_host"),
    *("load_hosts", "bench", "engine_contract", "postgres_url", "cli", "kills", "stopping"),
    *("postgres_engine", "loading", "partitions", "frozen", "hung_server", "several_postgres"),
)
"""Test files that take longest, in that order: of several processes none begins with one of them
when the others are done."""

signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # a shell has jobs in the background ignore it

# Several processes run tests at once, and each is a machine of its own to kneebench: one journal,
# one running campaign.
_STATE = leftovers.folder("state")
os.environ["XDG_STATE_HOME"] = _STATE
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)

# Base images are shared: the first process makes the directory, those that it starts inherit it. In
# memory, if there is room: every restore copies one.
_ROOM_BYTES = 4 * 2**30
if "KNEEBENCH_TESTS_IMAGES" not in os.environ:
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > _ROOM_BYTES
    os.environ["KNEEBENCH_TESTS_IMAGES"] = leftovers.folder("images", MEMORY if roomy else None)
    atexit.register(shutil.rmtree, os.environ["KNEEBENCH_TESTS_IMAGES"], ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    worker = hasattr(config, "workerinput")
    if not worker:
        leftovers.remove()
        os.environ["KNEEBENCH_TESTS_CPU"] = leftovers.folder("cpu")
        atexit.register(shutil.rmtree, os.environ["KNEEBENCH_TESTS_CPU"], ignore_errors=True)
    folder = Path(os.environ["KNEEBENCH_TESTS_CPU"])
    if not worker:
        config.pluginmanager.register(CpuTime(folder, long=config.getoption("--long")))
    if worker or not config.getoption("numprocesses"):
        config.pluginmanager.register(Note(folder))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest files first, the others as they were."""
    order = {f"test_{name}": place for place, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.fixture
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in, with a state directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture(scope="session", autouse=True)
def drawn_once() -> Iterator[None]:
    """Pages are drawn in this process, and each figure once: a drawing process for every page would
    start a JavaScript engine each time. `test_drawing_process` has its own.
    """
    with pytest.MonkeyPatch.context() as here:
        here.setattr(rendering, "_started", lambda: None)
        remembered = functools.lru_cache(maxsize=2000)(drawing._converted)
        here.setattr(drawing, "_converted", remembered)
        yield


BLANK = """
from pathlib import Path

def vegalite_to_svg(*specification, **options):
    return '<svg width="400" height="300" viewBox="0 0 400 300"></svg>'

def vegalite_to_pdf(*specification, **options):
    return Path(__file__).with_name("blank.pdf").read_bytes()
"""


@pytest.fixture(scope="session")
def blank_drawer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that on PYTHONPATH has all figures blank, for processes whose pages have figures
    that nobody looks at: to draw them takes longer than a short campaign.
    """
    import vl_convert

    folder = tmp_path_factory.mktemp("blank")
    (folder / "blank.pdf").write_bytes(vl_convert.vegalite_to_pdf({"mark": "point"}))
    (folder / "vl_convert.py").write_text(BLANK)
    return folder


@pytest.fixture
def blank_figures(blank_drawer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have blank figures, also those of processes that a test starts."""
    monkeypatch.setenv("PYTHONPATH", str(blank_drawer))
    svg = runpy.run_path(str(blank_drawer / "vl_convert.py"))["vegalite_to_svg"]().encode()
    monkeypatch.setattr(drawing, "_converted", lambda form, specification: svg)


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Servers that tests share; a test gets a database of its own."""
    with contextlib.ExitStack() as stack:
        yield Servers(tmp_path_factory.mktemp, stack)
