"""Docs generator: the reference pages in docs/, generated from the plan's schema and the commands
(`make docs`), and what packages carry of them: the man page and README.md with absolute links.

docs/plan.md comes from the plan's JSON Schema, docs/cli.md from each command's own help,
docs/results.md and docs/frames.md from what is written there, so none can be out of date; a test
compares each file with the generated text.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kneebench.directories import make_directory
from kneebench.exit_handling import EXIT_CODES
from kneebench.plan import json_schema
from kneebench.plan.allowed import read_allowed
from kneebench.plan.explanation import dotted
from kneebench.plan.json_schema import PlanKey, PlanTable, tables
from kneebench.plan.value_text import POWER_ALLOWED, SIZE_ALLOWED, TIME_ALLOWED
from kneebench.results import file_schemas
from kneebench.results.atomic_write import write_text
from kneebench.results_reference import frames_reference, results_reference

_GENERATED = "<!-- Written by `make docs`; change the source, not this file. -->"
_COLUMNS = 100
_PAGES = "https://github.com/kneebench/kneebench/blob/main"
_PICTURES = "https://raw.githubusercontent.com/kneebench/kneebench/main"
_RELATIVE = re.compile(r'(\]\(|src="|href=")(?!#|[a-z]+:)([^)\s"]+)')
"""A link in Markdown or HTML to another file of the repository, after what stands before it."""

_PLAN_HEAD = """# The plan

A plan is one TOML file. It names the storages to compare, the database, the workload and the search
for the knee. Only `[storages]` is required, or `database.url` alone. `[databases.NAME]` tables in
place of `[database]` name [several databases](databases.md). `kneebench plan preset NAME` prints a
plan to start from: `quick`, `server`, `cloud`, `scan`, `running`, `emulated`, `memory` or
`simulated`.
`kneebench plan preset --published` lists plans after published documents.
`kneebench check plan.toml` is a dry run: it starts no program that the plan names, and lists those
that `run` would execute, with their arguments and accounts. Every error names file, line, key, the
value found and the values allowed. `kneebench plan schema` prints the JSON Schema.

Times are text with a unit: `"500us"`, `"5ms"`, `"30s"`, `"10min"`, `"4h"`; so is power: `"400W"`,
`"1.2kW"`. Paths are relative to
the directory in which kneebench is started. A plan contains no password: the key `url` says where
it comes from. Results contain only the first word of a command, and a hash.

A plan is a program: it can name commands, a server's binaries, hosts and drives, and `run` executes
them with your rights. Run only plans that you have read. Where root runs a plan file that another
user owns or could change, also by its directory, kneebench prints why and what would be executed,
and asks; without a terminal it refuses, unless you say `--trust-plan`. So does `profile`;
`hosts check` and `clean` ask where the plan names a Python for its hosts. Such a plan in your own
home, run by sudo, is one of another user: keep plans for root in a directory of root.

Limits: 256 KiB per plan, one week (`"168h"`) per warm-up or window, 30 days (`"720h"`) per climb,
100 characters per name. Names, texts and paths are single lines without control characters.
"""

_FILE_SYSTEM_HEAD = """## Options of a file system

`file_system.mkfs` may have these options, `file_system.mount` the ones below. Any other word is an
error. `0|1` is one of two values, square brackets mean that the value may be left out, and commas
stand between the entries of one list. A caret before a feature of `-O` or `-R` switches it off.

NUMBER is a whole number, PERCENT one like `0.5`. SIZE is in bytes or with a unit of 1024, as in
`64k`. UNITS is a SIZE, or blocks (`16384b`) or sectors (`128s`). LABEL has at most 12 letters,
digits, spaces and `_.-`. COMPRESSION is `zstd:3`, `zlib:9`, `lzo` or `no`.
"""

_CLI_HEAD = """# The command line

Progress goes to stderr: a live table in a terminal, plain lines elsewhere. Results go to stdout.
With `--json` `run` and `noise` print one event per line on stdout; the other commands print one
document.

