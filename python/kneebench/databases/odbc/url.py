"""The URL of a database that a driver reaches: its connection string, behind "odbc:"."""

from __future__ import annotations

import re

from kneebench.plan.server_url import UrlRule
from kneebench.plan.values import wrong

SCHEME = "odbc:"
EXAMPLE = "odbc:Driver={Name};Server=host;Database=name;UID=user"
_SECRET = re.compile(r"(?i)[\w-]*(?:pwd|pass|secret|token)[\w-]*\s*=")
"""A key of a driver that holds one, also within braces."""


class DriverUrl(UrlRule):
    """A driver's connection string."""

    def check(self, url: str, *key: str) -> None:
        """Raise the rule's error for one that is none, or has a password."""
        if not url.startswith(SCHEME) or "=" not in url:
            raise wrong(*key, sentence=f"a driver's connection string, {self.example}")
        if _SECRET.search(url.removeprefix(SCHEME)):
            sentence = (
                "no password and no other secret, because results contain the plan: put the"
                f" password in {self.kept_in}, and others into a data source (odbc.ini)"
            )
            raise wrong(*key, sentence=sentence)
