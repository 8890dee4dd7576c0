"""Keys of a plan that are set beside its file: by `--set ladder.repeats=5`, `--name` and `--tag` on
the command line, and by `with_keys` in Python.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kneebench.errors import PlanError
from kneebench.plan.value_text import quoted
from kneebench.secrets import without_passwords


class Override(NamedTuple):
    """A key's path with its value, and the option that sets it, as errors call it."""

    path: tuple[str, ...]
    value: Any
    option: str


def override(text: str) -> Override:
    """That of `--set KEY=VALUE`: the key as a plan writes it, the value too, or else a text.

    Raises PlanError for what is no key with a value. Errors do not show the value here, which may
    be a secret.

    >>> override("ladder.repeats=5")[:2], override('storages."2x NVMe".path=/mnt/a')[:2]
    ((('ladder', 'repeats'), 5), (('storages', '2x NVMe', 'path'), '/mnt/a'))
    >>> override('accept={nopm=0.03, power=0.05}')[:2]
    (('accept',), {'nopm': 0.03, 'power': 0.05})
    """
    key, sign, value = text.partition("=")
    option = f"--set {without_passwords(key.strip())}"
    lines = (f"{key} = {value}", f"{key} = {quoted(value)}") if sign else ()
    for line in lines:
        try:
            return Override(*_only(tomllib.loads(line)), option)
        except ValueError:  # also TOMLDecodeError: no TOML, or more than one key
            continue
    if not sign:
        do = "write KEY=VALUE, such as --set ladder.repeats=5"
        raise PlanError(option, seen="no = in it", do=do)
    do = (
        "write it as in --set ladder.repeats=5; quote what is no word, as in --set"
        " 'storages.\"slow drive\".path=/mnt/a'"
    )
    raise PlanError(option, seen=f"{without_passwords(key)!r} is no key of a plan", do=do)


def keyed(key: str, value: Any) -> Override:
    """That of a key, as a plan writes it, and its value, from Python. Raises PlanError for what is
    no key; errors do not show the value here, which may be a secret.

    >>> keyed("ladder.repeats", 5)
    Override(path=('ladder', 'repeats'), value=5, option="with_keys: 'ladder.repeats'")
    """
    option = f"with_keys: {key!r}"
    try:
        path, _ = _only(tomllib.loads(f"{key} = 0"))
    except ValueError:
        do = "write it as a plan does, such as 'ladder.repeats'"
        raise PlanError(option, seen="it is no key of a plan", do=do) from None
    return Override(path, value, option)


def keyed_tag(name: str, value: str) -> Override:
    """That of a tag, from Python."""
    return Override(("tags", name), value, f"with_keys: tags {name!r}")


def tag(text: str) -> Override:
    """That of `--tag NAME=VALUE`. Raises PlanError for a tag without a name or a value.

    >>> tag("firmware=1.2")
    Override(path=('tags', 'firmware'), value='1.2', option='--tag firmware=1.2')
    """
    name, _, value = text.partition("=")
    if not (name.strip() and value.strip()):
        raise PlanError(
            f"--tag {without_passwords(text)}",
            seen="a name and a value are required",
            do="write NAME=VALUE, such as --tag firmware=1.2",
        )
    return Override(("tags", name.strip()), value.strip(), f"--tag {without_passwords(text)}")


def tags(texts: Sequence[str]) -> list[Override]:
    """Those of each `--tag`. Raises PlanError for a tag that is set twice."""
    found = [tag(text) for text in texts]
    for number, one in enumerate(found):
        if before := [other for other in found[:number] if other.path == one.path]:
            seen = f"{before[0].option} sets it too"
            raise PlanError(one.option, seen=seen, do="set each tag once")
    return found


def named(name: str) -> Override:
    """That of `--name`. Raises PlanError for an empty one."""
    if not name:
        raise PlanError("--name ''", seen="the name is empty", do="name the campaign, or omit it")
    return Override(("name",), name, f"--name {name}")


def with_overrides(values: Mapping[str, Any], overrides: Sequence[Override]) -> dict[str, Any]:
    """The values of a plan with those of the command line in their place, in order; tables are
    created where they are missing. A table's other keys stay.

    >>> with_overrides({"ladder": {"step": 2}}, [override("ladder.repeats=5")])
    {'ladder': {'step': 2, 'repeats': 5}}
    """
    found = dict(values)
    for one in overrides:
        found = _with(found, one.path, one.value)
    return found


def _with(table: Any, path: tuple[str, ...], value: Any) -> Any:
    inner = table if isinstance(table, dict) else {}
    if not path:
        return {**inner, **value} if isinstance(value, dict) else value
    return {**inner, path[0]: _with(inner.get(path[0]), path[1:], value)}


def _only(values: Any, path: tuple[str, ...] = ()) -> tuple[tuple[str, ...], Any]:
    """The one key of a document, with its value, which may be a table of several. Raises ValueError
    for several keys.
    """
    if not isinstance(values, dict) or (path and len(values) != 1):
        return path, values
    if len(values) != 1:
        raise ValueError("several keys")
    [(name, inner)] = values.items()
    return _only(inner, (*path, name))
