"""From a URL to an address, and where its password is found.

The password comes from MYSQL_PWD or from an option file, in this order: the one that the URL's
parameter passfile names, else ~/.my.cnf. It stays in the address, which is never stored.
"""

from __future__ import annotations

import configparser
import getpass
import os
import shlex
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from kneebench._core import system_roots
from kneebench.databases.engine import address_in
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.table import PASSWORD
from kneebench.errors import PlanError
from kneebench.secrets import without_passwords

PARAMETERS = ("host", "passfile", "sslmode", "sslrootcert")
SECTIONS = ("client", "client-server", "client-mariadb", "kneebench")
"""Of an option file, the last one that has a password."""


def address_of(url: str) -> InnodbAddress:
    """The address of a running server; raises PlanError for a URL that we cannot use."""
    split, given = urlsplit(url), dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    parts = {
        "host": given.get("host") or unquote(split.hostname or "") or "localhost",
        "port": split.port or 3306,
        "user": unquote(split.username or "") or getpass.getuser(),
        "database": unquote(split.path.lstrip("/")),
        "sslmode": given.get("sslmode", "prefer"),
        "sslrootcert": given.get("sslrootcert", ""),
    }
    address = address_in(url, InnodbAddress, parts, given, PARAMETERS)
    what = f"cannot read the URL {without_passwords(url)}"
    return address.with_password(_password(given.get("passfile", ""), what))


def _password(passfile: str, what: str) -> str:
    """MYSQL_PWD, or that of an option file; empty without one."""
    if PASSWORD in os.environ:
        return os.environ[PASSWORD]
    file = Path(passfile) if passfile else Path.home() / ".my.cnf"
    if not (passfile or file.is_file()):
        return ""
    options = configparser.ConfigParser(
        allow_no_value=True, strict=False, interpolation=None, inline_comment_prefixes=("#",)
    )
    try:
        lines = file.read_text().splitlines()
        options.read_string("\n".join(line for line in lines if not line.startswith("!")))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        seen = f"the option file {file} cannot be read ({type(error).__name__})"
        do = "write it as [client] and password = ..., with mode 0600"
        raise PlanError(what, seen=seen, do=do) from None
    found = [options.get(section, "password", fallback="") for section in SECTIONS]
    return next((one.strip("'\"") for one in reversed(found) if one), "")


TLS = {
    "mariadb": {
        "disable": " --skip-ssl",
        "prefer": "",
        "require": " --ssl",
        "verify-ca": " --ssl-verify-server-cert",
        "verify-full": " --ssl-verify-server-cert",
    },
    "mysql": {
        "disable": " --ssl-mode=DISABLED",
        "prefer": "",
        "require": " --ssl-mode=REQUIRED",
        "verify-ca": " --ssl-mode=VERIFY_CA",
        "verify-full": " --ssl-mode=VERIFY_IDENTITY",
    },
}
"""What the clients call an sslmode."""


def _root(address: InnodbAddress) -> str:
    """The option that names the root certificates; MySQL's client has none of its own."""
    file = address.sslrootcert
    if not file and address.client == "mysql" and address.sslmode.startswith("verify-"):
        file = "system"
    if file == "system":
        file = str(system_roots() or "")
    return f" --ssl-ca={file}" if file else ""


def client_command(address: InnodbAddress, statements: str = "") -> str:
    """A command of the product's client that makes the same connection, without the password; with
    statements, it runs them in the address's database.

    >>> client_command(InnodbAddress(host="db", user="me"), "SELECT 1")
    'mariadb --host=db --port=3306 --user=me --password --skip-ssl -e "SELECT 1"'
    """
    socket = f"--socket={address.socket}"
    place = socket if address.socket else f"--host={address.host} --port={address.port}"
    tls = TLS[address.client][address.sslmode] + _root(address)
    inside = f" --database={shlex.quote(address.database)}" if address.database else ""
    run = f'{inside} -e "{statements}"' if statements else ""
    return f"{address.client} {place} --user={quote(address.user)} --password{tls}{run}"
