"""The rooms and their order, names, sizes, and the modules of the Rust core: what CONTRIBUTING
says, checked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import kneebench
from kneebench.shelf import ENGINES

HOUSE = Path(kneebench.__file__).parent
ROOT = Path(__file__).parent.parent
PLACES = (
    ROOT,
    HOUSE,
    HOUSE / "campaign",
    HOUSE / "databases",
    HOUSE / "databases" / "tproc_c",
    HOUSE / "databases" / "engines" / "postgres",
)
"""Where the files are that the page for contributors names, some by their names alone."""
ROOMS = (
    "plan",
    "hosts",
    "lab",
    "databases",
    "workload",
    "measurement",
    "ladder",
    "results",
    "prediction",
    "brief",
)
GROUND = (
    "units",
    "errors",
    "stopping_signals",
    "started",
    "directories",
    "shelf",
    "records",
    "engine_properties",
    "extras",
    "secrets",
    "visible",
    "private_folder",
    "regular_file",
    "core_errors",
    "_core",
    "_odbc",
    "analysis",
)
BUILT = {"_core", "_odbc"}
"""Modules in Rust."""
ABOVE = (
    "campaign",
    "screen",
    "live",
    "notebook",
    "exit_handling",
    "commands",
    "cli",
    "results_reference",
    "docs_generator",
    "__main__",
    "__init__",
)
"""What is above the rooms, in its order: each may import the rooms, and what is before it."""
FORBIDDEN = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
MODULES = sorted(HOUSE.rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 500, 40


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(file)))


def imports(file: Path) -> Iterator[tuple[str, bool]]:
    """The parts of kneebench that a module imports ("plan" of kneebench.plan.configurations), and
    whether only for types.
    """
    typing_only = {
        id(node)
        for block in nodes(file)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    for node in nodes(file):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = (
                [f"kneebench.{alias.name}" for alias in node.names]
                if node.module == "kneebench"
                else [node.module]
            )
        yield from (
            (name.split(".")[1], id(node) in typing_only)
            for name in names
            if name.startswith("kneebench.")
        )


def name_of(file: Path) -> str:
    return str(file.relative_to(HOUSE))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_rooms_before_it_and_from_the_ground_floor(room: str) -> None:
    before = {*GROUND, *ROOMS[: ROOMS.index(room) + 1]}
    wrong = [
        f"{name_of(file)} imports {part}"
        for file in (HOUSE / room).rglob("*.py")
        for part, _ in imports(file)
        if part not in before
    ]
    assert wrong == []


def modules_imported(file: Path) -> set[Path]:
    """The files of the modules that a module imports, also those for types alone."""
    names = [
        f"{node.module}.{alias.name}"
        for node in nodes(file)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kneebench.")
        for alias in node.names
    ]
    places = [HOUSE.parent.joinpath(*name.split(".")) for name in names]
    found = (
        (place.with_suffix(".py"), place.parent.with_suffix(".py"), place.parent / "__init__.py")
        for place in places
    )
    return {file for files in found for file in [one for one in files if one.exists()][:1]}


def test_no_module_imports_itself_over_others_not_even_for_types() -> None:
    TopologicalSorter({file: modules_imported(file) for file in MODULES}).prepare()


def test_a_circle_of_modules_would_be_found() -> None:
    one, other = HOUSE / "cli.py", HOUSE / "errors.py"
    found = {file: modules_imported(file) for file in MODULES} | {other: {one}}
    with pytest.raises(CycleError):
        TopologicalSorter(found).prepare()


def test_the_ground_floor_stands_on_nothing_but_itself() -> None:
    files = [
        file
        for part in GROUND
        for file in (
            (HOUSE / part).rglob("*.py") if (HOUSE / part).is_dir() else [HOUSE / f"{part}.py"]
        )
        if file.exists()
    ]
    wrong = [
        f"{name_of(file)} imports {part}"
        for file in files
        for part, _ in imports(file)
        if part not in GROUND
    ]
    assert wrong == []


def named_files(page: str) -> list[str]:
    """The files and folders of code that a page names, without patterns and examples."""
    names = re.findall(r"`((?:[a-z_\-]+/)*[a-z_]*(?:\.(?:py|rs)|/))`", page)
    return [name for name in names if not name.startswith((".", "/"))]


def test_the_page_for_contributors_names_files_that_are_there() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    named = named_files(page)
    assert len(named) > 60
    assert [name for name in named if not any((at / name).exists() for at in PLACES)] == []


def test_the_page_for_contributors_lists_the_rooms_and_the_ground_floor() -> None:
    page = " ".join((ROOT / "CONTRIBUTING.md").read_text().split())
    assert f"`{' -> '.join(ROOMS)}`" in page
    ground = ", ".join(f"`{name}`" for name in GROUND if name not in BUILT)
    assert f"the ground floor ({ground})" in page


def files_of(part: str) -> list[Path]:
    """The files of a room, or the one of a module."""
    return list((HOUSE / part).rglob("*.py")) if (HOUSE / part).is_dir() else [HOUSE / f"{part}.py"]


def test_every_module_and_package_has_its_place_in_the_house() -> None:
    there = {file.relative_to(HOUSE).parts[0].removesuffix(".py") for file in MODULES}
    assert there == {*GROUND, *ROOMS, *ABOVE} - BUILT


@pytest.mark.parametrize("part", [part for part in ABOVE if part != "__init__"])
def test_what_is_above_the_rooms_imports_only_what_is_before_it(part: str) -> None:
    before = {*GROUND, *ROOMS, *ABOVE[: ABOVE.index(part) + 1]}
    assert [
        f"{name_of(file)} imports {other}"
        for file in files_of(part)
        for other, _ in imports(file)
        if other not in before
    ] == []


def test_only_the_door_knows_the_plan_and_all_behind_it_the_study() -> None:
    """The door: where a command begins, and a person's Python."""
    door = {"campaign/preflight.py", "notebook/running.py", "__init__.py"}
    door |= {f"commands/{name}.py" for name in ("accepting", "plans", "trusting")}
    found = {
        name_of(file)
        for file in MODULES
        if "plan" not in file.relative_to(HOUSE).parts[:1]
        for node in nodes(file)
        if (isinstance(node, ast.alias) and node.name == "Plan")
        or (isinstance(node, ast.Attribute) and re.search(r"study.*\.written$", ast.unparse(node)))
    }
    assert found == door


