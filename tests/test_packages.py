"""Packages, as far as is known without compiling: the metadata of the wheel, the files of the
source distribution, the man page. tests/test_installed_wheel.py installs one.
"""

from __future__ import annotations

import email
import re
import shutil
import subprocess
import sys
import tarfile
from email.message import Message
from pathlib import Path

import pytest

from kneebench.cli import app
from kneebench.extras import MODULES

ROOT = Path(__file__).parent.parent
MATURIN = Path(sys.executable).parent / "maturin"
MAN_PAGE = ROOT / "distribution/wheel/data/share/man/man1/kneebench.1"
NOT_SHIPPED = re.compile(r"/(tests|bench|docs|target)/|test_|/tests\.rs|_tests|\.so$|__pycache__")

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="Rust is not installed")


def maturin(*words: str) -> None:
    subprocess.run([MATURIN, *words], cwd=ROOT, check=True, capture_output=True, timeout=120)


@pytest.fixture(scope="module")
def wheel_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a wheel's metadata."""
    folder = tmp_path_factory.mktemp("metadata")
    maturin("pep517", "write-dist-info", "--metadata-directory", str(folder))
    [found] = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def metadata(wheel_files: Path) -> Message:
    return email.message_from_string((wheel_files / "METADATA").read_text())


@pytest.fixture(scope="module")
def source_files(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The paths in the source distribution, without its own folder."""
    folder = tmp_path_factory.mktemp("sdist")
    maturin("sdist", "--out", str(folder))
    [packed] = folder.iterdir()
    with tarfile.open(packed) as files:
        return {name.split("/", 1)[1] for name in files.getnames()}


def test_the_metadata_says_what_an_index_shows_and_an_installer_needs(metadata: Message) -> None:
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert metadata.get_all("Provides-Extra") == list(MODULES)
    assert "postgresql" in metadata["Keywords"]
    assert "Topic :: System :: Benchmark" in metadata.get_all("Classifier", [])
    urls = dict(one.split(", ") for one in metadata.get_all("Project-URL", []))
    assert set(urls) == {"Changelog", "Documentation", "Issues", "Source"}
    assert all(url.startswith(urls["Source"]) for url in urls.values())


def test_the_long_description_has_no_link_that_needs_a_checkout(metadata: Message) -> None:
    text = str(metadata.get_payload())
    links = re.findall(r'(?:\]\(|src="|href=")([^)"\s]+)', text)
    assert len(links) > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_the_wheel_installs_one_command_and_needs_nothing_heavy_that_is_an_extra(
    wheel_files: Path, metadata: Message
) -> None:
    commands = (wheel_files / "entry_points.txt").read_text()
    assert commands.split() == ["[console_scripts]", "kneebench=kneebench.__main__:main"]
    required = metadata.get_all("Requires-Dist", [])
    always = " ".join(one for one in required if "extra ==" not in one)
    assert not re.search("typst|fastapi|ray|pysnmp|cryptography", always)
    assert any(one.startswith("typst") and "'pdf'" in one for one in required)


def test_the_source_distribution_has_what_is_built_and_nothing_else(source_files: set[str]) -> None:
    needed = {"Cargo.lock", "Cargo.toml", "LICENSE", "NOTICE", "pyproject.toml", "src/lib.rs"}
    assert needed | {str(MAN_PAGE.relative_to(ROOT))} <= source_files
    assert [name for name in source_files if NOT_SHIPPED.search(f"/{name}")] == []
    folders = {name.split("/")[0] for name in source_files if "/" in name}
    assert folders == {"distribution", "python", "src"}


def test_every_file_of_the_package_is_in_the_source_distribution(source_files: set[str]) -> None:
    files = (file for file in (ROOT / "python").rglob("*") if file.is_file())
    own = {str(file.relative_to(ROOT)) for file in files if file.suffix not in (".pyc", ".so")}
    assert own - source_files == set()


def test_the_page_about_installing_names_every_extra_and_the_wheel_of_this_version(
    metadata: Message,
) -> None:
    page = (ROOT / "docs/install.md").read_text()
    assert [extra for extra in MODULES if f"| `{extra}` |" not in page] == []
    wheels = set(re.findall(r"kneebench-([\d.]+)-", page))
    assert wheels == {metadata["Version"]}


def test_make_puts_packages_where_it_is_said_to_and_into_dist_otherwise() -> None:
    for words, folder in (((), "dist"), (("DIST=elsewhere",), "elsewhere")):
        planned = subprocess.check_output(
            ["make", "--dry-run", "install", "dist", *words], cwd=ROOT, text=True
        )
        assert planned.count(f"--out {folder}") == 3


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_the_man_page_is_drawn_with_every_command_and_without_a_warning() -> None:
    drawn = subprocess.run(
        ["man", "--warnings", "-l", str(MAN_PAGE)], capture_output=True, text=True, check=True
    )
    assert drawn.stderr == ""
    names = [command.name for command in app.registered_commands if command.name]
    assert len(names) > 10
    for name in names:
        assert f"kneebench {name} " in drawn.stdout
    assert "--erase" in drawn.stdout and "130" in drawn.stdout