| exit code | |
|---|---|
"""


def plan_reference() -> str:
    """docs/plan.md: each table of the plan with its keys."""
    return "\n".join(
        [
            _PLAN_HEAD,
            *(line for table in tables() for line in _section(table)),
            _FILE_SYSTEM_HEAD,
            *_file_system_options(),
            _GENERATED,
            "",
        ]
    )


def cli_reference() -> str:
    """docs/cli.md: the help of every command, as it is printed."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from kneebench.cli import app

    runner = CliRunner(env={"COLUMNS": str(_COLUMNS), "NO_COLOR": "1"})
    rows = (_cells(str(code), text) for code, text in EXIT_CODES.items())
    lines = ["\n".join([_CLI_HEAD.rstrip(), *rows, ""])]
    for words in _commands(get_command(app)):
        answer = runner.invoke(app, [*words, "--help"], prog_name="kneebench")
        lines += [
            f"## `{' '.join(['kneebench', *words])}`\n",
            f"```text\n{answer.output.rstrip()}\n```\n",
        ]
    return "\n".join([*lines, _GENERATED, ""])


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words that name each command, a group before its members."""
    yield words
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*words, name))


def _section(table: PlanTable) -> Iterator[str]:
    parts = ("NAME" if one == "*" else dotted((one.removesuffix("[]"),)) for one in table.path)
    name = ".".join(parts)
    if table.path and table.path[-1].endswith("[]"):
        name = f"[{name}]"
    yield f"## `[{name}]`" if name else "## Top level"
    yield f"\n{_wrapped(table.description)}\n"
    if table.keys:
        yield "| key | description | allowed | default |"
        yield "|---|---|---|---|"
        yield from (_row(key) for key in table.keys)
        yield ""


def _wrapped(text: str) -> str:
    """The text, in lines that are no longer than a page's."""
    return "\n".join(
        line if len(line) <= _COLUMNS else textwrap.fill(line, _COLUMNS, break_on_hyphens=False)
        for line in text.splitlines()
    )


def _row(key: PlanKey) -> str:
    default = "required" if key.default is None else f"`{key.default}`" if key.default else "none"
    allowed = key.allowed.replace(TIME_ALLOWED, "a time").replace(SIZE_ALLOWED, "a size")
    allowed = allowed.replace(POWER_ALLOWED, "a power")
    return _cells(f"`{key.name}`", key.description, allowed, default)


def _file_system_options() -> Iterator[str]:
    yield "| file system | option of mkfs | values |\n|---|---|---|"
    for kind, options in read_allowed().mkfs.items():
        long = {short: name for name, short in read_allowed().mkfs_names.get(kind, {}).items()}
        for option, forms in options.items():
            names = [f"`{name}`" for name in (option, long.get(option)) if name]
            listed = forms if isinstance(forms, tuple) else tuple(filter(None, [forms]))
            yield _cells(kind, ", ".join(names), _forms(listed))
    yield "\n| file system | mount options |\n|---|---|"
    for kind, own in read_allowed().mount.items():
        yield _cells(kind, _forms(own))
    yield ""


def _forms(forms: tuple[str, ...]) -> str:
    return ", ".join(f"`{form}`" for form in forms) or "none"


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def long_description(readme: str) -> str:
    """README.md as an index of packages shows it, without a checkout: its links are absolute.

    >>> print(long_description("[plan](docs/plan.md), [uv](https://uv)"))
    [plan](https://github.com/kneebench/kneebench/blob/main/docs/plan.md), [uv](https://uv)
    """
    return _RELATIVE.sub(lambda link: f"{link[1]}{_absolute(link[2])}", readme)


def _absolute(path: str) -> str:
    """Where a file of the repository is: a picture as it is, another as a page."""
    picture = path.endswith((".png", ".svg"))
    return f"{_PICTURES if picture else _PAGES}/{path}"


def write(root: Path) -> None:
    """Write the references, the man page and the long description of the packages into a
    checkout.
    """
    for path, text in schema_files().items():  # the reference of plans is made of one
        write_text(path, text)
    json_schema.plan_schema.cache_clear()
    for path, text in generated(root).items():
        make_directory(path.parent)
        write_text(path, text)


