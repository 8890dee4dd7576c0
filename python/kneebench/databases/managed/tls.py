"""Certificates for a server that listens for users on other machines: an authority that is made for
one restore and signs one certificate. Its own certificate travels to the users' hosts by ssh.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.managed.account import Account
from kneebench.errors import KneebenchError
from kneebench.lab.folder import Folder
from kneebench.lab.programs import environment, found

PROGRAM = "openssl"
LIBRARY = b"libssl.so"
"""A server that is linked with it can encrypt; one with a library of its own is taken not to."""
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
DAYS = ("-days", "30")


class Certificate(NamedTuple):
    """The files of a server, and its authority's certificate (PEM)."""

    certificate: Path
    key: Path
    authority: str


def can_encrypt(server: Path) -> bool:
    """Whether a server's binary is built with TLS, and certificates can be made here."""
    return found(PROGRAM) is not None and LIBRARY in server.read_bytes()


def make_certificate(address: str, folder: Path, account: Account | None) -> Certificate:
    """A new certificate for an IP address in a folder of ours; the key is the account's."""
    authority, request = folder / "authority.pem", folder / "listening.csr"
    made = Certificate(folder / "listening.pem", folder / "listening.key", "")
    names = folder / "names"
    names.write_text(f"subjectAltName=IP:{address}\n")
    secret = folder / "authority.key"
    signed = ("-CA", authority, "-CAkey", secret, "-CAcreateserial", "-extfile", names)
    _run(
        "req", "-x509", *KEY, *DAYS, "-subj", "/CN=kneebench", "-keyout", secret, "-out", authority
    )
    _run("req", *KEY, "-subj", f"/CN={address}", "-keyout", made.key, "-out", request)
    _run("x509", "-req", "-in", request, *signed, *DAYS, "-out", made.certificate)
    secret.unlink()
    with Folder.at(folder) as place:
        place.set_mode(made.certificate.name, 0o644)
        place.set_mode(made.key.name, 0o600)
    if account:
        with made.key.open("rb") as key:
            account.owns(key.fileno())
    return made._replace(authority=authority.read_text())


def _run(*words: str | Path) -> None:
    command = [PROGRAM, *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(), cwd="/"
    )
    if done.returncode:
        seen = " ".join(done.stderr.split())[-300:]
        do = f"see why {PROGRAM} fails, or set hosts.database.tls = false"
        raise KneebenchError("cannot make a certificate", seen=seen, do=do)
