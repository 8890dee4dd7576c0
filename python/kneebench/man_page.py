"""The man page of the command, made of the commands' help as docs/cli.md is (`make docs`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kneebench.exit_handling import EXIT_CODES

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
            *_commands(whole, context),
            ".SH EXIT STATUS",
            *(line for code, text in EXIT_CODES.items() for line in _entry(str(code), text)),
            ".SH FILES",
            *(line for path, text in _FILES.items() for line in _entry(path, text)),
            ".SH SEE ALSO",
            _SEE,
            "",
        ]
    )


def _commands(group: Any, context: Any) -> Iterator[str]:
    """A section for each command; a group's members take its place."""
    for name, command in group.commands.items():
        inner = type(context)(command, info_name=name, parent=context)
        if hasattr(command, "commands"):
            yield from _commands(command, inner)
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
