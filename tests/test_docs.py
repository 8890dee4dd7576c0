"""The docs say what is so: generated pages are current, every command and key is documented,
examples run, links lead somewhere.
"""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest

from kneebench.docs_generator import generated
from kneebench.engine_properties import engine_properties
from kneebench.errors import KneebenchError
from kneebench.plan.default import sized_plan
from kneebench.plan.json_schema import tables
from kneebench.plan.preset import preset_text, presets
from kneebench.plan.reader import parse_plan
from kneebench.results_reference import results_reference
from kneebench.shelf import ENGINES, STOPS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
COMMANDS = {
    "hosts",
    "what-if",
    "run",
    "accept",
    "check",
    "drives",
    "durability",
    "profile",
    "plan",
    "power",
    "live",
    "list",
    "show",
    "compare",
    "trend",
    "pack",
    "brief",
    "clean",
    "components",
    "completion",
    "noise",
}


def page(name: str) -> str:
    return (ROOT / name).read_text()


def test_every_generated_page_is_current() -> None:
    for path, text in generated(ROOT).items():
        assert path.read_text() == text, f"write {path} again: make docs"


@pytest.mark.parametrize("engine", ENGINES.names())
def test_every_setting_that_check_warns_of_is_in_the_docs(engine: str) -> None:
    text = "".join(page(str(file.relative_to(ROOT))) for file in ROOT.glob("docs/*.md"))
    names = {one.name for one in engine_properties(engine).safety_settings}
    assert {name for name in names if f"`{name}`" not in text.lower()} == set()


def test_every_field_in_the_reference_of_results_has_content() -> None:
    section, empty = "", []
    for line in "".join(results_reference().values()).splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        elif re.search(r"\| +\|$", line):
            empty.append(f"{section}: {line}")
    assert not empty, "\n".join(["describe these fields below them:", *empty])


def test_every_key_of_the_plan_is_in_its_reference() -> None:
    text = page("docs/plan.md")
    assert [
        key.name for table in tables() for key in table.keys if f"| `{key.name}` |" not in text
    ] == []


def test_every_command_that_a_page_names_exists() -> None:
    for path in PAGES:
        named = set(re.findall(r"(?:`|\$ )kneebench ([a-z][a-z-]*)", path.read_text()))
        assert named <= COMMANDS, path.name


def test_every_stop_and_engine_is_in_the_docs() -> None:
    climb = page("docs/method/climb.md")
    assert [name for name in STOPS.names() if f"| {name} |" not in climb] == []
    assert [name for name in ENGINES.names() if name not in page("docs/plan.md")] == []


def test_every_preset_is_in_the_readme_and_in_the_reference_of_plans() -> None:
    for name in ("README.md", "docs/plan.md"):
        assert [one for one in presets() if f"`{one}`" not in page(name)] == []


def test_the_readme_is_short_and_has_the_rounds_of_the_default_plan_as_the_tutorial_has() -> None:
    assert len(page("README.md").split()) <= 900
    least, most = sized_plan(Path("/d"), 20).ladder.repeats
    assert f"rounds of at most {most}: NOPM half-width" in page("README.md")
    assert f"{least} to {most} short" in " ".join(page("docs/tutorial.md").split())


def test_every_exit_code_of_the_error_tree_is_in_the_docs() -> None:
    codes = {error.exit_code for error in (KneebenchError, *KneebenchError.__subclasses__())}
    assert all(f"| {code} |" in page("docs/cli.md") for code in codes)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_plan_shown_in_a_page_is_a_plan(path: Path) -> None:
    for text in re.findall(r"```toml\n(.*?)```", path.read_text(), re.DOTALL):
        parse_plan(text, path.name)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings_that_are_there(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md", "docs/python.md"])
def test_the_python_examples_of_a_page_run_as_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(preset_text("simulated"))
    examples = doctest.DocTestParser().get_doctest(
        page(name).replace("```\n", "\n"), {}, name, name, 0
    )
    assert examples.examples
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(examples).failed == 0


def test_every_test_has_a_name_that_is_a_sentence() -> None:
    short = [
        f"{file.name}: {node.name}"
        for file in (ROOT / "tests").glob("test_*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and len(node.name.split("_")) < 4
    ]
    assert short == []
