"""The control connection to a SQL Server: TLS inside TDS, verified or trusted; errors with their
numbers and remedies; passwords.
"""

from __future__ import annotations

import socket
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from kneebench.databases.engine import core_address
from kneebench.databases.engines.sqlserver.address import address_of, explained
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.session import SqlError, connect
from kneebench.databases.engines.sqlserver.table import SqlServerDatabase
from kneebench.databases.engines.sqlserver.tls import context_of
from kneebench.errors import PlanError
from tests.elsewhere import certify
from tests.tds_peer import DONE, FAILED, Answers, Peer, error, peer, rows


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """(root, certificate for localhost, key)."""
    return certify(tmp_path_factory.mktemp("certificates"))


def answers(batch: str) -> bytes:
    if "@@SPID" in batch:
        return rows((51,))
    if batch.startswith("BACKUP"):
        words = "Cannot open backup device 'x'. Operating system error 5(Access is denied.)."
        informed = error(4035, "Processed 0 pages.", severity=0)
        return (
            informed
            + error(3201, words)
            + error(3013, "BACKUP is terminating abnormally.")
            + FAILED
        )
    return rows((7, "seven"), (8, "eight")) if batch.startswith("SELECT") else DONE


def address(port: int, certified: tuple[Path, Path, Path], **changed: object) -> SqlServerAddress:
    given = {"host": "localhost", "port": port, "user": "bench", "database": "tpcc"}
    given |= {"password": SecretStr("pässword"), "sslrootcert": str(certified[0])}
    return SqlServerAddress.model_validate({**given, **changed})


def answered(
    certified: tuple[Path, Path, Path], given: Answers = answers, login: bytes | None = None
) -> AbstractContextManager[Peer]:
    return peer(certified[1], certified[2], given, login)


def test_a_verified_connection_runs_batches_and_reads_their_rows(
    certified: tuple[Path, Path, Path],
) -> None:
    with answered(certified) as there, connect(address(there.port, certified)) as session:
        assert session.spid == 51
        assert session.execute("SELECT 1") == [(7, "seven"), (8, "eight")]
        assert session.table("SELECT 1").columns == ["column0", "column1"]
        assert session.execute("CHECKPOINT") == []
    assert there.batches[:2] == ["SELECT @@SPID", "USE [master]"]


def test_a_certificate_for_another_name_is_not_trusted_and_the_remedies_are_told(
    certified: tuple[Path, Path, Path],
) -> None:
    with answered(certified) as there, pytest.raises(PlanError) as refused:
        connect(address(there.port, certified, host="127.0.0.1"))
    assert "IP address mismatch" in refused.value.seen
    assert "trust_server_certificate = true" in refused.value.do
    assert "subjectAltName=IP:127.0.0.1" in refused.value.do


def test_the_control_session_offers_no_cipher_that_the_load_generator_lacks() -> None:
    trusting = SqlServerAddress(host="db.example", user="bench", database="tpcc", sslmode="require")
    offered = {one["name"] for one in context_of(trusting).get_ciphers()}
    assert {"ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"} <= offered
    kinds = ("ECDHE-RSA-", "ECDHE-ECDSA-", "TLS_")
    assert all(one.startswith(kinds) and ("GCM" in one or "CHACHA" in one) for one in offered)


def test_a_certificate_with_only_a_common_name_is_refused_as_the_load_generator_does(
    tmp_path: Path,
) -> None:
    certificate, key = tmp_path / "server.crt", tmp_path / "server.key"
    made = ["-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2"]
    command = ["openssl", "req", "-x509", *made, "-subj", "/CN=localhost"]
    subprocess.run(command, check=True, capture_output=True)
    with answered((certificate, certificate, key)) as there, pytest.raises(PlanError) as refused:
        connect(address(there.port, (certificate, certificate, key)))
    assert "certificate verify failed" in refused.value.seen
    assert "-addext subjectAltName=DNS:localhost" in refused.value.do


