"""To stdout: tables for people, JSON for programs."""

from __future__ import annotations

from typing import Any

import typer

from kneebench.visible import visible


def print_line(text: str, *, err: bool = False) -> None:
    """Print a line; what it holds of plans and results reaches the terminal without control characters."""
    typer.echo(visible(text), err=err)


def show_parts(*parts: Any) -> None:
    """Print what rich can draw; as wide as the terminal, or 160 columns into a file."""
    from rich.console import Console
    from rich.text import Text

    from kneebench.screen.filtered import Filtered

    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    for part in parts:
        console.print(Filtered(part), soft_wrap=isinstance(part, Text))


def show_json(document: Any) -> None:
    """Print one JSON document, to be read by people too."""
    import json

    print_line(json.dumps(document, indent=2, ensure_ascii=False))


def show_json_line(document: Any) -> None:
    """Print one JSON document on one line."""
    import json

    print_line(json.dumps(document, ensure_ascii=False))