def test_a_stored_plan_becomes_a_study_at_one_place_and_what_measures_holds_parts_of_it() -> None:
    """The other two read documents, not a campaign (docs/decisions/plan-resolved-once.md)."""
    found = {
        name_of(file)
        for file in MODULES
        for node in nodes(file)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "Study.kept"
    }
    readers = {"brief/sections/repeat.py", "results/compare_plans.py"}
    assert found == {"results/head.py"} | readers
    holders = [f"campaign/{name}.py" for name in ("restored", "bench", "power")]
    for name in (*holders, "screen/progress.py"):
        assert "Study" not in (HOUSE / name).read_text(), name


def test_what_every_managed_server_needs_names_no_engine() -> None:
    engines = "postgres|pg_|wal|simulated|mariadb|mysql|innodb"
    files = (HOUSE / "databases" / "managed").rglob("*.py")
    lines = [(file, line) for file in files for line in file.read_text().splitlines()]
    found = [(file, line) for file, line in lines if re.search(engines, line, re.IGNORECASE)]
    assert [f"{name_of(file)}: {line.strip()}" for file, line in found] == []


def test_the_properties_of_an_engine_stand_on_the_ground_floor() -> None:
    folders = [HOUSE / "databases" / "engines" / name for name in ENGINES.names()]
    files = [
        file
        for folder in folders
        for module in ("properties", "footprint")
        if (file := folder / f"{module}.py").exists()
    ]
    wrong = [
        f"{name_of(file)} imports {part}"
        for file in files
        for part, _ in imports(file)
        if part not in (*GROUND, "databases")
    ]
    assert wrong == []


