"""Redaction: results without the names of hosts, users, drives and paths.

Each name has one stand-in in all documents of a campaign, texts included, so that what was equal
stays equal: a drive is the same before and after, and a path is still within another. Stand-ins are
numbers in the order of the alphabet, and no hashes, from which a name could be guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kneebench.errors import KneebenchError, Refused
from kneebench.plan.configurations import configuration_id
from kneebench.plan.json_schema import plan_schema
from kneebench.plan.values import ARCHIVE
from kneebench.private_folder import private_folder
from kneebench.records import Results
from kneebench.results.archive import Entries, entries, write_archive
from kneebench.results.campaign_folders import slug
from kneebench.results.campaign_reader import load
from kneebench.results.file_schemas import schemas
from kneebench.results.lock import held
from kneebench.results.parquet import write_seconds, write_series
from kneebench.results.private_names import (
    KINDS,
    Kind,
    Name,
    by_form,
    by_key,
    is_address,
    is_file,
    key_in,
    kind_of,
    names_of_this_machine,
    parts,
)
from kneebench.results.tables import read_seconds, read_series
from kneebench.secrets import HIDDEN

_PREFIX: dict[Kind, str] = {"WWID": "wwid", "MAC": "mac", "path": "p"}
"""What a stand-in begins with; else its kind."""


NO_TEXTS = ("histogram",)
"""Keys of what is no text: bytes in base64."""
ANY_CASE: tuple[Kind, ...] = ("host", "user", "author", "MAC", "serial", "WWID", "id")
"""Kinds of names that are the same in capitals."""
SHORTEST, SHORTEST_NUMBER = 3, 5
"""Characters, and digits, of a name that is looked for in texts."""


class Replacement(NamedTuple):
    """A name that was replaced; of a path each part."""

    kind: Kind
    name: str
    stand_in: str


class Redaction:
    """The stand-ins of a campaign's private names."""

    def __init__(self, names: Iterable[Name]) -> None:
        whole = list(dict.fromkeys(names))
        found = {one.name: one for one in _replacements(whole)}
        self._by_text = {text: one for one in found.values() for text in _other_forms(one)} | found
        self._kinds = {text: kind for kind, text in whole} | {
            text: one.kind for text, one in self._by_text.items() if one.kind != "path"
        }
        self._known = _any_of(
            {
                text: _is_in_any_case(text, kind)
                for text, kind in self._kinds.items()
                if _is_searched(text, kind)
            }
        )
        self._in_small_letters = {text.lower(): text for text in self._kinds}
        self._used: set[Replacement] = set()

    @property
    def replaced(self) -> tuple[Replacement, ...]:
        """What was replaced so far, by kind and name."""
        return tuple(sorted(self._used, key=lambda one: (KINDS.index(one.kind), one.name)))

    def without_gaps(self) -> Redaction:
        """The same, with numbers for what was replaced so far alone."""
        of_kind = dict.fromkeys(KINDS, 0)
        numbered = {}
        for one in self.replaced:
            of_kind[one.kind] += 1
            numbered[one.name] = one._replace(stand_in=_stand_in(one.kind, of_kind[one.kind]))
        self._stand_for(numbered)
        return self

    def with_ids(self, made: Iterable[MadeId]) -> Redaction:
        """The same, with ids that are made again of what is left of their texts."""
        taken, ids = list[str](), dict[str, Replacement]()
        for one in made:
            taken.append(one.make(one.id, [self.text(text) for text in one.of], taken))
            ids[one.id] = Replacement(one.kind, one.id, taken[-1])
        self._stand_for(ids)
        return self

    def _stand_for(self, new: Mapping[str, Replacement]) -> None:
        for text, one in self._by_text.items():
            self._by_text[text] = new.get(one.name, one)
        self._used.clear()

    def text(self, text: str) -> str:
        """A text with stand-ins in place of names."""
        found = []
        for match in self._known(text):
            name = match[0] if match[0] in self._kinds else self._in_small_letters[match[0].lower()]
            found.append((match.span(), self._kinds[name], name))
        found += [((one.start, one.end), *one.name) for one in by_form(text)]
        made, done = [], 0
        for (start, end), kind, name in sorted(found, key=lambda one: (one[0][0], -one[0][1])):
            if start >= done:
                made += [text[done:start], self._path(name) if kind == "path" else self._of(name)]
                done = end
        return "".join([*made, text[done:]])

    def document(self, document: Any, key: str = "") -> Any:
        """A JSON document with stand-ins in its texts and keys. Without the arguments of commands:
        what they mean is not known.
        """
        if isinstance(document, dict):
            names = {name: self._key(name, key) for name in document}
            return {
                names[name]: self.document(value, key_in(document, name))
                for name, value in document.items()
            }
        if isinstance(document, list | tuple):
            if key == "command":
                return [*map(self.document, document[:1]), *(HIDDEN for _ in document[1:])]
            return [self.document(value, key) for value in document]
        if not isinstance(document, str) or key in NO_TEXTS:
            return document
        if key == "command":
            program, *words = document.split(" ")
            return " ".join([program, *map(self._word, words)])
        return self._value(document, kind_of(key))

    def _key(self, name: str, table: str) -> str:
        """A key, which is a field of the format, or a name within a table of names."""
        return name if name in words_of_format() else self._value(name, kind_of(table))

    def _word(self, word: str) -> str:
        return self._path(word) if is_file(word) else self.text(word)

    def _value(self, text: str, kind: Kind | None) -> str:
        """A text that may be a name of this kind as a whole."""
        if kind == "path" and not text.startswith("/"):
            return self._path(text)
        return self._of(text) if kind and text in self._by_text else self.text(text)

    def _path(self, path: str) -> str:
        return "/".join(part and self._of(part) for part in path.split("/"))

    def _of(self, name: str) -> str:
        found = self._by_text.get(name.strip("[]"))
        if not found:
            return name
        self._used.add(found)
        return found.stand_in


