"""Data sheets: the figures that a drive's maker prints, from a TOML file, beside the measured
ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kneebench.errors import UnknownPart
from kneebench.measurement.profile.jobs import HEADLINE
from kneebench.measurement.profile.rows import ProfileRow
from kneebench.plan.explanation import Document, near
from kneebench.plan.faults import Fault, PlanFaults
from kneebench.plan.reader import toml_text, toml_values
from kneebench.records import Record

_FOLDER = Path(__file__).parent / "datasheets"
_EXAMPLE = "see Data sheets in docs/drives.md"
_NUMBER = r"([0-9][0-9,]*(?:\.[0-9]+)?)\s*"
_UNITS = {"MB/s": 1e6, "GB/s": 1e9, "IOPS": 1.0, "k IOPS": 1e3, "M IOPS": 1e6}


class DataSheet(Record):
    """The maker's figures of one drive; None where the sheet has none.

    Sequential ones in bytes per second, random ones in I/Os per second.
    """

    drive: str
    source: str
    conditions: str = ""
    sequential_read: float | None = None
    sequential_write: float | None = None
    random_read: float | None = None
    random_write: float | None = None


class Claim(Record):
    """A figure of a data sheet beside the measured one; `row`: the row that measured it.

    `measured`, `ratio` and `row` are empty where no valid row did.
    """

    figure: str
    claimed: float
    measured: float | None = None
    ratio: float | None = None
    row: str = ""
    limited_by_a_core: bool = False


class _Key(NamedTuple):
    read: Callable[[Any], Any]
    allowed: str
    required: bool = False


def shipped() -> list[str]:
    """The names of the data sheets that come with kneebench.

    >>> shipped()
    ['micron-9100-2400gb', 'micron-9100-800gb']
    """
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


def read_datasheet(name: str) -> DataSheet:
    """The data sheet in a file, or the shipped one of that name.

    Raises PlanError where the file cannot be read, PlanFaults with lines and keys where it is
    wrong, and UnknownPart with the shipped names for a name that is no file.
    """
    file = Path(name)
    if not file.exists() and file.suffix != ".toml":
        if name not in shipped():
            raise UnknownPart("data sheet", name, [*shipped(), "or a .toml file"])
        file = _FOLDER / f"{name}.toml"
    return parse_datasheet(toml_text(file, _EXAMPLE), str(file))


def parse_datasheet(text: str, file: str = "data sheet") -> DataSheet:
    """The data sheet in a TOML text; `file` is what errors call it.

    >>> parse_datasheet('drive = "A"\\nsource = "B"\\nrandom_read = "540k IOPS"').random_read
    540000.0
    """
    document = Document(file, text, toml_values(text, file, _EXAMPLE))
    if faults := list(document.huge_numbers()) or list(_faults(document)):
        raise PlanFaults(file, faults)
    read = {key: _KEYS[key].read(value) for key, value in document.values.items()}
    return DataSheet.model_validate(read)


def claims(sheet: DataSheet, headline: Mapping[str, ProfileRow]) -> Iterator[Claim]:
    """Each figure of the sheet beside the headline row that measured it."""
    for figure in HEADLINE.values():
        claimed = getattr(sheet, figure)
        if claimed is None:
            continue
        if (row := headline.get(figure)) is None:
            yield Claim(figure=figure, claimed=claimed)
            continue
        measured = row.bytes_per_s if figure in _SEQUENTIAL else row.iops
        yield Claim(
            figure=figure,
            claimed=claimed,
            measured=measured,
            ratio=measured / claimed,
            row=row.name,
            limited_by_a_core=bool(row.limited_by_a_core),
        )


def _faults(document: Document) -> Iterator[Fault]:
    for key, value in document.values.items():
        if key not in _KEYS:
            allowed = f"one of: {', '.join(_KEYS)}"
            yield document.fault((key,), f'unknown key "{key}"', allowed, near(key, [*_KEYS]))
            continue
        try:
            _KEYS[key].read(value)
        except ValueError:
            seen = json.dumps(value, ensure_ascii=False, default=str)
            yield document.fault((key,), seen, _KEYS[key].allowed)
    for key, one in _KEYS.items():
        if one.required and key not in document.values:
            yield document.fault((key,), "nothing", f"key {key}: {one.allowed}")
    if not document.values.keys() & set(HEADLINE.values()):
        allowed = f"figures, at least one of: {', '.join(HEADLINE.values())}"
        yield document.fault((), "nothing", allowed)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value.strip()) <= 300:
        raise ValueError
    return value.strip()


def _amount(*units: str) -> Callable[[Any], float]:
    """A reader of figures as data sheets print them, in one of these units.

    >>> _amount("IOPS", "k IOPS")("1,500k IOPS"), _amount("MB/s", "GB/s")("2.1 GB/s")
    (1500000.0, 2100000000.0)
    """

    def read(value: Any) -> float:
        for unit in units:
            pattern = _NUMBER + r"\s*".join(map(re.escape, unit.split()))
            if isinstance(value, str) and (found := re.fullmatch(pattern, value.strip())):
                amount = float(found[1].replace(",", "")) * _UNITS[unit]
                if 0 < amount < 1e15:
                    return amount
        raise ValueError

    return read


_SEQUENTIAL = ("sequential_read", "sequential_write")
_TEXT = "text in quotes, at most 300 characters"
_RATE = _Key(_amount("MB/s", "GB/s"), 'a number above 0 in MB/s or GB/s, as in "2,100 MB/s"')
_IOPS = _Key(_amount("IOPS", "k IOPS", "M IOPS"), 'a number above 0 in IOPS, as in "540,000 IOPS"')
_KEYS = {
    "drive": _Key(_text, _TEXT, required=True),
    "source": _Key(_text, _TEXT, required=True),
    "conditions": _Key(_text, _TEXT),
    **{figure: _RATE if figure in _SEQUENTIAL else _IOPS for figure in HEADLINE.values()},
}
