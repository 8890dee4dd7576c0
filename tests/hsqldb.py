"""HSQLDB, which runs SQL/PSM routines: asked by its own JDBC, in a process of its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pytest

from kneebench._core import Dataset
from kneebench.databases.odbc.dialect import Dialect
from kneebench.databases.odbc.schema import COLUMNS
from kneebench.databases.tproc_c.tables import LARGEST_FIRST

JAR = Path(".tools/hsqldb/hsqldb.jar").absolute()
ASKING = Path(__file__).parent / "Hsqldb.java"
MISSING = not (JAR.exists() and shutil.which("java") and shutil.which("javac"))
WITHOUT_HSQLDB = pytest.mark.skipif(MISSING, reason="no Java, or no HSQLDB (make debian, by Maven)")
END, ERROR = "\x1e", "\x15"


class Hsqldb:
    """A database in the memory of a process, loaded with one warehouse."""

    def __init__(self, folder: Path, dialect: Dialect) -> None:
        self.folder, self.dialect = folder, dialect
        subprocess.run(["javac", "-d", folder, ASKING], check=True)
        command = ["java", "-Xmx1500m", "-XX:TieredStopAtLevel=1", "-cp", f"{JAR}:{folder}"]
        self._process = subprocess.Popen(
            [*command, "Hsqldb"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for table in LARGEST_FIRST:
            self.rows(dialect.making(table))
            file = folder / table
            Dataset.tproc_c(warehouses=1, profile="spec", seed=1).write(table, file)
            marks = ", ".join("?" * COLUMNS[table])
            self._ask(f"LOAD {file} INSERT INTO {table} VALUES ({marks})")
        for statement in (*dialect.keys, *dialect.procedures):
            self.rows(statement)

    def _ask(self, line: str) -> str:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{line}{END}\n")
        self._process.stdin.flush()
        answer = []
        while (line := self._process.stdout.readline()) and line != f"{END}\n":
            answer.append(line)
        assert line, "HSQLDB ended"
        return "".join(answer)

    def rows(self, statement: str) -> Sequence[Sequence[Any]]:
        answer = self._ask(statement)
        assert not answer.startswith(ERROR), f"{answer}: {statement}"
        return [line.split("\t") for line in answer.splitlines()]

    def call(self, name: str, *given: int | str) -> bool:
        values = (f"'{one}'" if isinstance(one, str) else str(one) for one in given)
        answer = self._ask(f"CALL kneebench_{name}({', '.join(values)})")
        if answer.startswith(f"{ERROR}KB001"):
            return False
        assert not answer.startswith(ERROR), answer
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)
