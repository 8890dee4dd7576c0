"""The plan's table `[hosts]`: the machines that take part besides this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from kneebench.plan.database import Database
from kneebench.plan.storage import Storage
from kneebench.plan.values import Name, Part, Sentence, Switch, wrong

MOST_HOSTS = 64
_OPTION = "an ssh destination such as bench@load1, which does not begin with -"


class LoadHost(Part):
    """A machine that users run on. `ssh` or `here`, one of both."""

    ssh: Annotated[
        Name,
        Field(description="Its ssh destination, such as `bench@load1`; ssh's own files apply"),
    ] = ""
    here: Annotated[Switch, Field(description="This machine itself")] = False
    name: Annotated[Name, Field(description="Its name in results; empty: the destination's")] = ""
    python: Annotated[Sentence, Field(description="Its Python, 3.11 or later, by name or path")] = (
        "python3"
    )
    share: Annotated[
        float,
        Field(
            ge=0,
            le=1e6,
            allow_inf_nan=False,
            description="Its part of the users, relative to the others'; 0: as many as its cores",
        ),
    ] = 0.0

    @model_validator(mode="after")
    def _is_one_machine(self) -> Self:
        if bool(self.ssh) == self.here:
            raise wrong("ssh", sentence="ssh with a destination, or here = true")
        if self.ssh.startswith("-") or self.ssh != self.ssh.strip():
            raise wrong("ssh", sentence=_OPTION)
        return self

    @property
    def called(self) -> str:
        """Its name in results."""
        return self.name or self.ssh.rpartition("@")[2] or "here"


class Hosts(Part):
    """The machines that take part besides this one."""

    load: Annotated[
        tuple[LoadHost, ...],
        Field(
            max_length=MOST_HOSTS,
            description="Machines that the users run on; none: this one, as a part of the run",
        ),
    ] = ()

    def check(self, storages: Mapping[str, Storage], databases: Iterable[Database]) -> None:
        """Raise the rule's error where load hosts share a name, or cannot reach a database: one
        that kneebench starts.
        """
        names = [one.called for one in self.load]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise wrong("hosts", "load", sentence=f"names that differ: {twice} is there twice")
        urls = (one.urls(storages).values() for one in databases) if self.load else ()
        if not all(map(all, urls)):
            sentence = "load hosts reach a server by database.url only"
            raise wrong("hosts", "load", sentence=sentence)
