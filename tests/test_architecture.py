"""The rooms and their order, names, sizes: what CONTRIBUTING says, checked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kneebench

HOUSE = Path(kneebench.__file__).parent
ROOMS = ("plan", "lab", "databases", "workload", "measurement", "ladder", "results", "brief")
GROUND = ("units", "errors", "records", "secrets", "_core", "analysis")
FORBIDDEN = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
MODULES = sorted(HOUSE.rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 300, 40
LONG_FOR_A_REASON = {"records.py"}
"""Longer than a file should be: all that flows between the rooms is in one place, to be read from top to bottom."""


def imports(file: Path) -> Iterator[tuple[str, bool]]:
    """The parts of kneebench that a module imports ("plan" of kneebench.plan.cells), and whether only for types."""
    tree = ast.parse(file.read_text())
    typing_only = {id(node) for block in ast.walk(tree) if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test) for node in ast.walk(block)}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"kneebench.{alias.name}" for alias in node.names] if node.module == "kneebench" else [node.module]
        yield from ((name.split(".")[1], id(node) in typing_only) for name in names if name.startswith("kneebench."))


def name_of(file: Path) -> str:
    return str(file.relative_to(HOUSE))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_rooms_before_it_and_from_the_ground_floor(room: str) -> None:
    before = {*GROUND, *ROOMS[: ROOMS.index(room) + 1]}
    wrong = [f"{name_of(file)} imports {part}" for file in (HOUSE / room).rglob("*.py") for part, _ in imports(file) if part not in before]
    assert wrong == []


def test_the_ground_floor_stands_on_nothing_but_itself() -> None:
    files = [file for part in GROUND for file in ((HOUSE / part).rglob("*.py") if (HOUSE / part).is_dir() else [HOUSE / f"{part}.py"]) if file.exists()]
    wrong = [f"{name_of(file)} imports {part}" for file in files for part, _ in imports(file) if part not in GROUND]
    assert wrong == []


def test_no_room_imports_what_people_see() -> None:
    doors = {"cli", "commands", "screen", "campaign", "findings", "ending", "reference"}
    wrong = [f"{name_of(file)} imports {part}" for room in ROOMS for file in (HOUSE / room).rglob("*.py") for part, _ in imports(file) if part in doors]
    assert wrong == []


def test_no_file_and_no_folder_has_a_name_that_says_nothing() -> None:
    assert [name_of(file) for file in MODULES if FORBIDDEN & {part.removesuffix(".py") for part in file.relative_to(HOUSE).parts}] == []


def test_measuring_never_prints() -> None:
    prints = [
        f"{name_of(file)}:{node.lineno}"
        for room in ROOMS
        for file in (HOUSE / room).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert prints == []


def test_files_and_functions_are_short() -> None:
    files = [file for file in MODULES if name_of(file) not in LONG_FOR_A_REASON]
    long = [f"{name_of(file)}: {lines} lines" for file in files if (lines := len(file.read_text().splitlines())) > LONGEST_FILE]
    for file in MODULES:
        functions = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        sizes = ((node.name, (node.end_lineno or 0) - node.lineno + 1) for node in functions)
        long += [f"{name_of(file)}: {name} has {lines} lines" for name, lines in sizes if lines > LONGEST_FUNCTION]
    assert long == []


def test_every_module_says_in_its_first_line_what_it_is() -> None:
    assert [name_of(file) for file in MODULES if not ast.get_docstring(ast.parse(file.read_text()))] == []


def test_public_names_are_those_that_the_package_exports_and_each_is_documented() -> None:
    assert kneebench.__all__ == sorted(kneebench.__all__)
    assert [name for name in kneebench.__all__ if not getattr(kneebench, name).__doc__] == []
