"""On which line of a TOML text each key stands: tomllib tells values, not places.

The text must be valid TOML (tomllib has read it before), so the scan only has to know where keys
and values end. Arrays of tables count as arrays: their members' lines are found by index. Written
after the grammar of TOML 1.0 (toml.io/en/v1.0.0).
"""

from __future__ import annotations

import re
import tomllib

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r'[ \t]*("(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[A-Za-z0-9_-]+)[ \t]*(\.?)')
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL
)
_BARE = re.compile(r"[^,\]}\n#]+")


class Lines:
    """The lines of a TOML text's keys, counted from 1.

    >>> lines = Lines('seed = 1\\n[ladder]\\nstops.plateau = { steps = 2 }\\n')
    >>> lines.of("ladder", "stops", "plateau", "steps"), lines.of("ladder", "absent")
    (3, 2)
    >>> lines.of("absent")
    1
    """

    def __init__(self, text: str) -> None:
        self._text, self._at = text.replace("\r\n", "\n"), 0
        self._counted, self._row = 0, 1
        self._line: dict[Path, int] = {}
        self._array_tables: dict[Path, int] = {}
        self._document()

    def of(self, *path: str | int) -> int:
        """The line of the key, or of the nearest table around it that is written down; 1 where
        there is none.
        """
        return next(
            (self._line[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self._line), 1
        )

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self._text, self._at)
        assert found, f"no valid TOML at character {self._at}"
        self._at = found.end()
        return found

    def _takes(self, sign: str) -> bool:
        if not self._text.startswith(sign, self._at):
            return False
        self._at += len(sign)
        return True

    def _note(self, path: Path) -> None:
        self._row += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        for n in range(1, len(path) + 1):
            self._line.setdefault(path[:n], self._row)

    def _key(self) -> tuple[str, ...]:
        parts: list[str] = []
        dot = "."
        while dot:
            name, dot = self._take(_KEY).groups()
            parts.append(next(iter(tomllib.loads(f"{name} = 0"))) if name[0] in "\"'" else name)
        return tuple(parts)

    def _document(self) -> None:
        table: Path = ()
        while self._take(_BLANK) and self._at < len(self._text):
            if self._takes("[["):
                table = self._next_of(self._key())
                self._takes("]]")
            elif self._takes("["):
                table = self._inside(self._key())
                self._takes("]")
            else:
                self._pair(table)
                continue
            self._note(table)

    def _inside(self, key: tuple[str, ...]) -> Path:
        """The path of a table, with the index where a part of it is an array of tables."""
        path: Path = ()
        for part in key:
            path = (*path, part)
            if path in self._array_tables:
                path = (*path, self._array_tables[path])
        return path

    def _next_of(self, key: tuple[str, ...]) -> Path:
        path: Path = (*self._inside(key[:-1]), key[-1])
        self._array_tables[path] = self._array_tables.get(path, -1) + 1
        return (*path, self._array_tables[path])

    def _pair(self, table: Path) -> None:
        path = (*table, *self._key())
        self._note(path)
        self._takes("=")
        self._value(path)

    def _value(self, path: Path) -> None:
        self._take(_BLANK)
        if self._takes("["):
            self._members(path)
        elif self._takes("{"):
            self._pairs(path)
        elif self._text[self._at] in "\"'":
            self._take(_STRING)
        else:
            self._take(_BARE)

    def _members(self, path: Path) -> None:
        index = 0
        while self._take(_BLANK) and not self._takes("]"):
            self._note((*path, index))
            self._value((*path, index))
            self._take(_BLANK)
            self._takes(",")
            index += 1

    def _pairs(self, path: Path) -> None:
        while self._take(_BLANK) and not self._takes("}"):
            self._pair(path)
            self._take(_BLANK)
            self._takes(",")
