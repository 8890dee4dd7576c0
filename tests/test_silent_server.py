"""Servers by URL that accept a connection and never log in: silent, dripping, garbage, on every
engine, for the sessions of `check` and for the load generator's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import kneebench
from kneebench._core import Address as CoreAddress
from kneebench._core import GeneratorSpec, LoadGenerator
from kneebench.cli import app
from kneebench.core_errors import ConnectError
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.errors import PlanError
from kneebench.plan import Plan
from kneebench.plan.writer import to_toml
from tests.elsewhere import certify
from tests.parameters import some
from tests.silent_peer import (
    BEHAVIOURS,
    ENGINES,
    Behaviour,
    dripping_fast,
    mutated,
    peer,
    silent,
    silent_at_once_later,
    silent_later,
)

SECRET = "not-to-be-seen"
LIMIT_S = 2.0
"""The shortest that libpq has."""
FAR_ABOVE_S = 30.0
"""Far above the limit on a busy machine, and below the time after which the peers give up."""
SLOW = {
    *("silent", "dripping", "after_the_log_in", "in_the_handshake", "dripping_in_tls"),
}
"""Those that a client must end by the clock."""
NO_LOG_IN = f"no complete log-in within {LIMIT_S:g} s"
QUICK = {
    *(f"{engine} {one}" for engine in ENGINES for one in ("silent", "zeros")),
    *("mariadb dripping", "mariadb garbage", "mariadb huge", "mariadb dripping_in_tls"),
    *("sqlserver dripping", "sqlserver garbage", "sqlserver huge", "sqlserver closing"),
    *("postgres dripping", "postgres http", "sqlserver dripping_in_tls"),
}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a server's certificate and key."""
    certify(folder := tmp_path_factory.mktemp("certificates"))
    return folder


