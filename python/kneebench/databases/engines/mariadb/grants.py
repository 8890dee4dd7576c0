"""The rights of a user, by the lines of SHOW GRANTS."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

NEEDED = (
    *("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX"),
    *("CREATE ROUTINE", "ALTER ROUTINE", "EXECUTE"),
)


class Grants(NamedTuple):
    """The lines of SHOW GRANTS; `literally`: with the names of databases, not patterns.

    >>> lines = [r"GRANT PROCESS ON *.* TO `me`@`%`", r"GRANT SELECT ON `kneebench\\_%`.* TO `me`"]
    >>> sorted(Grants(lines).on("kneebench_work_1")), Grants(lines).on("")
    (['PROCESS', 'SELECT'], {'PROCESS'})
    >>> Grants(lines, literally=True).on("kneebench_work_1")
    {'PROCESS'}
    >>> Grants(["GRANT SELECT ON *.* TO `me`", "REVOKE SELECT ON `shop`.* FROM `me`"]).on("shop")
    set()
    """

    lines: Sequence[str]
    literally: bool = False

    def on(self, database: str) -> set[str]:
        """The rights on a database; with an empty name, on the whole server."""
        return self._in("GRANT", database) - self._in("REVOKE", database)

    def _in(self, verb: str, database: str) -> set[str]:
        found: set[str] = set()
        for line in self.lines:
            match = re.match(rf"{verb} (.+?) ON (\*|`.+?`|\S+?)\.\* (?:TO|FROM) ", line)
            if match and self._covers(match[2], database):
                given = {one.strip() for one in match[1].split(",")}
                found |= {*NEEDED, "PROCESS"} if given & {"ALL PRIVILEGES", "ALL"} else given
        return found

    def _covers(self, place: str, database: str) -> bool:
        if place == "*" or not database:
            return place == "*"
        named = place.strip("`")
        return named.replace("\\", "") == database if self.literally else _covers(named, database)


def _covers(pattern: str, database: str) -> bool:
    """Whether a pattern of a grant, as LIKE takes it, covers a database.

    >>> _covers(r"kneebench\\_%", "kneebench_work_1"), _covers(r"shop", "kneebench_work_1")
    (True, False)
    """
    parts = re.findall(r"\\?.", pattern)
    wanted = {"%": ".*", "_": "."}
    return bool(
        re.fullmatch("".join(wanted.get(one, re.escape(one[-1])) for one in parts), database)
    )
