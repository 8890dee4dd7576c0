"""A MariaDB that somebody else runs, with TLS and passwords; and one of ours, with a warehouse."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kneebench.databases.engines.mariadb.builds import PLACES, PROGRAM, find_build
from kneebench.databases.engines.mariadb.image import make_cluster
from kneebench.databases.engines.mariadb.launcher import Launch, RunningMariadb
from kneebench.databases.engines.mariadb.server_settings import SETTINGS
from kneebench.databases.innodb.builds import InnodbBuild, server_account
from kneebench.databases.innodb.image import configure
from kneebench.databases.innodb.launcher import InnodbFiles, RunningInnodb
from kneebench.databases.innodb.server import InnodbServer
from kneebench.databases.innodb.server_address import SOCKET, InnodbAddress
from kneebench.databases.innodb.server_settings import ProductSettings
from kneebench.databases.innodb.session import answers, connect
from kneebench.databases.managed.ownership import home
from kneebench.databases.managed.runtime import runtime_directory
from kneebench.databases.several import engine_of
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration
from tests.elsewhere import certify
from tests.loaded import shared_images, unwatched

PASSWORD = "correct:horse@battery"
INSTALLED = any((place / PROGRAM.name).exists() for place in PLACES)
WITHOUT_MARIADB = pytest.mark.skipif(not INSTALLED, reason="Debian's MariaDB is not installed")
SMALL_LOG = {"innodb_log_file_size": "64M"}
"""Settings of a plan whose databases are restored often and used for seconds."""
USERS = (
    f"CREATE USER tester@'127.0.0.1' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL",
    r"GRANT ALL PRIVILEGES ON `kneebench\_%`.* TO tester@'127.0.0.1'",
    "GRANT PROCESS ON *.* TO tester@'127.0.0.1'",
    r"GRANT SELECT ON `performance\_schema`.* TO tester@'127.0.0.1'",
    f"CREATE USER poor@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
)


class Product(NamedTuple):
    """MariaDB, or MySQL: how its server is made."""

    engine: str
    build: InnodbBuild
    running: type[RunningInnodb]
    settings: ProductSettings
    make: Callable[[Launch, Folder], None]


def mariadb() -> Product:
    return Product("mariadb", find_build(None), RunningMariadb, SETTINGS, make_cluster)


class MariadbElsewhere:
    """A server that somebody else runs."""

    def __init__(self, product: Product, launch: Launch, port: int, root: Path, journal: Journal):
        self.product, self.launch, self.journal = product, launch, journal
        self.port, self.root = port, root
        self.files = InnodbFiles.within(launch.runtime / "data")
        here, user = str(launch.runtime / "socket"), product.running.user
        self.address = InnodbAddress(host=here, user=user)
        self.start()

    def start(self, *before: str) -> None:
        """By a command before the server's own, if there is one."""
        command, more = self.product.running.command(self.launch, self.files)
        command = [*before, *command]
        with (self.launch.runtime / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, **more)
        until = time.monotonic() + 60
        while not answers(self.address):
            assert self.process.poll() is None and time.monotonic() < until
            time.sleep(0.05)

    def kill(self, *before: str) -> None:
        """As the kernel does it when memory runs out; then whoever runs it starts it again."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
        self.start(*before)

    def url(self, database: str = "", *, user: str = "tester", **parameters: object) -> str:
        given = {"sslmode": "verify-full", "sslrootcert": self.root, **parameters}
        query = "&".join(f"{key}={value}" for key, value in given.items() if value)
        return f"{self.product.engine}://{user}@localhost:{self.port}/{database}?{query}"

    def plan(self, url: str, **database: Any) -> Plan:
        given = {
            "database": {"engine": self.product.engine, "url": url, **database},
            "workload": {"warehouses": 1},
            "ladder": {"users": (1, 64)},
            "storages": {"there": {}},
        }
        return Plan.model_validate(given)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        with connect(self.address) as session:
            return [session.rows(statement) for statement in statements][-1]

    @contextlib.contextmanager
    def with_setting(self, name: str, value: str) -> Iterator[None]:
        [(before,)] = self.execute(f"SELECT @@GLOBAL.{name}")
        self.execute(f"SET GLOBAL {name} = {value}")
        try:
            yield
        finally:
            self.execute(f"SET GLOBAL {name} = {before}")

    def databases(self) -> set[str]:
        return {str(name) for (name,) in self.execute("SHOW DATABASES")}


@contextlib.contextmanager
def another_server(
    folder: Path, product: Product | None = None, **more: str
) -> Iterator[MariadbElsewhere]:
    """On a port of its own, with a user that may do what is needed and nothing more, and with more
    settings.
    """
    journal, account = Journal(folder / "journal"), server_account()
    root, certificate, key = certify(folder)
    with runtime_directory(journal, account, SOCKET) as runtime, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        product = product or mariadb()
        launch = Launch(product.build, account, runtime)
        data = home(runtime, "data", account)
        settings = {
            "bind_address": "127.0.0.1",
            "port": str(port),
            "skip_name_resolve": "ON",
            "ssl_cert": str(data / certificate.name),
            "ssl_key": str(data / key.name),
            "performance_schema": "ON",
            "performance_schema_consumer_events_waits_current": "ON",
            "innodb_buffer_pool_size": "256M",
            "innodb_flush_log_at_trx_commit": "1",
            **more,
        }
        with Folder.at(data) as made:
            for file in (certificate, key):
                made.put(file.name, file.read_text(), account and account.owner)
            configure(made, product.settings.text(settings), account)
            product.make(launch, made)
        there = MariadbElsewhere(product, launch, port, root, journal)
        try:
            there.execute(*USERS)
            yield there
            assert there.process.poll() is None, "the server of another was stopped"
        finally:
            there.process.kill()
            there.process.wait(30)


@pytest.fixture(scope="module")
def mariadb_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariadbElsewhere]:
    with another_server(tmp_path_factory.mktemp("mariadb")) as there:
        yield there


@pytest.fixture(autouse=True)
def no_mysql_password_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MYSQL_PWD", raising=False)


@contextlib.contextmanager
def restored_mariadb(folder: Path) -> Iterator[InnodbServer]:
    """A server of ours with one warehouse, restored in a folder."""
    given = {"engine": "mariadb", "base_image_path": shared_images(), "settings": SMALL_LOG}
    plan = {
        "database": given,
        "workload": {"warehouses": 1},
        "ladder": {"users": (1, 16)},
        "storages": {"here": {"path": folder}},
    }
    engine = engine_of(Study(Plan.model_validate(plan)).databases, Journal(folder / "journal"))
    with engine.restored(Configuration(id="here", storage="here"), unwatched) as running:
        assert isinstance(running, InnodbServer)
        yield running
