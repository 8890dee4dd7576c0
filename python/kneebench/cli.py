"""The command line: the table of contents of `commands`.

Nothing is measured, decided or drawn here.

Heavy things are imported where they are used: `kneebench --help` answers in a fraction of a second.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kneebench.commands import (
    accepting,
    campaigns,
    completing,
    drives,
    durability,
    following,
    hosts,
    measuring,
    noise,
    packing,
    plans,
    power,
    predicting,
    profiling,
    running,
    trending,
)
from kneebench.commands.junit_file import CommandWithJUnit
from kneebench.commands.run_options import with_options
from kneebench.exit_handling import CommandList, Commands, print_anything, require_utf8

_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)
_GROUP: dict[str, Any] = {"cls": CommandList, "rich_markup_mode": None}
printing_plans = typer.Typer(**_GROUP, help="Print a plan to start from, or the plan schema.")
load_hosts = typer.Typer(**_GROUP, help="Look at the machines that users run on.")


@app.callback(invoke_without_command=True)
def kneebench(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """What does this storage buy my database?

    Kneebench runs a real database on each storage in the plan, adds virtual users until throughput
    stops growing, measures that knee in repeated final runs, and writes a brief with the gain from
    each storage and its confidence interval.

    \b
    The default plan needs no root and no second drive: the disk under this
    directory vs. the same database in memory.
      kneebench check              dry run: prerequisites, disk space, duration
      kneebench run                measure; prints the path of the brief

    \b
    With your own plan:
      kneebench plan preset quick > plan.toml
      kneebench check plan.toml
      kneebench run plan.toml
      kneebench accept CAMPAIGN    later: its plan again; better or worse?

    \b
    A complete campaign in seconds, on a simulated database:
      kneebench plan preset simulated > simulated.toml
      kneebench run simulated.toml

    \b
    Exit codes: 0 success; 1 other handled error, or internal error (please
    report); 2 wrong plan, path or option; 3 invalid measurement, or no usable
    figure for a storage; 4 failed self-check; 5 refused for safety; 6 worse than
    the baseline, 7 cannot say (accept); 8 orders were lost; 130 interrupted.
    """
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"kneebench {version_of('kneebench')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("run", help=running.HELP)(with_options(running.run))
app.command("check")(measuring.check)
app.command("noise")(noise.noise)
app.command("drives")(drives.drives)
app.command("durability", help=durability.HELP)(durability.durability)
app.command("power")(power.power)
app.command("profile", help=profiling.HELP)(profiling.profile)
app.add_typer(printing_plans, name="plan")
printing_plans.command("default")(plans.default)
printing_plans.command("new")(plans.new)
printing_plans.command("preset")(plans.preset)
printing_plans.command("schema")(plans.schema)
app.add_typer(load_hosts, name="hosts")
load_hosts.command("check")(hosts.check)
app.command("live")(following.live)
app.command("list")(campaigns.list_campaigns)
app.command("show")(campaigns.show)
app.command("compare")(campaigns.compare)
app.command("trend")(trending.trend)
accept = with_options(accepting.accept)
app.command("accept", cls=CommandWithJUnit, help=accepting.HELP)(accept)
app.command("what-if", help=predicting.HELP)(predicting.what_if)
app.command("brief")(campaigns.write_brief)
app.command("pack")(packing.pack)
app.command("clean")(measuring.clean)
app.command("components")(measuring.components)
app.command("completion")(completing.completion)


def main() -> None:
    """The command `kneebench`."""
    require_utf8()
    print_anything()
    completing.answer_shells()
    app(prog_name="kneebench")
