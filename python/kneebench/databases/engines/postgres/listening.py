"""A server that also listens for users on other machines: its options, who may log in, and their
role.
"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

from psycopg import sql

from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.server_address import DATABASE, USER, PostgresAddress
from kneebench.databases.managed.listening import USERS, Listening
from kneebench.lab.folder import Folder

ACCESS = (
    "# Only who may enter the socket's directory comes this far: the server's account, and"
    f" root.\nlocal all {USER} trust\n"
)
RIGHTS = """
GRANT USAGE ON SCHEMA public, kneebench TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role};
"""


def access(listening: Listening) -> str:
    """pg_hba.conf: the socket as before, and the users' role from the hosts' addresses."""
    lengths = ((one, ip_address(one).max_prefixlen) for one in listening.admitted)
    kind = "hostssl" if listening.certificate else "host"
    lines = (f"{kind} {DATABASE} {USERS} {one}/{n} scram-sha-256\n" for one, n in lengths)
    return ACCESS + "".join(lines)


def options(listening: Listening, runtime: Path) -> list[str]:
    """The server's options; the file of who may log in is put into the runtime directory."""
    file = runtime / "pg_hba.conf"
    with Folder.at(runtime) as place:
        place.put(file.name, access(listening))
        place.set_mode(file.name, 0o644)
    given = {
        "listen_addresses": listening.address,
        "hba_file": str(file),
        "password_encryption": "scram-sha-256",
    }
    if made := listening.certificate:
        files = {"ssl_cert_file": str(made.certificate), "ssl_key_file": str(made.key)}
        given |= {"ssl": "on", **files}
    return [word for name, value in given.items() for word in ("-c", f"{name}={value}")]


def users_address(server: PostgresAddress, listening: Listening) -> PostgresAddress:
    """The address for users on other machines, once their role is made."""
    with connect(server) as session:
        role, password = sql.Identifier(USERS), sql.Literal(listening.password)
        session.execute("SET log_statement = 'none'")
        session.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, password))
        session.execute(sql.SQL(RIGHTS).format(role=role))
    return server.model_copy(update=listening.log_in)