def schema_files() -> dict[Path, str]:
    """The JSON Schemas of the plan and of results as the package carries them, by path."""
    made = {
        json_schema.FILE: json_schema.made_schema(),
        file_schemas.FILE: file_schemas.made_schemas(),
    }
    return {path: json.dumps(schema, indent=1) + "\n" for path, schema in made.items()}


def generated(root: Path) -> dict[Path, str]:
    """What is generated in a checkout, by path."""
    return {
        **schema_files(),
        root / "docs/plan.md": plan_reference(),
        root / "docs/cli.md": cli_reference(),
        **{root / "docs" / path: text for path, text in results_reference().items()},
        root / "docs/frames.md": frames_reference(),
        root / "distribution/README.md": long_description((root / "README.md").read_text()),
        root / "distribution/wheel/data/share/man/man1/kneebench.1": man_page(),
    }


# The man page of the command, made of the commands' help as docs/cli.md is (`make docs`).

_HEAD = r""".\" Written by `make docs`; change the source, not this file.
.TH KNEEBENCH 1 "" "kneebench" "User Commands"
.SH NAME
kneebench \- what does this storage buy my database?
.SH SYNOPSIS
.B kneebench
.I COMMAND
.RI [ OPTION ]...
.RI [ ARGUMENT ]..."""

_FILES = {
    "kneebench-results/": "Campaigns, one folder each, in the directory that kneebench runs in.",
    "~/.local/state/kneebench/": "The journal of changes to this machine, which `kneebench clean`"
    " undoes, and tracebacks of internal errors.",
}

_AS_IT_IS = str.maketrans(
    {"\\": r"\e", "-": r"\-", '"': r"\(dq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
)
"""Characters that roff reads as commands, or draws as others that cannot be copied."""
_SEE = "https://github.com/kneebench/kneebench"


def man_page() -> str:
    """The page in roff, with all commands, options and exit codes.

    It names no date and no version, so that it changes with the commands only.
    """
    from typer.main import get_command

    from kneebench.cli import app

    whole = get_command(app)
    context = whole.make_context("kneebench", ["--version"], resilient_parsing=True)
    return "\n".join(
        [
            _HEAD,
            ".SH DESCRIPTION",
            *_description(whole.help or ""),
            ".SH OPTIONS",
            *_parameters(whole, context),
            ".SH COMMANDS",
            *_commands_of_man_page(whole, context),
            ".SH EXIT STATUS",
            *(line for code, text in EXIT_CODES.items() for line in _entry(str(code), text)),
            ".SH FILES",
            *(line for path, text in _FILES.items() for line in _entry(path, text)),
            ".SH SEE ALSO",
            _SEE,
            "",
        ]
    )


def _commands_of_man_page(group: Any, context: Any) -> Iterator[str]:
    """A section for each command; a group's members take its place."""
    for name, command in group.commands.items():
        inner = type(context)(command, info_name=name, parent=context)
        if hasattr(command, "commands"):
            yield from _commands_of_man_page(command, inner)
            continue
        usage = [inner.command_path, *command.collect_usage_pieces(inner)]
        yield f'.SS "{_escaped(" ".join(usage))}"'
        yield from _description(command.help or "")
        yield from _parameters(command, inner)


def _description(text: str) -> Iterator[str]:
    """The paragraphs of a help text: those that begin with a backspace are kept line by line, and
    that of the exit codes has a section of its own.
    """
    for paragraph in text.split("\n\n"):
        if "Exit codes: " in paragraph:
            continue
        lines = [_escaped(line) for line in paragraph.splitlines() if line != "\b"]
        yield ".PP"
        yield from [".nf", *lines, ".fi"] if paragraph.startswith("\b") else lines


def _parameters(command: Any, context: Any) -> Iterator[str]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record and "--help" not in record[0]:
            yield from _entry(*record)


def _entry(name: str, text: str) -> Iterator[str]:
    yield from (".TP", f".B {_escaped(name)}", _escaped(text))


def _escaped(text: str) -> str:
    r"""Text that roff prints as it is.

    >>> print(_escaped("--json  a\\b"))
    \-\-json  a\eb
    >>> print(_escaped(".toml"))
    \&.toml
    """
    escaped = text.translate(_AS_IT_IS)
    return rf"\&{escaped}" if text[:1] in (".", "'") else escaped
