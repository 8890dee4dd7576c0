"""Calls of methods on another host: arguments and results travel as plain data (JSON), and are
checked against the method's annotations at both ends.

Both ends have the same kneebench, by the hash of its files. No code travels in a message, so a
message can do no more than call one of the methods that are there.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter

from kneebench import errors, records
from kneebench.errors import KneebenchError
from kneebench.records import Event

Plain = dict[str, Any]


@cache
def types_of(method: Callable[..., Any]) -> Plain:
    """The annotations of a method's parameters, and that of its result as "return"."""
    return get_type_hints(method, include_extras=True)


CONCRETE: Mapping[Any, Callable[..., Any]] = {Sequence: tuple, Collection: tuple, Mapping: dict}
"""What travels of an annotation that many classes fulfil."""


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    concrete, of = CONCRETE.get(get_origin(kind)), get_args(kind)
    if concrete is tuple:
        kind = tuple.__class_getitem__((*of, ...))
    elif concrete is dict:
        kind = dict.__class_getitem__(of)
    return TypeAdapter(kind)


def packed(kind: Any, value: Any) -> Any:
    """A value of an annotated class as plain data."""
    concrete = CONCRETE.get(get_origin(kind))
    return _adapter(kind).dump_python(concrete(value) if concrete else value, mode="json")


def unpacked(kind: Any, plain: Any) -> Any:
    """The value again; a sequence is a tuple. Raises ValueError for what is no such value."""
    return _adapter(kind).validate_python(plain)


def packed_error(error: Exception) -> Plain:
    """An error by its class; one of ours with its three parts."""
    if isinstance(error, KneebenchError):
        parts = {"what": error.what, "seen": error.seen, "do": error.do, "alone": error.alone}
        return {"class": _known_class(type(error)), **parts}
    lost, where = isinstance(error, ConnectionError), "".join(traceback.format_exception(error))
    words = str(error) if lost else f"{type(error).__name__}: {error}"
    return {"class": "ConnectionError" if lost else "", "words": words, "where": where}


def _known_class(kind: type) -> str:
    """The nearest class of errors.py."""
    names = (one.__name__ for one in kind.__mro__ if getattr(errors, one.__name__, None) is one)
    return str(next(names))


def unpacked_error(plain: Plain) -> Exception:
    """The error again."""
    if "words" in plain:
        other = (ConnectionError if plain["class"] else RuntimeError)(plain["words"])
        other.add_note(f"On the database host:\n{plain['where']}")
        return other
    kind = getattr(errors, plain["class"])
    error: KneebenchError = kind.__new__(kind)
    KneebenchError.__init__(error, plain["what"], seen=plain["seen"], do=plain["do"])
    error.alone = plain["alone"]
    return error


def packed_event(event: Event) -> Plain:
    """An event; records in its data keep their class."""
    return {**event.model_dump(exclude={"data"}), "data": _with_classes(event.data)}


def unpacked_event(plain: Plain) -> Event:
    """The event again; lists in its data are tuples."""
    return Event(**{**plain, "data": _from_classes(plain["data"])})


def _with_classes(value: object) -> Any:
    if isinstance(value, BaseModel):
        return {"record": type(value).__name__, "of": value.model_dump(mode="json")}
    if isinstance(value, Mapping):
        return {"mapping": {name: _with_classes(one) for name, one in value.items()}}
    return [*map(_with_classes, value)] if isinstance(value, list | tuple) else value


def _from_classes(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_from_classes, value))
    if not isinstance(value, dict):
        return value
    if "mapping" in value:
        return {name: _from_classes(one) for name, one in value["mapping"].items()}
    return getattr(records, value["record"]).model_validate(value["of"])
