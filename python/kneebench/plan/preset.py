"""Plans to start from: files in the folder `presets`, by name.

The repository's `plans` is the same folder.
"""

from __future__ import annotations

from pathlib import Path

from kneebench.errors import UnknownPart

_FOLDER = Path(__file__).parent / "presets"


def presets() -> list[str]:
    """The names there are.

    >>> presets()
    ['cloud', 'emulated', 'memory', 'quick', 'running', 'server', 'simulated']
    """
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


def preset_text(name: str) -> str:
    """The TOML of a preset, with its comments; raises UnknownPart with the names there are."""
    if name not in presets():
        raise UnknownPart("preset", name, presets())
    return (_FOLDER / f"{name}.toml").read_text()