def test_a_certificate_of_an_unknown_issuer_is_not_trusted_unless_the_plan_says_so(
    certified: tuple[Path, Path, Path],
) -> None:
    with answered(certified) as there:
        with pytest.raises(PlanError, match="certificate verify failed"):
            connect(address(there.port, certified, sslrootcert=""))
        trusting = address(there.port, certified, host="127.0.0.1", sslmode="require")
        with connect(trusting) as session:
            assert session.spid == 51


def test_a_refused_login_is_reported_with_the_servers_words(
    certified: tuple[Path, Path, Path],
) -> None:
    denied = error(18456, "Login failed for user 'bench'.", 14) + FAILED
    with answered(certified, login=denied) as there, pytest.raises(PlanError) as refused:
        connect(address(there.port, certified))
    assert "Login failed for user 'bench'." in refused.value.seen
    assert "SQLCMDPASSWORD or password_file" in refused.value.do


def test_of_the_messages_of_a_failed_statement_the_one_that_says_why_decides(
    certified: tuple[Path, Path, Path],
) -> None:
    with answered(certified) as there, connect(address(there.port, certified)) as session:
        with pytest.raises(SqlError) as failed:
            session.execute("BACKUP DATABASE x TO DISK = 'x'")
        assert failed.value.number == 3201
        remedy = pytest.raises(PlanError, match=r"error 3201.*account of the SQL Server service")
        with remedy, explained("backing up", session.address):
            session.execute("BACKUP DATABASE x TO DISK = 'x'")
        assert session.execute("SELECT 1")[0] == (7, "seven")


def test_a_server_that_is_not_there_is_reported_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(PlanError, match=r"refused.*start the server"):
        connect(SqlServerAddress(host="127.0.0.1", port=port, user="bench", database="tpcc"))


def test_a_connection_that_is_lost_is_told_from_a_refusal(
    certified: tuple[Path, Path, Path],
) -> None:
    def ending(batch: str) -> bytes:
        if batch.startswith("SELECT 1"):
            raise ConnectionResetError
        return answers(batch)

    with answered(certified, ending) as there, connect(address(there.port, certified)) as session:
        with pytest.raises(SqlError) as lost:
            session.execute("SELECT 1")
        assert lost.value.lost


# --- addresses and passwords ----------------------------------------------------------------------


def table(**given: object) -> SqlServerDatabase:
    return SqlServerDatabase.model_validate({"engine": "sqlserver", **given})


def test_the_password_comes_from_the_file_or_the_environment_and_stays_out_of_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQLCMDPASSWORD", "hush")
    url = "sqlserver://bench@db/tpcc"
    found = address_of(url, table())
    assert found.password
    assert found.password.get_secret_value() == "hush"
    assert "hush" not in f"{found!r} {found.model_dump_json()}"
    (tmp_path / "password").write_text("in the file\n")
    found = address_of(url, table(password_file=tmp_path / "password"))
    assert found.password
    assert found.password.get_secret_value() == "in the file"
    with pytest.raises(PlanError, match="password_file"):
        address_of(url, table(password_file=tmp_path / "none"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlserver://db/tpcc", "a host, a user and a database"),
        ("sqlserver://bench@db", "a host, a user and a database"),
        ("sqlserver://bench@db/master", "master is a database of the server"),
        ("sqlserver://bench@db/tpcc?encrypt=no", "unsupported parameters: encrypt=no"),
    ],
)
def test_a_url_that_cannot_be_used_says_why(url: str, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        address_of(url, table())


def test_certificates_for_a_server_that_is_trusted_anyway_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="which verifies none"):
        table(trust_server_certificate=True, root_certificates=tmp_path / "root.crt")


def test_the_load_generator_connects_by_the_same_rules() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SQLCMDPASSWORD", "hush")
        verified = core_address(address_of("sqlserver://bench@db/tpcc", table()))
        trusted = core_address(
            address_of("mssql://bench@db/tpcc", table(trust_server_certificate=True))
        )
    assert verified
    assert trusted