@pytest.fixture(autouse=True)
def _short_limit(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kneebench.databases.log_in.LOG_IN_S", LIMIT_S)
    monkeypatch.setenv("HOME", str(own_place))
    for variable in ("PGPASSWORD", "MYSQL_PWD", "SQLCMDPASSWORD"):
        monkeypatch.setenv(variable, SECRET)


def plan_for(engine: str, port: int, storages: int = 1) -> Plan:
    given: dict[str, Any] = {
        "engine": engine,
        "url": f"{ENGINES[engine]}://someone@127.0.0.1:{port}/work",
    }
    if engine == "sqlserver":
        given["trust_server_certificate"] = True
    return Plan.model_validate(
        {
            "database": given,
            "workload": {"warehouses": 1},
            "storages": {f"storage {number}": {} for number in range(storages)},
        }
    )


def check(plan: Plan) -> Result:
    Path("plan.toml").write_text(to_toml(plan))
    runner = CliRunner(env={"COLUMNS": "400", "NO_COLOR": "1"})
    return runner.invoke(app, ["check", "plan.toml"])


@pytest.mark.parametrize("case", some((f"{e} {b}" for e in ENGINES for b in BEHAVIOURS), QUICK))
def test_check_ends_with_a_sentence_whatever_a_server_sends(case: str, certificates: Path) -> None:
    engine, name = case.split()
    with peer(engine, BEHAVIOURS[name], certificates) as found:
        began = time.monotonic()
        answer = check(plan_for(engine, found.port))
        took_s = time.monotonic() - began
    assert answer.exit_code == 2, answer.output
    assert took_s < FAR_ABOVE_S
    assert "internal error" not in answer.output
    assert SECRET not in answer.output
    assert len(found.accepted) <= 2, "no more than TLS, and then in the clear"
    if name in SLOW:
        assert NO_LOG_IN in answer.output


@pytest.mark.parametrize("engine", some(ENGINES, ["mariadb"]))
def test_the_python_interface_raises_the_same(engine: str, certificates: Path) -> None:
    with (
        peer(engine, BEHAVIOURS["dripping"], certificates) as found,
        pytest.raises(PlanError, match=NO_LOG_IN),
    ):
        kneebench.run(plan_for(engine, found.port))


def test_a_server_of_several_storages_is_waited_for_once(certificates: Path) -> None:
    with peer("mariadb", silent, certificates) as found:
        answer = check(plan_for("mariadb", found.port, storages=3))
    assert (answer.exit_code, len(found.accepted)) == (2, 1)


@pytest.mark.parametrize("engine", some(ENGINES, ["mariadb", "sqlserver"]))
def test_a_server_that_goes_silent_after_the_log_in_ends_check_too(
    engine: str, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kneebench.databases.external.engine.FINDING_S", LIMIT_S + 1)
    for behaviour, words in ((silent_later, ""), (silent_at_once_later, NO_LOG_IN)):
        began = time.monotonic()
        with peer(engine, behaviour, certificates) as found:
            answer = check(plan_for(engine, found.port))
        assert time.monotonic() - began < FAR_ABOVE_S
        assert "internal error" not in answer.output
        assert answer.exit_code in (1, 2), answer.output
        assert words in answer.output


def test_bytes_that_come_faster_than_the_clock_is_read_do_not_extend_a_limit(
    certificates: Path,
) -> None:
    with peer("postgres", dripping_fast, certificates) as found:
        began = time.monotonic()
        with pytest.raises(PlanError, match=NO_LOG_IN):
            connect(PostgresAddress(host="127.0.0.1", port=found.port, sslmode="disable"))
        assert time.monotonic() - began < FAR_ABOVE_S


@pytest.mark.parametrize("engine", ENGINES)
def test_a_greeting_with_changed_bytes_is_never_an_internal_error(
    engine: str, certificates: Path, seeds: Callable[[int], range]
) -> None:
    for seed in seeds(40):
        with peer(engine, mutated(seed), certificates) as found:
            plan = plan_for(engine, found.port)
            with pytest.raises(PlanError) as refused:
                kneebench.run(plan)
            assert SECRET not in str(refused.value), seed
            with pytest.raises(ConnectError) as lost:
                load_generator(engine, found.port).ready()
            assert SECRET not in str(lost.value), seed


ONE_USER = GeneratorSpec(
    users=1, warehouses=1, profile="spec", home="all", seed=1, stream=0, workers=1
)
PROTOCOLS = {"postgres": "postgres", "mariadb": "mysql", "sqlserver": "tds"}


def load_generator(engine: str, port: int) -> LoadGenerator:
    address = CoreAddress(
        protocol=PROTOCOLS.get(engine, "mysql"),
        host="127.0.0.1",
        port=port,
        user="someone",
        password=SECRET,
        database="work",
        sslmode="require" if engine == "sqlserver" else "prefer",
        sslrootcert="",
    )
    return LoadGenerator(ONE_USER, address)


@pytest.mark.parametrize("engine", PROTOCOLS)
@pytest.mark.parametrize("name", ["closing", "zeros", "http"])
def test_what_is_no_greeting_is_an_error_of_the_load_generator(
    engine: str, name: str, certificates: Path
) -> None:
    with (
        peer(engine, BEHAVIOURS[name], certificates) as found,
        pytest.raises(ConnectError) as lost,
    ):
        load_generator(engine, found.port).ready()
    assert f"127.0.0.1:{found.port}" in str(lost.value)


@pytest.mark.parametrize("engine", ["mariadb", "sqlserver"])
def test_the_load_generator_does_not_wait_for_what_a_huge_length_announces(
    engine: str, certificates: Path
) -> None:
    with (
        peer(engine, BEHAVIOURS["huge"], certificates) as found,
        pytest.raises(ConnectError, match="response is none of"),
    ):
        load_generator(engine, found.port).ready()


def _time_of(engine: str, behaviour: Behaviour, certificates: Path) -> tuple[float, str]:
    with peer(engine, behaviour, certificates) as found:
        began = time.monotonic()
        with pytest.raises(ConnectError) as lost:
            load_generator(engine, found.port).ready()
        return time.monotonic() - began, str(lost.value)


@pytest.mark.long
def test_the_load_generator_has_a_limit_of_its_own_for_a_whole_log_in(
    certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.silent_peer.DRIPS_S", 200.0)
    cases: list[tuple[str, Behaviour]]
    cases = [(engine, BEHAVIOURS[name]) for engine in PROTOCOLS for name in sorted(SLOW)]
    cases += [(engine, silent_at_once_later) for engine in PROTOCOLS]
    with ThreadPoolExecutor(len(cases)) as pool:
        waiting = [pool.submit(_time_of, *case, certificates) for case in cases]
        seen = [one.result() for one in waiting]
    for (engine, behaviour), (took_s, words) in zip(cases, seen, strict=True):
        assert 59 < took_s < 100, (engine, behaviour.__name__, words)
        assert "no complete log-in within 60 s" in words