def test_the_table_of_an_engine_needs_no_whole_plan() -> None:
    """Else the plan, which finds the tables, and a table would wait for each other."""
    tables = {
        name: (HOUSE / "databases" / "engines" / name / "table.py").read_text()
        for name in ENGINES.names()
    }
    imported = {
        name: set(re.findall(r"from kneebench\.(plan[\w.]*) import", text))
        for name, text in tables.items()
    }
    assert {
        name
        for name, found in imported.items()
        if found
        - {
            f"plan.{part}"
            for part in (
                "constraints",
                "database",
                "managed_database",
                "server_url",
                "storage",
                "values",
            )
        }
    } == set()


NEUTRAL = (
    "lab",
    "measurement",
    "analysis",
    "ladder",
    "brief/sections",
    "plan/duration.py",
    "plan/default.py",
    "plan/amounts.py",
    "campaign/preflight.py",
)
ONE_DATABASE = (
    r"innodb|mariadb|mysql|postgres|\bpg_|pgstat|pgpass|libpq|sslmode|sqlstate|vacuum"
    r"|\bwal(?![lk])|checkpointer|shared_buffers"
)


def test_what_measures_and_judges_names_no_object_of_one_database() -> None:
    found = [HOUSE / part for part in NEUTRAL]
    files = [
        file
        for one in found
        for file in (one.rglob("*.py") if one.is_dir() else [one])
        if file.parent.name != "meters"
    ]
    lines = [(file, line) for file in files for line in file.read_text().splitlines()]
    assert [
        f"{name_of(file)}: {line.strip()}"
        for file, line in lines
        if re.search(ONE_DATABASE, line.lower())
    ] == []


MAY_NAME_AN_ENGINE = {
    "plan/database.py": "the default engine",
    "databases/engine.py": "the protocols of the core",
    "databases/odbc/session.py": "SQLSTATEs, which are ODBC's",
}


def test_no_code_outside_its_folder_names_an_object_of_one_database() -> None:
    """Docstrings may, for their examples."""
    engines = [f"databases/engines/{name}/" for name in ENGINES.names()]
    own = (*engines, "databases/innodb/")
    files = [file for file in MODULES if not name_of(file).startswith(own)]
    assert {
        name_of(file) for file in files if re.search(ONE_DATABASE, code_of(file).lower())
    } == set(MAY_NAME_AN_ENGINE)


def test_mariadb_and_mysql_import_nothing_from_each_others_folder() -> None:
    others = [
        f"{name_of(file)}: {other}"
        for name, other in (("mariadb", "mysql"), ("mysql", "mariadb"))
        for file in (HOUSE / "databases" / "engines" / name).rglob("*.py")
        if f"engines.{other}" in file.read_text()
    ]
    assert others == []


def code_of(file: Path) -> str:
    """The code of a module, without comments and docstrings."""
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [
                one
                for one in body
                if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ]
    return ast.unparse(tree)


def test_no_file_and_no_folder_has_a_name_that_says_nothing() -> None:
    assert [
        name_of(file)
        for file in MODULES
        if FORBIDDEN & {part.removesuffix(".py") for part in file.relative_to(HOUSE).parts}
    ] == []


