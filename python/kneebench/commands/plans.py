"""Commands that print plans: default, preset, schema."""

from __future__ import annotations

from typing import Annotated

import typer

from kneebench.commands.output import show_json
from kneebench.commands.plan_selection import selected_plan


def default() -> None:
    """Print the default plan of this directory, which `kneebench run` uses without a plan file.

    \b
    Example:
      kneebench plan default > plan.toml
    """
    from kneebench.plan.writer import to_toml

    typer.echo(to_toml(selected_plan(None)), nl=False)


def preset(
    name: Annotated[
        str, typer.Argument(help="quick, server, cloud, running or simulated.", show_default=False)
    ],
) -> None:
    """Print a plan to start from: quick (a laptop), server, cloud, running (an external server) or
    simulated.

    \b
    Example:
      kneebench plan preset server > plan.toml
    """
    from kneebench.plan.preset import preset_text

    typer.echo(preset_text(name), nl=False)


def schema() -> None:
    """Print the JSON Schema of plans, for editors and programs.

    \b
    Example:
      kneebench plan schema > plan.schema.json
    """
    from kneebench.plan.json_schema import plan_schema

    show_json(plan_schema())
