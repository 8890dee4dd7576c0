"""Fixes for errors of SQL Server, by their number, or by their words where they have none."""

from __future__ import annotations

import re

from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.table import PASSWORD
from kneebench.errors import InvalidMeasurement, KneebenchError, PlanError

CREDENTIALS = f"correct the user in the URL, or the password in {PASSWORD} or password_file"
WRITABLE = (
    "use a directory that exists on the server and that the account of the SQL Server service can"
    " write to"
)
ROOM = "free space on that drive, or use another directory"
RUN_AGAIN = "wait until the server accepts sessions, then run again"
GRANT = "ALTER SERVER ROLE [dbcreator] ADD MEMBER [{user}]"
DENIED, CREATES = 262, "CREATE DATABASE"
"""A statement that is not permitted, which the words name; this one needs a role of the server."""
OWNER = "in that database: ALTER ROLE [db_owner] ADD MEMBER [{user}]"
NO_FEATURE = "use an edition with that feature, or change what needs it in the plan"
BY_NUMBER = {
    **dict.fromkeys((18456, 18452), CREDENTIALS),
    **dict.fromkeys((18486, 18487, 18488), "unlock the login or change its password"),
    **dict.fromkeys((911, 4060, 4064), "correct the database in the URL or the login's default"),
    DENIED: OWNER,
    3110: GRANT,
    **dict.fromkeys((229, 230, 916), "grant the login that permission"),
    **dict.fromkeys((297, 300), "GRANT VIEW SERVER STATE TO [{user}]"),
    5812: "GRANT ALTER SETTINGS TO [{user}]",
    15247: "GRANT ALTER SETTINGS TO [{user}]",
    1101: ROOM,
    1105: ROOM,
    9002: ROOM,
    3257: ROOM,
    5123: WRITABLE,
    5133: WRITABLE,
    5149: ROOM,
    3202: f"{ROOM} (backup)",
    3203: "the file cannot be read: see the server's error log, or use another file name in backup",
    3201: WRITABLE,
    3241: "the file is no backup: use another file name in backup",
    3169: "the backup is of a newer server: use another file name in backup",
    1834: "another database uses that file: use other directories, or another database in the URL",
    1827: "use fewer warehouses, or an edition without that limit",
    1844: NO_FEATURE,
    3156: f"{WRITABLE}; if the file is there and no database uses it, delete it",
    3234: "the backup is of other files: use another file name in backup",
    5170: "delete that file on the server if no database uses it, or use another directory",
    3101: "end the sessions that use the database, then run again",
    3906: "set the database READ_WRITE, or use another database in the URL",
    3908: "the database needs recovery: see the server's error log",
    1222: "end the sessions that lock the workload's tables, then run again",
    **dict.fromkeys(
        (17300, 17809, 10928), "raise the limit of user connections, or use fewer users"
    ),
    **dict.fromkeys((596, 6005, 17142, 18401, 18451, 18461), RUN_AGAIN),
}
BY_WORDS = {
    r"certificate verify failed|does(n't| not) match|(Hostname|IP address) mismatch": (
        "install the server's certificate with the host name of the URL, name its issuer's PEM file"
        " in root_certificates, or set trust_server_certificate = true"
    ),
    r"encryption but it is not supported": (
        "enable encryption on the server: a server with a certificate always offers it"
    ),
    r"(?i)ssl|tls|handshake": (
        "check that the server offers TLS 1.2 with ECDHE and AES-GCM: before Windows Server 2016 it"
        " needs an ECDSA certificate for that"
    ),
    r"refused|No route|unreachable|Name or service|resolve|not known": (
        "start the server, allow TCP connections, or correct host and port in the URL"
    ),
    r"timed out|in time|no complete log-in|closed connection|reset by peer|none of TDS": (
        "check host and port in the URL: is it the TCP port of SQL Server? If it is, and the server"
        " forces strict encryption (TDS 8), which kneebench does not have, switch that off"
    ),
    r"No such file": "correct root_certificates",
}
FULL_DISK = re.compile(r"\b112\b|not enough space|No space left|insufficient free space")


def error_hint(number: int, words: str, address: SqlServerAddress | None = None) -> str:
    """The fix for an error.

    A failed write names the operating system's error in its words: 112 is a full disk on Windows.
    """
    if FULL_DISK.search(words):
        return ROOM
    user = address.user if address else "login"
    if number == DENIED and CREATES in words:
        return GRANT.format(user=user)
    if number in BY_NUMBER:
        return BY_NUMBER[number].format(user=user)
    if not number:
        for pattern, do in BY_WORDS.items():
            if re.search(pattern, words):
                return do
    return "see the server's error log and the number in Microsoft's list of errors, then run again"


OUT_OF_SPACE = (1101, 1105, 9002)


def refusal(what: str, words: str, number: int, address: SqlServerAddress | None) -> KneebenchError:
    """An error with the server's words and the fix: a PlanError if running again would fail the
    same way, InvalidMeasurement if the server is out of space.
    """
    kind = PlanError if number in BY_NUMBER else KneebenchError
    kind = InvalidMeasurement if number in OUT_OF_SPACE else kind
    seen = f"{words} (error {number})" if number else words
    return kind(what, seen=seen, do=error_hint(number, words, address))
