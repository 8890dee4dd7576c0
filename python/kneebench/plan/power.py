"""The plan's table `[power]`: meters of electric power, and which of them mW/NOPM is of.

A meter's own table is in its file (`measurement/power_meters/<type>.py`) and adds keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args, get_origin

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    SerializeAsAny,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema

from kneebench.plan.values import Name, Part, Switch, WhileSeconds, wrong
from kneebench.records import Scope
from kneebench.shelf import POWER_METERS
from kneebench.units import Watts

MOST_METERS = 64
IDLE_LEAST_S = 60.0
"""The shortest time of idle power that counts without a caveat."""
SETTLE_S = 5.0
"""After the restore, so that its own work is over."""
LOAD_STEP_S = 30.0
_PERCENT = r"^[0-9.]+\s*%$"


def _share(given: Any) -> Any:
    if isinstance(given, float):
        return given
    if isinstance(given, str) and re.fullmatch(_PERCENT, given.strip()):
        return float(given.strip().rstrip("% ")) / 100
    raise ValueError('a share in quotes, as in "1%"')


Accuracy = Annotated[
    Annotated[float, Field(gt=0, lt=1)],
    BeforeValidator(_share),
    WithJsonSchema({"type": "string", "pattern": _PERCENT}),
]


class Private(NamedTuple):
    """Marks a key whose texts are names of hosts, people, drives or places, which redaction
    replaces; of which kind, by results/private_names.py.
    """

    kind: str


PUBLIC = Private("")
"""Marks a key whose texts say nothing of whose machine it is."""


class PowerMeter(Part):
    """A meter of power. Redaction takes the texts of a key for private ids, and paths for paths,
    unless a mark says otherwise.
    """

    of_scope: ClassVar[Scope | None] = None
    """What every meter of the type measures; None where the plan has to say it."""
    means: ClassVar[str] = ""
    """What it measures, where its scope alone does not say it."""
    rates_only: ClassVar[bool] = False
    """It measures nothing: it has what a maker rates."""
    starts_program: ClassVar[bool] = False
    """A program of the plan is started to read it."""
    name: Annotated[Name, PUBLIC, Field(min_length=1, description="Its name in results")]
    type: Annotated[
        Name,
        PUBLIC,
        Field(description="Its kind (`kneebench components` lists them as power meters)"),
    ]
    scope: Annotated[
        Scope | None,
        Field(
            description="Scope of what it measures: `wall` (all that is plugged in there), `dc`"
            " (behind the power supplies), `cpu` or `drive`"
        ),
    ] = None
    covers: Annotated[
        tuple[Name, ...],
        Private("host"),
        Field(
            max_length=100,
            description="Hosts, shelves and drives that it measures; none: the database host",
        ),
    ] = ()
    accuracy: Annotated[
        Accuracy | None, Field(description='Its accuracy as its maker says, such as "1%"')
    ] = None
    every: Annotated[WhileSeconds, Field(le=60, description="Time between two readings")] = 1.0
    most: Annotated[
        Watts, Field(gt=0, description="Power above which a reading is not believed")
    ] = 50_000.0

    @model_validator(mode="after")
    def _has_a_scope(self) -> Self:
        if not self.name.strip():
            raise wrong("name", sentence="a text that is not empty")
        if self.of_scope and self.scope not in (None, self.of_scope):
            sentence = f"{self.of_scope}: that is what a meter of type {self.type} measures"
            raise wrong("scope", sentence=sentence)
        if not (self.scope or self.of_scope):
            raise wrong("scope", sentence="required here, one of: wall, dc, cpu, drive")
        return self

    @property
    def measures(self) -> Scope:
        """Its scope."""
        found = self.scope or self.of_scope
        assert found
        return found

    @property
    def on_database_host(self) -> bool:
        """Whether it is read there, and not here."""
        return False

    @property
    def every_s(self) -> float:
        """Seconds between two readings."""
        return self.every


class MeterLogIn(Part):
    """How to log in to a meter: the password is in an environment variable, or in a file."""

    user: Annotated[Name, Private("user"), Field(description="Its user")] = ""
    password_variable: Annotated[
        Name, PUBLIC, Field(description="Environment variable that has the password")
    ] = ""
    password_file: Annotated[Path | None, Field(description="File that has it, with mode 0600")] = (
        None
    )

    @model_validator(mode="after")
    def _is_one_place(self) -> Self:
        if self.password_variable and self.password_file:
            raise wrong("password_file", sentence="one of password_variable and password_file")
        return self


class Pinned(Part):
    """How the certificate of a meter is checked."""

    certificate_file: Annotated[
        Path | None, Field(description="File with the certificate authority that signed its own")
    ] = None
    fingerprint: Annotated[
        str,
        Private("id"),
        Field(
            pattern=r"^([0-9A-Fa-f]{2}:?){32}$|^$",
            description="SHA-256 of its certificate, in place of an authority",
        ),
    ] = ""


def table_of(kind: object) -> type[PowerMeter]:
    """The table of a type of meters. Raises the rule's error for a type that does not exist."""
    if not isinstance(kind, str) or kind not in POWER_METERS.names():
        raise wrong("type", sentence=f"one of: {', '.join(POWER_METERS.names())}")
    table: type[PowerMeter] = POWER_METERS.module(kind).TABLE
    return table


