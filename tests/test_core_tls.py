"""TLS to a real PostgreSQL 15, as libpq's sslmode means it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench.records import Tally
from tests import leftovers
from tests.stand_in import BIN, Postgres, free_port

pytestmark = [
    pytest.mark.postgres15,
    pytest.mark.skipif(
        not BIN.exists() or not shutil.which("openssl"),
        reason="needs Debian's PostgreSQL 15 and openssl",
    ),
]


def authority(folder: Path, name: str) -> Path:
    """A self-signed authority's certificate; its key lies beside it."""
    file = folder / f"{name}.crt"
    make = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj"
        f" /CN={name} -keyout {folder}/{name}.key -out {file}"
    )
    subprocess.run(make.split(), check=True, capture_output=True)
    return file


def certify(folder: Path, ca: Path, host: str) -> None:
    """A server's key and certificate that names `host`."""
    request = (
        f"openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN={host}"
        f" -keyout {folder}/server.key -out {folder}/server.csr"
    )
    subprocess.run(request.split(), check=True, capture_output=True)
    (folder / "names").write_text(f"subjectAltName = DNS:{host}\n")
    sign = (
        f"openssl x509 -req -in {folder}/server.csr -CA {ca} -CAkey {ca.with_suffix('.key')} -days"
        f" 2 -extfile {folder}/names -out {folder}/server.crt"
    )
    subprocess.run(sign.split(), check=True, capture_output=True)


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Postgres, int]]:
    """A server on TCP that lets nobody in without TLS."""
    folder = Path(leftovers.folder("tls"))
    folder.chmod(0o755)
    postgres, port = Postgres(folder), free_port()
    try:
        certify(folder, authority(folder, "right"), "localhost")
        authority(folder, "wrong")
        for name in ("server.key", "server.crt"):
            shutil.copy(folder / name, postgres.data / name)
            (postgres.data / name).chmod(0o600)
            if postgres.account:
                shutil.chown(postgres.data / name, "postgres", "postgres")
        (postgres.data / "pg_hba.conf").write_text(
            "local all all scram-sha-256\nhostssl all all all scram-sha-256\n"
        )
        postgres.stop()
        postgres.start(f"-c ssl=on -c port={port} -c listen_addresses=localhost")
        yield postgres, port
    finally:
        postgres.stop()
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("sslmode", "host", "ca", "refusal"),
    [
        ("prefer", "127.0.0.1", "", ""),
        ("prefer", "127.0.0.1", "wrong", ""),
        ("require", "127.0.0.1", "", ""),
        ("require", "127.0.0.1", "right", ""),
        ("verify-ca", "127.0.0.1", "right", ""),
        ("verify-full", "localhost", "right", ""),
        ("disable", "127.0.0.1", "", "no encryption"),
        ("require", "localhost", "wrong", "certificate"),
        ("verify-ca", "localhost", "wrong", "certificate"),
        ("verify-full", "127.0.0.1", "right", "certificate"),
        ("verify-full", "localhost", "", "certificate"),
        ("verify-ca", "localhost", "missing", "missing.crt"),
    ],
)
def test_a_mode_lets_through_what_it_promises_and_nothing_else(
    server: tuple[Postgres, int], sslmode: str, host: str, ca: str, refusal: str
) -> None:
    postgres, port = server
    root = str(postgres.folder / f"{ca}.crt") if ca else ""
    address = postgres.values()["address"] | {
        "host": host,
        "port": port,
        "sslmode": sslmode,
        "sslrootcert": root,
    }
    generator = postgres.load_generator(users=2, address=address)
    if refusal:
        with pytest.raises(ConnectionError, match=refusal):
            generator.ready()
        return
    generator.ready()
    generator.go()
    generator.tick()
    tally = Tally.model_validate(generator.stop())
    assert tally.whole.committed > 100


def test_over_tls_the_scheduler_tells_the_load_generators_delay(
    server: tuple[Postgres, int],
) -> None:
    postgres, port = server
    generator = postgres.load_generator(
        users=2,
        address=postgres.values()["address"]
        | {
            "host": "127.0.0.1",
            "port": port,
            "sslmode": "require",
        },
    )
    generator.ready()
    generator.go()
    generator.mark("window")
    generator.tick()
    tally = Tally.model_validate(generator.stop())
    assert tally.latency and tally.delay
    assert (tally.delay.n, tally.delay_stamped) == (tally.latency.n, 0)
