"""The references in docs/, written from what they describe: `make docs`.

docs/plan.md comes from the plan's JSON Schema, docs/cli.md from each command's own help, so neither can say
what is not so; a test compares the files with what is written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kneebench.plan.explanation import dotted
from kneebench.plan.schema import TIME_ALLOWED, Key, Table, tables

_GENERATED = "<!-- Written by `make docs`; change the source, not this file. -->"
_COLUMNS = 100

_PLAN_HEAD = """# The plan

A plan is one TOML file. It says what shall be asked: storages to compare, the database, the workload, how the
knee is searched. Only `[storages]` is required. `kneebench plan preset quick` prints one to start from,
`kneebench check plan.toml` says what it would do here, and every error names file, line, key, what was seen and
what is allowed. The same as a JSON Schema: `kneebench plan schema`.

Times are text with a unit: `"500us"`, `"5ms"`, `"30s"`, `"10min"`, `"4h"`. Paths are relative to the directory
in which kneebench is started. A password never stands in a plan: it comes from `PGPASSWORD` or from a passfile.
"""

_CLI_HEAD = """# The command line

Progress goes to stderr: a live table in a terminal, plain lines elsewhere. Results go to stdout. With `--json`
`run` prints one event a line on stdout, and the other commands print one document.

| exit code | |
|---|---|
| 0 | done |
| 1 | something else that was foreseen: the message says what was being done, what was seen, what to do |
| 2 | the plan, or something on this machine that it names, is wrong; also a wrong option |
| 3 | something was measured, but not what was asked: the database was lost or out of room, transactions failed, or the load generator was the limit |
| 4 | a self-check of the results failed: the figures cannot be trusted |
| 5 | refused: going on could destroy something that is not kneebench's |
| 130 | stopped by Ctrl-C or SIGTERM: the machine was put back, what was measured is kept |
"""


def plan_reference() -> str:
    """docs/plan.md: each table of the plan with its keys."""
    return "\n".join([_PLAN_HEAD, *(line for table in tables() for line in _section(table)), _GENERATED, ""])


def cli_reference() -> str:
    """docs/cli.md: the help of every command, as it is printed."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from kneebench.cli import app

    runner = CliRunner(env={"COLUMNS": str(_COLUMNS), "NO_COLOR": "1"})
    lines = [_CLI_HEAD]
    for words in _commands(get_command(app)):
        answer = runner.invoke(app, [*words, "--help"], prog_name="kneebench")
        lines += [f"## `{' '.join(['kneebench', *words])}`\n", f"```text\n{answer.output.rstrip()}\n```\n"]
    return "\n".join([*lines, _GENERATED, ""])


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words that name each command, a group before its members."""
    yield words
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*words, name))


def _section(table: Table) -> Iterator[str]:
    name = ".".join("NAME" if part == "*" else dotted((part,)) for part in table.path)
    yield f"## `[{name}]`" if name else "## Top level"
    yield f"\n{table.description}\n"
    if table.keys:
        yield "| key | what it is | allowed | default |"
        yield "|---|---|---|---|"
        yield from (_row(key) for key in table.keys)
        yield ""


def _row(key: Key) -> str:
    default = "required" if key.default is None else f"`{key.default}`" if key.default else "none"
    allowed = key.allowed.replace(TIME_ALLOWED, "a time")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (f"`{key.name}`", key.description, allowed, default)) + " |"


def write(folder: Path) -> None:
    """Write both references into a folder."""
    (folder / "plan.md").write_text(plan_reference())
    (folder / "cli.md").write_text(cli_reference())
