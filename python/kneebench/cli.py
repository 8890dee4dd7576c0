"""The command line: the table of contents of `commands`. Nothing is measured, decided or drawn here.

Heavy things are imported where they are used: `kneebench --help` answers in a fraction of a second.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kneebench.commands import campaigns, measuring, plans
from kneebench.ending import Commands, print_anything, stop_at_sigterm

_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(cls=Commands, rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False, context_settings=_SETTINGS)
printing_plans = typer.Typer(rich_markup_mode=None, help="Print a plan to start from, or the schema of plans.")


@app.callback(invoke_without_command=True)
def kneebench(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """What does this storage buy my database?

    Kneebench loads a real database, adds virtual users until throughput stops growing, measures that
    knee again with care on each storage that the plan names, and writes a brief that says what each
    storage bought and how sure that is.

    \b
    The main job, without root and without a second drive: the disk under this directory
    against the same database in memory.
      kneebench check              what would be written where, and how long it takes
      kneebench run                measure; the brief's path is printed at the end

    \b
    With a plan of your own:
      kneebench plan preset quick > plan.toml
      kneebench check plan.toml
      kneebench run plan.toml

    \b
    A whole campaign in seconds, on a simulated database, to see how it goes:
      kneebench plan preset simulated > simulated.toml
      kneebench run simulated.toml

    \b
    Exit codes: 0 done; 1 something else that was foreseen; 2 the plan, or what it names, is wrong;
    3 an invalid measurement; 4 a self-check failed; 5 refused for safety; 130 stopped by Ctrl-C.
    """
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"kneebench {version_of('kneebench')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("run")(measuring.run)
app.command("check")(measuring.check)
app.add_typer(printing_plans, name="plan")
printing_plans.command("default")(plans.default)
printing_plans.command("preset")(plans.preset)
printing_plans.command("schema")(plans.schema)
app.command("list")(campaigns.list_campaigns)
app.command("show")(campaigns.show)
app.command("compare")(campaigns.compare)
app.command("brief")(campaigns.write_brief)
app.command("clean")(measuring.clean)
app.command("parts")(measuring.parts)


def main() -> None:
    """The command `kneebench`."""
    stop_at_sigterm()
    print_anything()
    app(prog_name="kneebench")
