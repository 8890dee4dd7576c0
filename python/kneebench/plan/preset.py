"""Plans to start from: files in the folder `presets`, by name; those after published documents are
in a folder of their own within.

The repository's `plans` is the same folder.
"""

from __future__ import annotations

from pathlib import Path

from kneebench.errors import PlanError, UnknownPart

_FOLDER = Path(__file__).parent / "presets"
_PUBLISHED = _FOLDER / "published"


def presets() -> list[str]:
    """The names there are, without those after published documents.

    >>> presets()
    ['cloud', 'emulated', 'memory', 'quick', 'running', 'scan', 'server', 'simulated']
    """
    return sorted(file.stem for file in _FOLDER.glob("*.toml"))


def published_presets() -> list[str]:
    """The names of the plans after published documents.

    >>> published_presets()
    ['micron-9300-sata', 'micron-9300-scaling', 'register-9100', 'sandisk-sn861']
    """
    return sorted(file.stem for file in _PUBLISHED.glob("*.toml"))


def preset_text(name: str) -> str:
    """The TOML of a preset, with its comments; raises UnknownPart with the names there are, and
    PlanError for no name.
    """
    if name in published_presets():
        return (_PUBLISHED / f"{name}.toml").read_text()
    if not name:
        do = f"name one of: {', '.join(presets())}; --published lists more"
        raise PlanError("kneebench plan preset", seen="no name", do=do)
    if name not in presets():
        raise UnknownPart("preset", name, [*presets(), *published_presets()])
    return (_FOLDER / f"{name}.toml").read_text()
