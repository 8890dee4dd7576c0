"""The plan's table of a file system: its type, the options of mkfs and of mount."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from kneebench.plan.allowed import read_allowed
from kneebench.plan.values import Name, Part, Text, wrong


class FileSystem(Part):
    """The file system of a volume. It is made without discard, so drives keep their state."""

    type: Annotated[
        Literal["xfs", "ext4", "btrfs"],
        Field(
            description=(
                "File system. btrfs makes layouts itself; below xfs and ext4 md does, except of"
                " emulated drives, which are one device"
            )
        ),
    ] = "xfs"
    mkfs: Annotated[
        tuple[Text, ...],
        Field(
            max_length=50,
            description=(
                "More options of mkfs, one word per entry; allowed are those listed in docs/plan.md"
            ),
        ),
    ] = ()
    mount: Annotated[
        tuple[Name, ...],
        Field(
            max_length=50,
            description=(
                "Mount options, also listed there; for btrfs, nodatacow is what databases usually"
                " run on"
            ),
        ),
    ] = ("noatime",)

    @field_validator("mkfs")
    @classmethod
    def _mkfs_is_allowed(cls, words: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if kind := info.data.get("type"):
            read_mkfs(kind, words)
        return words

    @field_validator("mount")
    @classmethod
    def _mount_is_allowed(cls, options: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if kind := info.data.get("type"):
            read_mount(kind, options)
        return options

    @property
    def mkfs_options(self) -> dict[str, str]:
        """The options of mkfs by name; empty values are those of options without one."""
        return read_mkfs(self.type, self.mkfs)

    @property
    def mount_options(self) -> list[str]:
        """The mount options, one by one."""
        return read_mount(self.type, self.mount)


# The options of mkfs (plan/allowed.toml).

FEATURES = ("-O", "-R")
SWITCHED_OFF = "^"
"""Before a feature that is switched off, in these lists."""


def read_mkfs(kind: str, given: Sequence[str]) -> dict[str, str]:
    """The options of a file system by name, from a plan's words; entries of one list are joined, an
    option without a value has an empty one.

    Raises the rule's error for a word that is not allowed.

    >>> read_mkfs("xfs", ["-m", "reflink=0", "-mrmapbt=1", "-L", "data"])
    {'-m': 'reflink=0,rmapbt=1', '-L': 'data'}
    >>> read_mkfs("btrfs", ["--nodesize=32k", "-M"])
    {'-n': '32k', '-M': ''}
    """
    found: dict[str, list[str]] = {}
    for option, value in _split(kind, given):
        known, entries = read_allowed().mkfs[kind][option], found.setdefault(option, [])
        if isinstance(known, str) and entries:
            raise wrong(sentence=f"{shown(option)} only once")
        for entry in [value] if isinstance(known, str) else value.split(","):
            _require_known(option, entry, known)
            if not isinstance(known, str) and _name(entry) in map(_name, entries):
                raise wrong(sentence=f"{shown(_name(entry))} only once after {shown(option)}")
            entries.append(entry)
    return {option: ",".join(entries) for option, entries in found.items()}


def allowed_for_mkfs(kind: str) -> str:
    """The options that are allowed for a file system, in words.

    >>> allowed_for_mkfs("xfs")[-73:]
    '-n (ftype[=0|1], parent[=0|1], size=UNITS, version=2|ci), -s (size=UNITS)'
    """
    every = (
        f"{name} {known}".strip() if isinstance(known, str) else f"{name} ({', '.join(known)})"
        for name, known in read_allowed().mkfs[kind].items()
    )
    return ", ".join(every)


def _split(kind: str, given: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(option, value). The value is the next word, or attached: "-mreflink=0", "--csum=xxhash". An
    option without a value is a word of its own.
    """
    words = iter(given)
    for word in words:
        name, attached = word[:2], word[2:] or None
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            attached = value if equals else None
        option = read_allowed().mkfs_names.get(kind, {}).get(name, name)
        known = read_allowed().mkfs[kind].get(option)
        if known is None or (not known and attached is not None):
            raise wrong(sentence=f"not {shown(word)}; for {kind}: {allowed_for_mkfs(kind)}")
        if known and attached is None:
            attached = next(words, None)
            if attached is None:
                raise wrong(sentence=f"a value after {shown(word)}; {_one_of(known)}")
        yield option, attached or ""


