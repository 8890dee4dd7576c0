"""The engines of a database host, as a campaign uses those of this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from kneebench.campaign.machines.agent import DatabaseAgent
from kneebench.campaign.machines.engine_orders import OpenedEngine
from kneebench.campaign.machines.line import DatabaseHostLost, Line
from kneebench.campaign.machines.other_server import other_server
from kneebench.databases.engine import Server
from kneebench.engine_properties import engine_properties
from kneebench.records import Configuration, Finding, Watch, Whereabouts, unwatched
from kneebench.shelf import ENGINES


def passwords() -> dict[str, str]:
    """The variables of this process that contain passwords of databases; an engine on the database
    host reads them there. They travel within ssh, and are kept nowhere.
    """
    names = {engine_properties(name).password_variable for name in ENGINES.names()}
    return {name: os.environ[name] for name in sorted(names) if name in os.environ}


class OtherEngine:
    """An engine on the database host."""

    def __init__(self, line: Line, opened: OpenedEngine) -> None:
        self._line, self.number = line, opened.number

    def findings(self) -> Sequence[Finding]:
        """Engine.findings."""
        return self._line.call(DatabaseAgent.engine_findings, unwatched, self.number)

    def where(self, configuration: Configuration) -> Whereabouts:
        """Engine.where."""
        return self._line.call(DatabaseAgent.where, unwatched, self.number, configuration)

    def prepare(self, watch: Watch) -> dict[str, str]:
        """Engine.prepare."""
        return self._line.call(DatabaseAgent.prepare, watch, self.number)

    @contextlib.contextmanager
    def restored(
        self, configuration: Configuration, watch: Watch, restore: int = 0
    ) -> Iterator[Server]:
        """Engine.restored."""
        order = DatabaseAgent.restored
        opened = self._line.call(order, watch, self.number, configuration, restore)
        with contextlib.ExitStack() as until:
            until.callback(self._line.end, opened.number)
            yield other_server(self._line, opened, until)

    def close(self) -> None:
        """Engine.close; nothing where the host is lost: it puts itself back."""
        with contextlib.suppress(DatabaseHostLost):
            self._line.call(DatabaseAgent.close, unwatched, self.number)


class _Admits(OtherEngine):
    def admit(self, addresses: Sequence[str]) -> None:
        """AdmitsUsers.admit."""
        self._line.call(DatabaseAgent.admit, unwatched, self.number, tuple(addresses))


class _Removes(OtherEngine):
    def remove_image(self, watch: Watch) -> str:
        """RemovesImages.remove_image."""
        return self._line.call(DatabaseAgent.remove_image, watch, self.number)


ABLE_ENGINES = {"AdmitsUsers": _Admits, "RemovesImages": _Removes}
"""What only some engines can do."""


def other_engine(line: Line, opened: OpenedEngine) -> OtherEngine:
    """An engine with the abilities of its original."""
    able = [kind for name, kind in ABLE_ENGINES.items() if name in opened.abilities]
    kind: type[OtherEngine] = type("AbleEngine", (*able, OtherEngine), {})
    return kind(line, opened)
