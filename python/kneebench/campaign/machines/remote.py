"""Objects of a database host: a proxy here has the methods of what it stands for, and what they do
is done there, by its agent.

Arguments and results travel as plain data (typed_calls.py), with three exceptions. Objects of
`KINDS` stay there and are known here by a number. A `Watch` stays here: it is given what happens
there meanwhile. The result of a method that gives a context manager is entered there, and ended at
the end of the block here.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import cache, cached_property, partial
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast, get_args, get_origin

from kneebench._core import Address, GeneratorSpec, LoadGenerator
from kneebench.campaign.machines.machine_there import LatestSamples
from kneebench.databases.engine import (
    AdmitsUsers,
    EndsStuckUsers,
    Engine,
    MakesLogFiles,
    ReachedByUsers,
    RemovesImages,
    Restarting,
    Restarts,
    Server,
)
from kneebench.errors import KneebenchError
from kneebench.hosts.connection import Connection, HostLost
from kneebench.hosts.load_agent import is_pem, with_certificates
from kneebench.hosts.typed_calls import (
    Plain,
    packed,
    types_of,
    unpacked,
    unpacked_error,
    unpacked_event,
)
from kneebench.measurement.power.recordings import Recordings
from kneebench.measurement.streams import RunningStreams
from kneebench.records import Watch, unwatched

Given = ParamSpec("Given")
Found = TypeVar("Found")

KINDS: Mapping[Any, tuple[type, ...]] = {
    Engine: (AdmitsUsers, RemovesImages, Restarts),
    Server: (MakesLogFiles, ReachedByUsers, EndsStuckUsers),
    Restarting: (),
    RunningStreams: (),
    LatestSamples: (),
    Recordings: (),
}
"""What stays on the database host, with what only some of each kind can do."""


class Handle(NamedTuple):
    """What travels of what stays: its number, what it can do beside what all of its kind can, and
    its attributes; of the block of a context manager, what it gives.
    """

    number: int
    abilities: tuple[str, ...] = ()
    value: Any = None


class DatabaseHostLost(KneebenchError):
    """The database host no longer answers: the campaign ends, and is resumed from there."""

    exit_code = 3


@cache
def methods_of(kind: type) -> dict[str, Callable[..., Any]]:
    """The public methods of a kind: what can be called of an object."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: method for name, method in found if not name.startswith("_")}


@cache
def _attributes_of(kind: type) -> Plain:
    """The annotations of a kind's attributes and properties."""
    read = inspect.getmembers(kind, lambda one: isinstance(one, property))
    return {**types_of(kind), **{name: types_of(one.fget)["return"] for name, one in read}}


def _given_by(method: Callable[..., Any]) -> tuple[Any, bool]:
    """The class of what a method gives, and whether it does so as a context manager."""
    kind = types_of(method)["return"]
    origin: Any = get_origin(kind)
    entered = origin in (AbstractContextManager, Iterator)
    return (get_args(kind)[0] if entered else kind), entered


# On the database host: what it keeps for its controller.


class Kept:
    """Objects that a controller may use, by number, each with what ends it; first those that are
    always there.
    """

    def __init__(self, *always: object) -> None:
        self._kept: dict[int, tuple[Any, tuple[type, ...]]] = {}
        self._stacks: dict[int, ExitStack] = {}
        self._numbers = itertools.count()
        for one in always:
            self._keep(one, (type(one),), ExitStack())

    def _keep(self, one: object, kinds: tuple[type, ...], stack: ExitStack) -> int:
        number = next(self._numbers)
        self._kept[number], self._stacks[number] = (one, kinds), stack.pop_all()
        return number

    def obey(self, order: Plain, watch: Watch) -> Any:
        """Call a method of an object, with plain data, or end what is kept. Raises what the method
        raises, and AttributeError for one that its kinds do not have.
        """
        if order["do"] == "end":
            self.end(order["of"])
            return None
        name, arguments = order["do"], order["with"]
        one, kinds = self._kept[order["of"]]
        method = next((methods_of(kind)[name] for kind in kinds if name in methods_of(kind)), None)
        if not method:
            raise AttributeError(name)
        given = {
            parameter: watch if kind == Watch else self._received(kind, arguments[parameter])
            for parameter, kind in types_of(method).items()
            if kind == Watch or parameter in arguments
        }
        bound = inspect.signature(method).bind(one, **given)
        return self._sent(method, getattr(one, name)(*bound.args[1:], **bound.kwargs))

    def _received(self, kind: Any, plain: Any) -> Any:
        return self._kept[plain][0] if kind in KINDS else unpacked(kind, plain)

    def _sent(self, method: Callable[..., Any], found: Any) -> Any:
        kind, entered = _given_by(method)
        with ExitStack() as stack:
            if entered:
                found = stack.enter_context(found)
            elif kind in KINDS:
                stack.callback(found.close)
            else:
                return packed(kind, found)
            if kind not in KINDS:
                return Handle(self._keep(found, (), stack), (), packed(kind, found))
            able = tuple(one for one in KINDS[kind] if isinstance(found, one))
            attributes = _attributes_of(kind).items()
            values = {name: packed(of, getattr(found, name)) for name, of in attributes}
            names = tuple(one.__name__ for one in able)
            return Handle(self._keep(found, (kind, *able), stack), names, values)

    def end(self, number: int) -> None:
        """End what is kept under a number."""
        self._kept.pop(number, None)
        if stack := self._stacks.pop(number, None):
            stack.close()

    def end_all(self) -> None:
        """End everything, the last one first, each also where another cannot be ended."""
        with ExitStack() as ends:
            for number in sorted(self._stacks):
                ends.callback(self.end, number)


