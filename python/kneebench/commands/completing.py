"""Completion of the command line by the Tab key: the command that prints its script, and the
answers to a shell that completes.
"""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

import typer

from kneebench.directories import CAMPAIGNS

PROGRAM = "kneebench"
VARIABLE = "_KNEEBENCH_COMPLETE"
"""The environment variable with which a shell's script starts this program."""


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"],
        typer.Argument(metavar="SHELL", help="Shell of the script: bash, zsh or fish."),
    ],
) -> None:
    """Print the script with which the Tab key completes commands, options and values in a shell.

    \b
    Examples, one time each:
      echo 'eval "$(kneebench completion bash)"' >> ~/.bashrc
      echo 'eval "$(kneebench completion zsh)"' >> ~/.zshrc
      mkdir -p ~/.config/fish/completions
      kneebench completion fish > ~/.config/fish/completions/kneebench.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell)
    typer.echo(script)


def answer_shells() -> None:
    """Prepare answers where a shell completes; otherwise nothing is imported for it."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]
        from typer.core import TyperArgument, TyperOption

        completion_init()
        for kind in (TyperArgument, TyperOption):
            kind.process_value = _as_typed  # type: ignore[assignment, method-assign]


def _as_typed(parameter: object, context: object, value: Any) -> Any:
    """A value before the cursor: to convert it typer imports pydantic, which takes longer than the
    answer.
    """
    return value


def preset_names(incomplete: str) -> list[str]:
    """The presets whose names begin so."""
    from kneebench.plan.preset import presets, published_presets

    names = (*presets(), *published_presets())
    return [name for name in names if name.startswith(incomplete)]


def campaign_names(context: typer.Context, incomplete: str) -> list[str]:
    """The campaigns whose folders or names begin so, of those in the folder of `--in`, and
    `latest`.
    """
    from kneebench.results import campaign_reader
    from kneebench.results.campaign_names import names_of

    listed = campaign_reader.campaigns(context.params.get("root") or CAMPAIGNS)
    names = {name for one in listed for name in (*names_of(one), "latest")}
    return sorted(name for name in names if name.startswith(incomplete))
