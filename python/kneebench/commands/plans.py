"""Commands that print plans: default, preset, schema."""

from __future__ import annotations

from typing import Annotated

import typer

from kneebench.commands.completing import preset_names
from kneebench.commands.output import show_json
from kneebench.commands.plan_selection import selected_study


def default() -> None:
    """Print the default plan of this directory, which `kneebench run` uses without a plan file.

    \b
    Example:
      kneebench plan default > plan.toml
    """
    from kneebench.plan.writer import to_toml

    typer.echo(to_toml(selected_study(None).written), nl=False)


def preset(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a preset above, or of a plan after a published document.",
            show_default=False,
            autocompletion=preset_names,
        ),
    ] = "",
    published: Annotated[
        bool,
        typer.Option("--published", help="List the plans after published documents instead."),
    ] = False,
) -> None:
    """Print a plan to start from.

    \b
    Presets:
      quick      a laptop: the disk vs. memory, ten minutes
      server     dedicated drives, whole checkpoint cycles, a day
      cloud      two volumes of a cloud VM, a day
      scan       four analytical queries on a disk and in memory, ten minutes
      running    an external PostgreSQL by URL, hours
      emulated   volumes of emulated drives, twenty minutes; root
      memory     a memory sweep on an emulated drive, an hour or two; root
      simulated  a model of a database and its drives, seconds

    Plans after published documents have their figures in `[brief.published]`: the brief shows them
    beside its own, marked as not measured here.

    \b
    Examples:
      kneebench plan preset server > plan.toml
      kneebench plan preset --published
      kneebench plan preset micron-9300-sata > plan.toml
    """
    from kneebench.plan.preset import preset_text

    typer.echo(_published() if published and not name else preset_text(name), nl=False)


def _published() -> str:
    """A line per plan after a published document: its name and its question."""
    from kneebench.plan.preset import preset_text, published_presets
    from kneebench.plan.reader import toml_values

    plans = ((one, toml_values(preset_text(one), one)) for one in published_presets())
    return "".join(f"{name:<20} {values['question']}\n" for name, values in plans)


Storages = Annotated[
    list[str],
    typer.Option(
        "--storage",
        metavar="[NAME=]PATH|DRIVE",
        help="Storage: a directory on it, or a drive. The first is the baseline. Can be repeated.",
        show_default=False,
    ),
]


def new(storage: Storages) -> None:
    """Print a plan for your own storages, with what `kneebench check` finds on it.

    It is a first look in about ten minutes, sized for this machine; each key has a comment.
    Nothing is written or measured.

    \b
    Examples:
      kneebench plan new --storage /mnt/a --storage /mnt/b > plan.toml
      kneebench plan new --storage sata=/mnt/a --storage nvme1n1
    """
    from kneebench.commands.checking import findings_on
    from kneebench.lab.host import host
    from kneebench.plan.new_plan import new_plan
    from kneebench.plan.study import Study
    from kneebench.plan.writer import to_toml
    from kneebench.screen.plan_comments import plan_comments

    plan = new_plan(storage, host())
    typer.echo(plan_comments(findings_on(Study(plan))))
    typer.echo(to_toml(plan), nl=False)


def schema() -> None:
    """Print the JSON Schema of plans, for editors and programs.

    \b
    Example:
      kneebench plan schema > plan.schema.json
    """
    from kneebench.plan.json_schema import plan_schema

    show_json(plan_schema())
