"""Extras: what is said where the packages of one are missing, by how kneebench was installed."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kneebench import extras
from kneebench.commands.output import checked_page
from kneebench.errors import PlanError
from kneebench.extras import MODULES, install_command, require_extra

PROJECT: dict[str, Any] = tomllib.loads(
    (Path(__file__).parent.parent / "pyproject.toml").read_text()
)["project"]


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment in which only the page's extra and pip are installed."""
    there = {*MODULES["live"], "pip"}
    monkeypatch.setattr(
        extras, "find_spec", lambda name: find_spec("json") if name in there else None
    )
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/a place/bin/python")
    return tmp_path


def test_each_extra_lists_the_modules_of_its_packages() -> None:
    packages = {
        extra: tuple(re.split(r"[<>=]", one)[0].replace("-", "_") for one in requirements)
        for extra, requirements in PROJECT["optional-dependencies"].items()
    }
    assert packages == MODULES


def test_an_extra_that_is_installed_is_no_error(prefix: Path) -> None:
    require_extra("live", "the live page")


def test_a_missing_extra_is_an_error_with_the_command_of_pip(prefix: Path) -> None:
    with pytest.raises(PlanError) as caught:
        checked_page(Path("page.pdf"))
    assert str(caught.value) == (
        "cannot write page.pdf: the package typst is not installed; install it with:"
        " '/a place/bin/python' -m pip install 'kneebench[pdf]'"
    )


def test_without_pip_the_command_is_that_of_uv(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert install_command("pdf") == (
        "uv pip install --python '/a place/bin/python' 'kneebench[pdf]'"
    )


def test_a_tool_of_uv_is_installed_again_with_the_extras_that_it_has(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "which", lambda name: f"/usr/bin/{name}")
    (prefix / "uv-receipt.toml").touch()
    monkeypatch.setattr(extras, "_origin", lambda: " @ file:///dist/kneebench.whl")
    assert install_command("pdf") == (
        "uv tool install 'kneebench[live,pdf] @ file:///dist/kneebench.whl'"
    )


def test_pipx_injects_the_extra_into_its_environment(prefix: Path) -> None:
    (prefix / "pipx_metadata.json").touch()
    assert install_command("power") == "pipx inject kneebench 'kneebench[power]'"


def test_where_the_shell_finds_no_uv_the_command_fetches_it(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (prefix / "uv-receipt.toml").touch()
    monkeypatch.setattr(extras, "which", lambda name: None)
    assert install_command("pdf").startswith("pip install uv && uv tool install ")