def private_keys(table: type[PowerMeter]) -> dict[str, str]:
    """The kind of names that each key with texts has.

    >>> private_keys(PowerMeter)
    {'covers': 'host'}
    """
    found = dict[str, str]()
    for key, field in table.model_fields.items():
        texts = [kind for kind in (Path, str) if _may_be(field.annotation, kind)]
        marks = (mark.kind for mark in field.metadata if isinstance(mark, Private))
        if texts and (kind := next(marks, "path" if texts[0] is Path else "id")):
            found[key] = kind
    return found


def _may_be(annotation: Any, kind: type) -> bool:
    """Whether values of an annotation may be of a class; a choice of words is no text."""
    if get_origin(annotation) is Literal:
        return False
    return annotation is kind or any(_may_be(one, kind) for one in get_args(annotation))


def _by_its_type(given: Any, info: ValidationInfo) -> Any:
    if not isinstance(given, Mapping):
        return given
    return table_of(given.get("type")).model_validate(given, context=info.context)


class _OneOfThem:
    """The JSON Schema of the union."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """One schema for each type on the shelf."""
        return {"oneOf": [_schema(kind) for kind in POWER_METERS.names()]}


def _schema(kind: str) -> dict[str, Any]:
    schema = table_of(kind).model_json_schema()
    named = {**schema["properties"]["type"], "const": kind}
    return {**schema, "properties": {**schema["properties"], "type": named}}


PowerMeterTable = Annotated[SerializeAsAny[PowerMeter], BeforeValidator(_by_its_type), _OneOfThem()]
"""A table of the plan: a meter's, by its key `type`."""


class Power(Part):
    """Electric power: meters, their sums, and the one whose mW/NOPM the brief leads with."""

    meters: Annotated[
        tuple[PowerMeterTable, ...], Field(max_length=MOST_METERS, description="Meters of power")
    ] = ()
    sums: dict[Name, tuple[Name, ...]] = Field(
        default={},
        max_length=MOST_METERS,
        description="Meters of one scope that add up, by the name of their sum, such as the two"
        ' power supplies of a server: `sums = { both = ["psu1", "psu2"] }`. Other meters of one'
        " scope and coverage are compared",
    )
    headline: Annotated[
        Name,
        Field(
            description="Meter or sum of scope `wall` that mW/NOPM is of; empty: the only one there"
            " is"
        ),
    ] = ""
    idle: Annotated[
        WhileSeconds,
        Field(
            ge=5,
            le=3600,
            description="Time of idle power before the first climb of each storage, with its"
            " database up; below 60 s it has a caveat",
        ),
    ] = IDLE_LEAST_S
    load_step: Annotated[
        Switch,
        Field(
            description="Find how late each meter is by a load that is switched on and off before"
            " the first climb of each storage (30 s)"
        ),
    ] = True

    @property
    def at_rest_s(self) -> float:
        """What idle power and the load step take before the first climb of a storage."""
        if not self.meters:
            return 0.0
        return SETTLE_S + self.idle + (LOAD_STEP_S if self.load_step else 0.0)

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        names = [one.name for one in self.meters]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise wrong("meters", sentence=f"names that differ: {twice} is there twice")
        for name, parts in self.sums.items():
            if name in names:
                raise wrong("sums", name, sentence="a name that no meter has")
            self._check_sum(name, parts)
        if self.headline and self.headline not in (*names, *self.sums):
            raise wrong("headline", sentence=f"a meter or sum, one of: {_listed(names, self.sums)}")
        if self.headline and self.scope_of(self.headline) != "wall":
            sentence = (
                "a meter or sum of scope wall: mW/NOPM is of all that a server takes, so"
                f" {self.headline} has its own line in the brief and no headline"
            )
            raise wrong("headline", sentence=sentence)
        return self

    def _check_sum(self, name: str, parts: tuple[str, ...]) -> None:
        known = {one.name: one for one in self.meters}
        if len(set(parts)) < 2 or not set(parts) <= known.keys():
            raise wrong("sums", name, sentence=f"two meters or more of: {', '.join(known)}")
        if len({known[part].measures for part in parts}) > 1:
            raise wrong("sums", name, sentence="meters of one scope")

    def scope_of(self, name: str) -> Scope:
        """The scope of a meter, or of the parts of a sum. Raises KeyError."""
        known = {one.name: one.measures for one in self.meters}
        return known[self.sums[name][0] if name in self.sums else name]

    @property
    def leading(self) -> str:
        """The meter or sum that mW/NOPM is of; empty where there is none, or none was chosen."""
        if self.headline:
            return self.headline
        summed = {part for parts in self.sums.values() for part in parts}
        alone = [one.name for one in self.meters if one.name not in summed and not one.rates_only]
        walls = [name for name in (*self.sums, *alone) if self.scope_of(name) == "wall"]
        return walls[0] if len(walls) == 1 else ""


def _listed(*names: Iterable[str]) -> str:
    return ", ".join(name for some in names for name in some)
