"""How a plan is read by the tables of its engine, which are in `table.py` of the engine's folder.

`[database]` is read by the table of the engine that it names. A storage may have a table of its own
for an engine, by the engine's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import getdoc
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    SerializeAsAny,
    ValidationInfo,
    create_model,
)
from pydantic_core import CoreSchema

from kneebench.plan.database import DEFAULT, Database
from kneebench.plan.storage import Storage
from kneebench.shelf import ENGINES


def table_of(engine: str) -> type[Database]:
    """The table of an engine; of an engine that does not exist the default's, for the reader
    reports the name.

    >>> table_of("simulated").__name__, table_of("nosuch") is table_of(DEFAULT)
    ('SimulatedDatabase', True)
    """
    known = engine if engine in ENGINES.names() else DEFAULT
    table: type[Database] = ENGINES.module(known, "table").TABLE
    return table


def default_database() -> Database:
    """The table of the default engine with its defaults."""
    return table_of(DEFAULT)()


def _by_its_engine(given: Any, info: ValidationInfo) -> Any:
    if not isinstance(given, Mapping):
        return given
    name = given.get("engine", DEFAULT)
    table = table_of(name if isinstance(name, str) else DEFAULT)
    return table.model_validate(given, context=info.context)


def _schema(engine: str) -> dict[str, Any]:
    """The JSON Schema of one engine's table; only the default engine need not be named."""
    schema = table_of(engine).model_json_schema()
    named = {**schema["properties"]["engine"], "const": engine}
    if engine != DEFAULT:
        del named["default"]
        schema["required"] = ["engine"]
    return {**schema, "properties": {**schema["properties"], "engine": named}}


class _OneOfThem:
    """The JSON Schema of the union."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """One schema for each engine on the shelf, the default's first."""
        names = sorted(ENGINES.names(), key=lambda name: name != DEFAULT)
        return {"oneOf": [_schema(name) for name in names]}


EngineTable = Annotated[SerializeAsAny[Database], BeforeValidator(_by_its_engine), _OneOfThem()]
"""A table of the plan: one of the engines' tables, by its key `engine`."""


def _storage() -> type[Storage]:
    """The table of a storage, with a key for each engine that has a `STORAGE` table."""
    own = {
        name: getattr(ENGINES.module(name, "table"), "STORAGE", None) for name in ENGINES.names()
    }
    keys: dict[str, Any] = {
        name: (table | None, Field(default=None, description=getdoc(table)))
        for name, table in own.items()
        if table
    }
    return create_model("Storage", __base__=Storage, __doc__=getdoc(Storage), **keys)


if TYPE_CHECKING:
    EngineStorage = Storage
else:
    EngineStorage = _storage()
"""A table of the plan: a storage."""