# On the controller: the line to the host, and what stands for its objects.


class Line:
    """Orders to the agent of a database host, one at a time, from any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._one = connection, threading.Lock()
        self._lost: DatabaseHostLost | None = None

    def order(
        self, do: str, number: int, given: Plain | None = None, watch: Watch = unwatched
    ) -> Any:
        """What the agent answers; `watch` receives what happens meanwhile. Raises what happened
        there, and DatabaseHostLost.
        """
        with self._one:
            if self._lost:
                raise self._lost
            try:
                begun = self._connection.begin(do, of=number, **{"with": given})
                answer = self._connection.result(
                    begun, math.inf, lambda event: watch(unpacked_event(event))
                )
            except HostLost as error:
                self._lost = _lost(error.name, error.seen, error.do)
                raise self._lost from error
            except KeyboardInterrupt:  # the agent is at it until the connection ends
                self._lost = _lost(self._connection.name, "interrupted", "run again")
                raise
        if "error" in answer:
            raise unpacked_error(answer["error"])
        return answer["value"]

    def end(self, number: int) -> None:
        """End what the agent keeps under a number; nothing where the host is lost: it does that
        itself.
        """
        with contextlib.suppress(DatabaseHostLost):
            self.order("end", number)


def _lost(name: str, seen: str, do: str) -> DatabaseHostLost:
    return DatabaseHostLost(f"database host {name} was lost", seen=seen, do=do)


class Remote:
    """Stands for an object of the database host, with every method and attribute of its kind. What
    a subclass has itself is done here.
    """

    def __init__(self, line: Line, handle: Handle, kind: type) -> None:
        self.line, self.number, self._kind = line, handle.number, kind
        self.until = ExitStack()
        """What is open here as long as the object is there."""
        for name, of in _attributes_of(kind).items() if handle.value else ():
            setattr(self, name, unpacked(of, handle.value[name]))
        for able in (kind, *KINDS.get(kind, ())):
            if able is kind or able.__name__ in handle.abilities:
                vars(self).update(self._bound(able))

    def _bound(self, kind: type) -> Plain:
        """The methods of a kind that are called there, by name."""
        there = methods_of(kind).items()
        own = type(self)
        return {name: partial(self.call, one) for name, one in there if not hasattr(own, name)}

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"this object of the database host has no {name}")

    def call(
        self,
        method: Callable[Concatenate[Any, Given], Found],
        *values: Given.args,
        **named: Given.kwargs,
    ) -> Found:
        """What the method gives there. Raises TypeError as a call would, what the method raises,
        and DatabaseHostLost.
        """
        given = inspect.signature(method).bind(None, *values, **named).arguments
        given.pop(next(iter(given)))
        kind, entered = _given_by(method)
        if entered:
            return cast(Found, self._entered(method, given))
        answer = self._order(method, given)
        return cast(Found, self._proxy(kind, answer) if kind in KINDS else unpacked(kind, answer))

    def _order(self, method: Callable[..., Any], given: Plain) -> Any:
        types = types_of(method)
        watch = next((one for name, one in given.items() if types[name] == Watch), unwatched)
        plain = {
            name: one.number if types[name] in KINDS else packed(types[name], one)
            for name, one in given.items()
            if types[name] != Watch
        }
        return self.line.order(method.__name__, self.number, plain, watch)

    def _proxy(self, kind: Any, handle: list[Any]) -> Remote:
        proxy = OtherServer if kind is Server else Remote
        return proxy(self.line, Handle(*handle), kind)

    @contextlib.contextmanager
    def _entered(self, method: Callable[..., Any], given: Plain) -> Iterator[Any]:
        kind, _ = _given_by(method)
        handle = Handle(*self._order(method, given))
        with ExitStack() as until:
            until.callback(self.line.end, handle.number)
            if kind not in KINDS:
                yield unpacked(kind, handle.value)
                return
            proxy = self._proxy(kind, [*handle])
            with proxy.until:
                yield proxy

    def close(self) -> None:
        """Close it; nothing where the host is lost: it puts itself back. An engine can be used
        again, all else is no longer kept there.
        """
        if self._kind is not Engine:
            self.line.end(self.number)
            return
        with contextlib.suppress(DatabaseHostLost):
            self.call(Engine.close)


class OtherServer(Remote):
    """A restored server on the database host. Its users run on this machine, or on load hosts."""

    def load_generator(self, spec: GeneratorSpec) -> LoadGenerator:
        """Users on this machine, who connect over the network."""
        return LoadGenerator(spec, self._address_here)

    @cached_property
    def _address_here(self) -> Address:
        """Where they connect, with the server's own certificates in a file of this machine."""
        address = self.call(ReachedByUsers.users_address)
        pem = address["sslrootcert"] if is_pem(address["sslrootcert"]) else ""
        return Address(**self.until.enter_context(with_certificates({**address}, pem)))

    def now_s(self) -> float:
        """The clock of this machine; readings have times of the database host's own."""
        return time.monotonic()
