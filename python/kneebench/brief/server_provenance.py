"""Server provenance: whose server was measured, where it ran, and how its database was restored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.study import Study
from kneebench.records import Campaign

Kind = Literal["own", "url", "simulated"]
HERE = frozenset(["localhost", "127.0.0.1", "::1"])


def kind(plan: DatabasePlan) -> Kind:
    """Kind of server of a database: managed ("own"), external ("url") or a model."""
    if not plan.engine.measures_real_hardware:
        return "simulated"
    return "url" if any(plan.urls.values()) else "own"


def kinds(study: Study) -> set[Kind]:
    """Those of all databases of a plan."""
    return {kind(one) for one in study.databases.values()}


def restored(campaign: Campaign, database: str, plan: DatabasePlan) -> str:
    """How each climb and repeat got its database, that of this name: "copy", "clone", "template",
    "backup", "load", "command", "none", "model"; empty where nothing was restored yet."""
    found = {
        "simulated": "model",
        "own": plan.restore,
        "url": campaign.image_of(database).get("restored_by", ""),
    }
    return found[kind(plan)]


def is_here(campaign: Campaign) -> bool:
    """Whether every server was seen to run on the load generator's machine."""
    return bool(campaign.servers) and all(server.here for server in campaign.servers.values())


def elsewhere(campaign: Campaign, names: Mapping[str, str]) -> list[str]:
    """The configurations whose server ran elsewhere, each with what was seen of that; `names` by
    configuration id.
    """
    return [
        f"{names.get(configuration, configuration)}: {server.seen}"
        for configuration, server in campaign.servers.items()
        if not server.here
    ]


def hosts(study: Study) -> list[str]:
    """Where the servers by URL of all databases were reached, as the URLs name it; a socket's
    directory is this machine.

    >>> storages = {"a": {}, "b": {"url": "postgresql:///x"}}
    >>> database = {"url": "postgresql://me@db1:5433/x"}
    >>> plan = {"database": database, "storages": storages}
    >>> hosts(Study.kept(plan))
    ['db1', 'localhost']
    """
    return list(dict.fromkeys(map(_host, study.servers)))


def _host(url: str) -> str:
    parts = urlsplit(url)
    found = unquote(parts.hostname or parse_qs(parts.query).get("host", [""])[0])
    return "localhost" if not found or found.startswith("/") else found