def redaction_of(
    folder: Path, found: Sequence[tuple[str, bytes]], more: Iterable[Name] = ()
) -> Redaction:
    """The redaction of a campaign, by the names in all of its files and some `more`; numbers are
    only for those that it replaces.
    """
    within = [name for entry, written in found for name in _names(folder / entry, entry, written)]
    names, known = [*more, *within], Redaction([*more, *within])
    ids = [
        one
        for one in _made_ids(found)
        if any(known.text(text) != text for text in (one.id, *one.of))
    ]
    redaction = Redaction([*names, *(Name(one.kind, one.id) for one in ids)])
    for _ in redacted(folder, found, redaction):
        pass  # what it replaces is known only afterwards
    return redaction.without_gaps().with_ids(ids)


class MadeId(NamedTuple):
    """An id that was made of texts; `make` makes another of it and others, which is not taken."""

    kind: Kind
    id: str
    of: tuple[str, ...]
    make: Callable[[str, list[str], list[str]], str]


def _made_ids(found: Sequence[tuple[str, bytes]]) -> Iterator[MadeId]:
    """The ids of a campaign and of its configurations: cut words of its question, and names of
    storages.
    """
    for entry, written in found:
        document = json.loads(written) if entry.endswith(".json") else {}
        if entry == "campaign.json":
            plan = document.get("plan", {})
            words = str(plan.get("name") or plan.get("question") or "")
            yield MadeId("campaign", document["id"], (words,), _campaign_id)
        elif entry.startswith("climbs/"):
            one = document["climb"]["configuration"]
            names = (one["storage"], one.get("database", ""), one.get("constraint", ""))
            yield MadeId("storage", one["id"], names, _configuration_id)


def _campaign_id(id: str, texts: list[str], taken: list[str]) -> str:
    date = re.match(r"\d{4}-\d{2}-\d{2}-", id)
    return f"{date[0] if date else ''}{slug(texts[0])}"


def _configuration_id(id: str, texts: list[str], taken: list[str]) -> str:
    return configuration_id(texts, taken)


