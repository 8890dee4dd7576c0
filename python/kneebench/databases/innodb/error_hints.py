"""Error hints: the fix for a server's error, by the number of its message (MariaDB's manual: Error
Codes), or else by its words.
"""

from __future__ import annotations

import re

from kneebench.databases import log_in
from kneebench.databases.innodb.address import client_command
from kneebench.databases.innodb.server_address import InnodbAddress

CREDENTIALS = (
    "correct the user in the URL, set MYSQL_PWD or the option file ~/.my.cnf, and create the user"
    " for this host (CREATE USER 'name'@'host')"
)
DATABASE = "create the database, or correct its name in the URL"
GRANT = (
    "grant the user the right named in the message (`kneebench check` lists the required rights)"
)
CONNECTIONS = (
    "raise max_connections on the server, end other sessions, or lower the upper end of"
    " ladder.users or workload.connections"
)
ROOM = "free disk space where the server's files are, or lower workload.warehouses"
WRITABLE = "use the primary in the URL, or SET GLOBAL read_only = OFF: nothing can be loaded here"
START = "start the server, or correct host and port in the URL"
CERTIFICATE = (
    "name the file of the authority that signed the server's certificate (sslrootcert in the URL);"
    " the certificate must name the URL's host, or set sslmode=verify-ca"
)
KEYLESS = (
    "SET GLOBAL sql_require_primary_key = OFF, on MariaDB innodb_force_primary_key: the table"
    " history has no primary key"
)
LOCK = "end the session that has the lock (SHOW PROCESSLIST names it), then run again"
RUN_AGAIN = "see the server's log for why it ended the session, then run again"
TLS_UNUSED = "the connection had no TLS, which the server offers"
NO_TLS = "the connection had no TLS: the server has no certificate"
"""Of a refused log-in; the load generator has the same words (src/session/mysql/connect.rs)."""
CERTIFY = (
    "give the server a certificate (ssl_cert and ssl_key in its option file), or remove the"
    " account's requirement (ALTER USER ... REQUIRE NONE)"
)
TLS = (
    "if the account requires TLS (REQUIRE SSL), set sslmode=require, or verify-full, in the URL;"
    f" else {CREDENTIALS}"
)
WITHOUT_TLS = f"if the account requires TLS (REQUIRE SSL), {CERTIFY}; else {CREDENTIALS}"
NOT_OFFERED = (
    "the server offers no TLS: give it a certificate (ssl_cert and ssl_key in its option file), or"
    " set sslmode=prefer, or disable, in the URL and use an account without REQUIRE SSL"
)
BY_NUMBER = {
    "1021": ROOM,
    "1040": CONNECTIONS,
    "1041": "give the server more memory, or lower its innodb_buffer_pool_size",
    "1044": GRANT,
    "1045": CREDENTIALS,
    "1049": DATABASE,
    "1114": ROOM,
    "1130": CREDENTIALS,
    "1142": GRANT,
    "1173": KEYLESS,
    "1203": f"{CONNECTIONS}; raise max_user_connections too",
    "1226": f"{CONNECTIONS}; the user has its own limit (ALTER USER ... WITH)",
    "1227": GRANT,
    "1290": WRITABLE,
    "1370": GRANT,
    "1665": "SET GLOBAL binlog_format = 'ROW': transactions run in READ COMMITTED",
    "1698": "use a user with a password: this one is known by the operating system's account",
    "1792": WRITABLE,
    "1836": WRITABLE,
    "2061": "use an account with another authentication plugin",
    "3159": "the server requires TLS: set sslmode=require, or verify-full, in the URL",
    "3750": KEYLESS,
    "3948": "SET GLOBAL local_infile = ON: rows are loaded by LOAD DATA LOCAL INFILE",
    "4166": "SET GLOBAL local_infile = ON: rows are loaded by LOAD DATA LOCAL INFILE",
}
"""Faults of what the plan names: they recur until something is changed."""
OUT_OF_SPACE = ("1021", "1114")
PASSING = {
    "1053": RUN_AGAIN,
    "1205": LOCK,
    "1317": RUN_AGAIN,
    "1927": RUN_AGAIN,
    "2006": RUN_AGAIN,
    "2013": RUN_AGAIN,
}
BY_WORDS = {
    r"no complete log-in|response is none of": log_in.DO,
    r"SSL is required|offers no TLS|server doesn't support": NOT_OFFERED,
    r"caching_sha2": "set sslmode=require, or verify-full, in the URL: the account requires TLS",
    r"(?i)certificate|hostname mismatch": CERTIFICATE,
    r"(?i)ssl|tls": "correct sslmode in the URL: the server and the URL must agree on TLS",
    r"Connection refused|getaddrinfo|Name or service|timed out|No such file|No route": START,
}


def error_hint(code: str, words: str, address: InnodbAddress | None) -> str:
    """The fix for an error; without an address (a managed server) it never suggests the client."""
    for pattern, do in BY_WORDS.items():
        if code[:1] in ("", "2") and re.search(pattern, words):
            return do
    if TLS_UNUSED in words or NO_TLS in words:
        return TLS if TLS_UNUSED in words else WITHOUT_TLS
    known = BY_NUMBER | PASSING
    if code in known:
        return known[code]
    return (
        f"test the connection with: {client_command(address)}"
        if address
        else "see the server's log and the number in its manual, then run again"
    )
