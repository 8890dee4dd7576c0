"""What is sent to a host: the files of kneebench that run there, and those of the packages that
they need, as one archive.
"""

from __future__ import annotations

import base64
import io
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import kneebench

ROOT = Path(kneebench.__file__).parent
LOAD_PARTS = (
    "__init__.py",
    "_core.abi3.so",
    "core_errors.py",
    "hosts/__init__.py",
    "hosts/pipe.py",
    "hosts/bandwidth.py",
    "hosts/interfaces.py",
    "hosts/load_agent.py",
)
"""Of a load host: the Rust core, and what the standard library alone can run."""
NEEDED = (
    "annotated-types",
    "psutil",
    "pydantic",
    "pydantic-core",
    "typing-extensions",
    "typing-inspection",
)
"""Packages that a database host needs beside kneebench itself, and those of its engines."""
LEFT_OUT = ("__pycache__", ".pyc", "_odbc.abi3.so")
"""Of the whole house: what is compiled there, and what needs drivers of this machine."""


class Package(NamedTuple):
    """Files for a host; `name`: of their contents, so that another kneebench has other files;
    `packed`: makes their archive, in base64; `python`: the version that they are compiled for, None
    where any will do.
    """

    name: str
    size_bytes: int
    packed: Callable[[], str]
    python: tuple[int, int] | None = None


NOTHING = Package("", 0, str)
"""For this machine, where everything is."""


@cache
def load_package() -> Package:
    """For a load host; the same for all of them."""
    return _package({f"kneebench/{part}": ROOT / part for part in LOAD_PARTS})


def database_package(of_engines: Iterable[str]) -> Package:
    """For a database host; `of_engines`: the packages that its engines need."""
    files = {str(file.relative_to(ROOT.parent)): file for file in _below(ROOT)}
    for name in (*NEEDED, *of_engines):
        files |= _files_of(name)
    return _package(files)._replace(python=sys.version_info[:2])


def _below(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.rglob("*")) if file.is_file() and _wanted(file))


def _wanted(file: Path) -> bool:
    return not any(part.endswith(LEFT_OUT) for part in file.parts)


def _files_of(package: str) -> dict[str, Path]:
    """The files of an installed package, by where they belong."""
    listed = metadata.files(package) or []
    inside = [one for one in listed if ".." not in one.parts and _wanted(Path(one))]
    return {str(one): Path(str(one.locate())) for one in inside}


def _package(files: Mapping[str, Path]) -> Package:
    digest, size_bytes = blake2b(digest_size=12), 0
    for name, file in files.items():
        content = file.read_bytes()
        size_bytes += len(content)
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return Package(digest.hexdigest(), size_bytes, cache(lambda: _archive(files)))


def _archive(files: Mapping[str, Path]) -> str:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for name, file in files.items():
            archive.add(file, name)
    return base64.b64encode(packed.getvalue()).decode()


def program_text() -> str:
    """The program that is sent before anything else is there."""
    parts = [(ROOT / "hosts" / name).read_text() for name in ("pipe.py", "host_program.py")]
    return "\n".join([*parts, "main(Pipe)\n"])