def test_measuring_prints_nothing_at_all() -> None:
    prints = [
        f"{name_of(file)}:{node.lineno}"
        for room in ROOMS
        for file in (HOUSE / room).rglob("*.py")
        for node in nodes(file)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert prints == []


def test_files_and_functions_are_short() -> None:
    long = [
        f"{name_of(file)}: {lines} lines"
        for file in MODULES
        if (lines := len(file.read_text().splitlines())) > LONGEST_FILE
    ]
    for file in MODULES:
        functions = (
            node for node in nodes(file) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        )
        sizes = ((node.name, (node.end_lineno or 0) - node.lineno + 1) for node in functions)
        long += [
            f"{name_of(file)}: {name} has {lines} lines"
            for name, lines in sizes
            if lines > LONGEST_FUNCTION
        ]
    assert long == []


def test_a_public_class_has_its_name_for_itself() -> None:
    """A reader who meets the name anywhere knows which one it is."""
    files: dict[str, list[str]] = {}
    for file in MODULES:
        for node in nodes(file):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files.setdefault(node.name, []).append(name_of(file))
    assert {name: places for name, places in files.items() if len(places) > 1} == {}


def test_every_module_says_in_its_first_line_what_it_is() -> None:
    assert [name_of(file) for file in MODULES if not ast.get_docstring(tree_of(file))] == []


def test_public_names_are_those_that_the_package_exports_and_each_is_documented() -> None:
    assert kneebench.__all__ == sorted(kneebench.__all__)
    assert [name for name in kneebench.__all__ if not getattr(kneebench, name).__doc__] == []


# --- tests ----------------------------------------------------------------------------------------

TESTS = sorted(Path(__file__).parent.rglob("*.py"))


def test_no_file_of_tests_imports_another_one_of_tests() -> None:
    modules = (
        (file, node.module)
        for file in TESTS
        for node in nodes(file)
        if isinstance(node, ast.ImportFrom)
    )
    assert [
        f"{file.name} imports {module}"
        for file, module in modules
        if module and re.match(r"(tests\.)?test_", module)
    ] == []


def test_tests_have_names_of_four_words_or_more_and_their_functions_are_short() -> None:
    functions = [
        (file, node) for file in TESTS for node in nodes(file) if isinstance(node, ast.FunctionDef)
    ]
    names = [
        f"{file.name}: {node.name}"
        for file, node in functions
        if node.name.startswith("test_") and len(node.name.split("_")) < 5
    ]
    long = [
        f"{file.name}: {node.name}"
        for file, node in functions
        if (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION
    ]
    assert names + long == []


def test_every_file_of_tests_says_in_its_first_line_what_it_is() -> None:
    assert [file.name for file in TESTS if not ast.get_docstring(tree_of(file))] == []


# --- lines ----------------------------------------------------------------------------------------

LONGEST_LINE = 100
WRITTEN = ("*.py", "*.pyi", "*.rs", "*.sql", "*.md", "*.toml", "*.css", "*.j2")


def written_files() -> list[Path]:
    """All code and pages of a checkout, without what was built or installed into it."""
    places = ("bench", "docs", "python", "src", "tests")
    below = [file for place in places for kind in WRITTEN for file in (ROOT / place).rglob(kind)]
    top = [file for kind in WRITTEN for file in ROOT.glob(kind)]
    return [*top, ROOT / "Makefile", *below]


def lines_of(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that may be wrapped: without tables, URLs, and a page's quoted output."""
    quoted = False
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        if file.suffix == ".md" and line.lstrip().startswith("```"):
            quoted = not quoted
        elif not quoted and not line.startswith("|") and "https://" not in line:
            yield number, line


def test_no_line_of_code_or_of_a_page_is_too_long() -> None:
    assert [
        f"{file.relative_to(ROOT)}:{number}: {len(line)} columns"
        for file in written_files()
        for number, line in lines_of(file)
        if len(line) > LONGEST_LINE
    ] == []


# --- the Rust core --------------------------------------------------------------------------------

CORE = Path(__file__).parent.parent / "src"
TEST_CODE = re.compile(r"#\[cfg\(test\)\].*", re.DOTALL)
"""In every file the code for tests comes last."""
PROTOCOLS = {
    "postgres": "postgres|libpq",
    "mysql": "mysql|mariadb",
    "tds": r"\btds|babelfish|sql server",
}
"""The words of each wire protocol, and of its servers."""
NAMING_ALL = ("protocols.rs", "session/odbc/contract_tests.rs")
"""Files that name them: sessions over ODBC are tried on their servers."""


def core_module(file: Path) -> tuple[str, ...]:
    """("session", "postgres") of src/session/postgres/mod.rs; () of src/lib.rs."""
    parts = file.relative_to(CORE).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def core_sources() -> dict[tuple[str, ...], str]:
    """The code of every module, without comments and without tests."""
    files = [
        file
        for file in sorted(CORE.rglob("*.rs"))
        if file.stem not in ("tests", "contract", "contract_tests")
    ]
    return {
        core_module(file): re.sub(r"//[^\n]*", "", TEST_CODE.sub("", file.read_text()))
        for file in files
    }


def expanded(path: str) -> Iterator[str]:
    """The single paths of a use declaration: "a::{b, c::d}" gives "a::b" and "a::c::d"."""
    head, brace, rest = path.partition("{")
    if not brace:
        yield path.partition(" as ")[0].strip()
        return
    depth, item = 0, ""
    for character in rest[: rest.rindex("}")] + ",":
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield from expanded(head + item.strip()) if item.strip() else ()
            item = ""
        else:
            item += character


def core_imports(
    module: tuple[str, ...], code: str, modules: set[tuple[str, ...]]
) -> set[tuple[str, ...]]:
    """The modules that a module uses, by `use` or by a path in its code."""
    uses = [
        path for found in re.findall(r"\buse\s+([^;]+);", code) for path in expanded(found.strip())
    ]
    paths = (
        uses
        + re.findall(r"\b(?:crate|self|super)(?:::\w+)+", code)
        + re.findall(r"\b[a-z_]+(?:::\w+)+", code)
    )
    found = set()
    for path in paths:
        first, *rest = path.split("::")
        start = {"crate": (), "self": module, "super": module[:-1]}.get(first, (*module, first))
        target = (*start, *rest)
        known = next(
            (target[:length] for length in range(len(target), 0, -1) if target[:length] in modules),
            (),
        )
        if known and known != module and (first in ("crate", "super", "self") or start in modules):
            found.add(known)
    return found


def cycles(imported: dict[tuple[str, ...], set[tuple[str, ...]]]) -> list[str]:
    """The modules that reach themselves over others."""

    def reached(module: tuple[str, ...]) -> set[tuple[str, ...]]:
        seen: set[tuple[str, ...]] = set()
        rest = list(imported[module])
        while rest:
            if (one := rest.pop()) not in seen:
                seen.add(one)
                rest += imported[one]
        return seen

    return ["::".join(module) for module in imported if module in reached(module)]


def test_no_module_of_the_core_imports_itself_over_others() -> None:
    sources = core_sources()
    modules = set(sources) - {()}
    imported = {module: core_imports(module, sources[module], modules) for module in modules}
    assert imported["worker",] >= {("session",), ("terminal",)}, "imports are found"
    assert cycles(imported) == []


def test_a_cycle_of_modules_would_be_found() -> None:
    a, b, c = ("a",), ("a", "b"), ("c",)
    code = {
        a: "use self::b::One;",
        b: "use crate::{c::Two, d::Three};",
        c: "fn f() { super::a::b::g() }",
    }
    imported = {module: core_imports(module, code[module], {a, b, c}) for module in code}
    assert imported == {a: {b}, b: {c}, c: {b}}
    assert cycles(imported) == ["a::b", "c"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_only_a_protocols_session_and_the_list_of_protocols_name_it(protocol: str) -> None:
    files = [
        file
        for file in CORE.rglob("*.rs")
        if not str(file.relative_to(CORE)).startswith((f"session/{protocol}/", *NAMING_ALL))
    ]
    lines = [
        (file, line)
        for file in files
        for line in file.read_text().splitlines()
        if re.search(PROTOCOLS[protocol], line, re.IGNORECASE)
    ]
    assert [
        f"{file.relative_to(CORE)}: {line}"
        for file, line in lines
        if line != f"pub mod {protocol};"
    ] == []


def test_files_of_the_core_are_short() -> None:
    assert [
        f"{file.relative_to(ROOT)}: {lines} lines"
        for file in (*CORE.rglob("*.rs"), *(ROOT / "bench").glob("*.rs"))
        if file.stem != "tests" and (lines := len(file.read_text().splitlines())) > LONGEST_FILE
    ] == []
