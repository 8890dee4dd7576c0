"""Whom PostgreSQL's programs run as: the server refuses to run as root."""

from __future__ import annotations

from kneebench.databases.managed.account import Account, unprivileged_account

ACCOUNTS = ("postgres", "nobody")
"""Accounts that root may lend the server, the preferred one first."""


def server_account() -> Account | None:
    """The account that the server runs as; None for our own, when we are not root."""
    return unprivileged_account(ACCOUNTS)
