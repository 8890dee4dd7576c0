"""What is sent to a load host: kneebench's core and the few files that run there, as one zip."""

from __future__ import annotations

import base64
import io
import zipfile
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import kneebench

ROOT = Path(kneebench.__file__).parent
PARTS = (
    "__init__.py",
    "_core.abi3.so",
    "hosts/__init__.py",
    "hosts/pipe.py",
    "hosts/load_agent.py",
)


class Package(NamedTuple):
    """Files for a host; `name`: of their contents, so that another kneebench has other files."""

    name: str
    files: str


@cache
def load_package() -> Package:
    """For a load host; the files are base64."""
    packed, digest = io.BytesIO(), blake2b(digest_size=12)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for part in PARTS:
            content = (ROOT / part).read_bytes()
            digest.update(f"{part} {len(content)}\n".encode() + content)
            archive.writestr(f"kneebench/{part}", content)
    return Package(digest.hexdigest(), base64.b64encode(packed.getvalue()).decode())


def program_text() -> str:
    """The program that is sent before anything else is there."""
    parts = [(ROOT / "hosts" / name).read_text() for name in ("pipe.py", "host_program.py")]
    return "\n".join([*parts, "main(Pipe)\n"])
