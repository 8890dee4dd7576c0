"""A server that also listens for users on other machines: its options, and their accounts."""

from __future__ import annotations

from kneebench.databases.engines.mariadb.server_address import MariadbAddress
from kneebench.databases.engines.mariadb.session import connect
from kneebench.databases.managed.listening import USERS, Listening

RIGHTS = "SELECT, INSERT, UPDATE, DELETE, EXECUTE, CREATE TEMPORARY TABLES"


def options(listening: Listening) -> list[str]:
    """The server's options."""
    made = listening.certificate
    return [
        "--skip-networking=0",
        f"--bind-address={listening.address}",
        f"--port={listening.port}",
        *([f"--ssl-cert={made.certificate}", f"--ssl-key={made.key}"] if made else []),
    ]


def users_address(server: MariadbAddress, listening: Listening) -> MariadbAddress:
    """The address for users on other machines, once each of their hosts has its account."""
    demand = " REQUIRE SSL" if listening.certificate else ""
    with connect(server) as session:
        for host in listening.admitted:
            account = f"'{USERS}'@'{host}'"
            session.run(f"CREATE USER {account} IDENTIFIED BY '{listening.password}'")
            session.run(f"GRANT {RIGHTS} ON {server.database}.* TO {account}{demand}")
    return server.model_copy(update=listening.log_in)
