"""The union of the engines' tables: `[database]` is read by the table of the engine that it
names.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any

from pydantic import BeforeValidator, GetJsonSchemaHandler, SerializeAsAny
from pydantic_core import CoreSchema

from kneebench.engines import engine_names
from kneebench.plan.database import DEFAULT, Database
from kneebench.shelf import ENGINES


def table_of(engine: str) -> type[Database]:
    """The table of an engine; of an engine that does not exist the default's, for the reader
    reports the name.

    >>> table_of("simulated").__name__, table_of("nosuch") is table_of(DEFAULT)
    ('SimulatedDatabase', True)
    """
    name = engine if engine in engine_names() else DEFAULT
    table: type[Database] = import_module(f"{ENGINES.package}.{name}.table").TABLE
    return table


def default_database() -> Database:
    """The table of the default engine with its defaults."""
    return table_of(DEFAULT)()


def _by_its_engine(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    name = given.get("engine", DEFAULT)
    return table_of(name if isinstance(name, str) else DEFAULT).model_validate(given)


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
        """One schema for each engine on the shelf."""
        return {"oneOf": [_schema(name) for name in engine_names()]}


EngineTable = Annotated[SerializeAsAny[Database], BeforeValidator(_by_its_engine), _OneOfThem()]
"""A table of the plan: one of the engines' tables, by its key `engine`."""