def redacted(folder: Path, found: Sequence[tuple[str, bytes]], redaction: Redaction) -> Entries:
    """The files of a campaign with stand-ins; without its author's logo, which is a name too."""
    for entry, written in found:
        name = redaction.text(entry)
        if entry.endswith(".json"):
            document = redaction.document(json.loads(written))
            yield name, (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()
        elif entry.endswith(".parquet"):
            yield name, _redacted_table(folder / entry, entry, redaction)


def _names(file: Path, entry: str, written: bytes) -> Iterator[Name]:
    if entry.endswith(".json"):
        document = json.loads(written)
        yield from by_key(document)
        yield from (one.name for text in _texts(document) for one in by_form(text))
    elif entry.startswith("series/"):
        sources = {one.source for one in read_series(file)}
        yield from (one.name for text in sorted(sources) for one in by_form(text))


def _redacted_table(file: Path, entry: str, redaction: Redaction) -> bytes:
    """A table, written again: with stand-ins in the names of sources, and nothing but its
    columns.
    """
    with private_folder() as folder:
        made = folder / "table.parquet"
        if entry.startswith("series/"):
            series = (
                one.model_copy(update={"source": redaction.text(one.source)})
                for one in read_series(file)
            )
            write_series(made, list(series))
        else:
            write_seconds(made, read_seconds(file))
        return made.read_bytes()


def _texts(document: Any) -> Iterator[str]:
    """All texts and keys of a document."""
    if isinstance(document, dict):
        yield from document
        for name, value in document.items():
            yield from _texts(value if name not in NO_TEXTS else None)
    elif isinstance(document, list | tuple):
        for value in document:
            yield from _texts(value)
    elif isinstance(document, str):
        yield document


def _replacements(names: Iterable[Name]) -> Iterator[Replacement]:
    """A stand-in for each name; a text that is a name of several kinds has that of the first."""
    single = {one for name in names for one in _single(name)}
    known: set[str] = set()
    for kind in KINDS:
        texts = sorted({text for of, text in single if of == kind} - known)
        known.update(texts)
        yield from (
            Replacement(kind, text, _stand_in(kind, number)) for number, text in enumerate(texts, 1)
        )


def _stand_in(kind: Kind, number: int) -> str:
    return f"{_PREFIX.get(kind, kind)}{number}"


def _single(name: Name) -> Iterator[Name]:
    """A name and what its parts name alone: the parts of a path, the short name and the domain of a
    host.
    """
    kind, text = name
    if kind == "path":
        users = re.findall(r"(?:^|/)home/([^/]+)", text)
        yield from (Name("user", one) for one in users)
        yield from (Name("path", part) for part in parts(text))
        return
    text = text.strip("[]")
    yield Name(kind, text)
    short, _, domain = text.partition(".")
    if kind == "host" and domain and not is_address(text):
        yield from (Name(kind, one) for one in (short, domain) if one == short or "." in one)


def _other_forms(one: Replacement) -> Iterator[str]:
    """What a name is looked for as, too: as ids have it, such as 10-9-8-7, and a MAC address
    without separators.
    """
    if one.kind in ("host", "user", "author", "MAC") and len(slug(one.name)) >= SHORTEST:
        yield slug(one.name)
    if one.kind == "MAC":
        yield re.sub("[:.-]", "", one.name)


def _is_searched(text: str, kind: Kind) -> bool:
    """Whether a name is looked for in all texts. Not one that may be any word: a part of a path, a
    short one, and a word of the results' format. It is replaced where a key has it.
    """
    if kind == "path":
        return bool(re.search(r"[/.]", text.strip("./")))
    short = len(text) < SHORTEST or (text.isdigit() and len(text) < SHORTEST_NUMBER)
    return not short and text not in words_of_format()


def _is_in_any_case(text: str, kind: Kind) -> bool:
    return kind in ANY_CASE and not words_of_format() & {text.lower(), text.upper()}


@cache
def words_of_format() -> frozenset[str]:
    """The names of all fields and choices of a campaign's documents, and of a plan."""
    return frozenset(
        word
        for schema in (*schemas().values(), plan_schema())
        for word in re.findall(r'"(\w[\w.-]*)"', json.dumps(schema))
    )


def _any_of(texts: Mapping[str, bool]) -> Any:
    """Finds any of these texts, or as some are in capitals and small letters, the longest first,
    where it is not part of a longer word.
    """
    longest = sorted((text for text in texts if text), key=len, reverse=True)
    if not longest:
        return lambda text: iter(())
    alternatives = "|".join(
        f"(?ai:{re.escape(text)})" if texts[text] else re.escape(text) for text in longest
    )
    return re.compile(rf"(?<![A-Za-z0-9])(?:{alternatives})(?![A-Za-z0-9])").finditer


# Packing: a campaign becomes a result archive, with its names or with stand-ins.


class Packed(NamedTuple):
    """A result archive, and what was replaced in it."""

    file: Path
    replaced: tuple[Replacement, ...] = ()


def pack(results: Results, file: Path | None = None, *, redact: bool = False) -> Packed:
    """Write a campaign's result archive: to a file, or here under the id that is in it.

    Raises Refused while the campaign is measured or where the file is there already, and
    KneebenchError where a redacted campaign could not be read.
    """
    folder = results.folder
    if folder is None:
        raise KneebenchError(
            "cannot pack a campaign", seen="it has no folder", do="load it from one"
        )
    if held(folder):
        seen, do = "a kneebench run writes to it", "wait for it to finish"
        raise Refused(f"cannot read {folder}", seen=seen, do=do)
    if not redact:
        file = file or _named(results.campaign.id)
        write_archive(file, entries(folder))
        return Packed(file)
    found = list(entries(folder))
    redaction = redaction_of(folder, found, names_of_this_machine())
    file = file or _named(redaction.text(results.campaign.id))
    write_archive(file, redacted(folder, found, redaction))
    try:
        load(file)
    except KneebenchError as error:
        file.unlink()
        seen = f"with stand-ins it could not be read ({error.seen})"
        do = "give storages and hosts names that are no words of the results' format"
        raise KneebenchError(f"cannot write {file}", seen=seen, do=do) from error
    return Packed(file, redaction.replaced)


def _named(id: str) -> Path:
    return Path(f"{id}{ARCHIVE}")