def _require_known(option: str, entry: str, known: tuple[str, ...] | str) -> None:
    if isinstance(known, str):
        right = not known or fits(entry, known)
    else:
        right = has_form(entry.removeprefix(SWITCHED_OFF) if option in FEATURES else entry, known)
    if not right:
        raise wrong(sentence=f"not {shown(entry)} after {shown(option)}; {_one_of(known)}")


def _one_of(known: tuple[str, ...] | str) -> str:
    return known if isinstance(known, str) else f"one of: {', '.join(known)}"


def _name(entry: str) -> str:
    """What an entry of a list sets: e2fsprogs writes some with a hyphen or with an underscore."""
    return entry.removeprefix(SWITCHED_OFF).partition("=")[0].replace("-", "_")


# The mount options (plan/allowed.toml).


def read_mount(kind: str, given: Sequence[str]) -> list[str]:
    """The mount options of a file system from a plan's entries, one or several with commas in each.

    Raises the rule's error for one that is not allowed.

    >>> read_mount("ext4", ["noatime", "data=ordered,commit=30"])
    ['noatime', 'data=ordered', 'commit=30']
    """
    known = sorted((*read_allowed().mount["any"], *read_allowed().mount[kind]))
    options = [option for entry in given for option in entry.split(",")]
    for option in options:
        if not has_form(option, known):
            raise wrong(sentence=f"not {shown(option)}; for {kind}: {', '.join(known)}")
    return options


# The forms that an option of a program may have in a plan: a name, alone or with a kind of value.
#
# A plan names its drives under `drives` and nowhere else, so no kind of value is a path.

KINDS = {
    "NUMBER": r"[0-9]{1,15}",
    "PERCENT": r"[0-9]{1,2}(\.[0-9]{1,3})?",
    "SIZE": r"[0-9]{1,15}[KMGTkmgt]?",
    "UNITS": r"[0-9]{1,15}[BSKMGTbskmgt]?",
    "LABEL": r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,11}",
    "COMPRESSION": r"no|lzo|zlib(:[0-9])?|zstd(:-?[0-9]{1,2})?",
}
"""Patterns of values by kind. A size is in bytes, or has a unit of 1024; UNITS may also be blocks
(b) or sectors (s). A label of 12 characters suits every file system."""


def has_form(option: str, forms: Iterable[str]) -> bool:
    """Whether an option has one of these forms. Square brackets: the value may be left out.

    >>> forms = ("noalign", "agcount=NUMBER", "barrier[=0|1]")
    >>> has_form("agcount=8", forms), has_form("agcount", forms), has_form("agcount=x", forms)
    (True, False, False)
    >>> has_form("noalign", forms), has_form("barrier", forms), has_form("barrier=2", forms)
    (True, True, False)
    """
    name, equals, value = option.partition("=")
    for form in forms:
        known, _, kind = form.replace("[", "").rstrip("]").partition("=")
        bare = not kind or form.endswith("]")
        if name == known and (fits(value, kind) if equals and kind else bare and not equals):
            return True
    return False


def fits(value: str, kind: str) -> bool:
    """Whether a value is of that kind, or one of the words that it lists.

    >>> fits("64k", "SIZE"), fits("/dev/sda", "SIZE"), fits("v2", "v1|v2"), fits("v3", "v1|v2")
    (True, False, True, False)
    """
    if kind in KINDS:
        return re.fullmatch(KINDS[kind], value) is not None
    return value in kind.split("|")


def shown(word: str) -> str:
    """A plan's word in a message, in quotes and no longer than a line.

    >>> shown("-Kf")
    '"-Kf"'
    """
    return f'"{word}"' if len(word) <= 60 else f'"{word[:57]}..."'
