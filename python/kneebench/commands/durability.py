"""The command that cuts servers off: durability."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kneebench.commands.erasing import WithoutAsking, confirm_erasing
from kneebench.commands.measuring import clean_up
from kneebench.commands.options import PlanFile
from kneebench.commands.output import print_line, show_json_line, show_parts
from kneebench.commands.plan_selection import selected_study
from kneebench.commands.run_options import Erase, JsonEvents, SetKeys, overrides
from kneebench.commands.trusting import TrustPlan, trusted
from kneebench.errors import KneebenchError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from kneebench.plan.overrides import Override
    from kneebench.records import Cut, Event

Level = Literal["server", "drive", "cut"]
HELP = """\
Cut each storage's server off under load, and look for every order that it had acknowledged.

The load generator keeps a ledger of the orders. At a random moment the server is killed, or its
emulated drives lose their power as well. It is started again, and each acknowledged order must be
there as a whole. Exit code 8: some were lost. A plan with [durability] does the same at the end of
`run`, for its brief; options stand above what it says.

\b
Examples:
  kneebench durability               this directory's disk, and memory
  kneebench durability plan.toml --cuts 20
  kneebench durability --set database.settings.synchronous_commit=off
"""
"""Help of the command: its signature leaves no room for it there."""


def durability(
    plan: PlanFile = None,
    level: Annotated[
        Level | None,
        typer.Option(
            "--level",
            help="What is cut off: the server (default), also its emulated drives, or a machine by"
            " the plan's cut_command.",
        ),
    ] = None,
    cuts: Annotated[
        int | None,
        typer.Option("--cuts", min=1, max=1000, help="Cuts of each storage (default: 3)."),
    ] = None,
    users: Annotated[
        int | None,
        typer.Option("--users", min=1, max=100_000, help="Users under load (default: 8)."),
    ] = None,
    set_keys: SetKeys = None,
    trust_plan: TrustPlan = False,
    erase: Erase = False,
    erase_without_asking: WithoutAsking = None,
    as_json: JsonEvents = False,
) -> None:
    """Cut servers off and look for their orders; `HELP` has the rest."""
    from kneebench.campaign import flow
    from kneebench.campaign.durability import cuts_wanted

    clean_up()
    keys = (*overrides(set_keys), *_given(level=level, cuts=cuts, users=users))
    selected = trusted(plan, lambda: selected_study(plan, overrides=keys), sure=trust_plan)
    with flow.machine_of(selected) as machine:
        drives = confirm_erasing(machine, selected, erase_without_asking or (), wanted=erase)
        watch = _show_event if as_json else _print_event
        each = flow.cut_off(machine, selected, drives, cuts_wanted(selected), watch)
        found = _shown(each, as_json=as_json)
    raise typer.Exit(_exit_code(found))


def _given(**options: object) -> Iterator[Override]:
    """Keys of the plan that options set."""
    from kneebench.plan.overrides import Override

    for key, value in options.items():
        if value is not None:
            yield Override(("durability", key), value, f"--{key}")


def _shown(each: Generator[tuple[str, Cut], None, None], *, as_json: bool) -> dict[str, list[Cut]]:
    """All cuts by storage, printed at the end, whatever ends it."""
    found: dict[str, list[Cut]] = {}
    try:
        with closing(each):
            for name, cut in each:
                found.setdefault(name, []).append(cut)
    except KneebenchError as error:
        if not _exit_code(found):
            raise
        print_line(f"kneebench: {error}", err=True)
    finally:
        if found:
            _print_found(found, as_json=as_json)
    return found


def _print_event(event: Event) -> None:
    if event.kind != "progress" and event.doing:
        print_line(event.doing, err=True)


def _show_event(event: Event) -> None:
    if event.kind != "progress":
        show_json_line(event.model_dump(mode="json"))


def _print_found(found: Mapping[str, Sequence[Cut]], *, as_json: bool) -> None:
    from kneebench.analysis.durability import summed
    from kneebench.brief.sections.durability import durability_section
    from kneebench.brief.terminal import parts

    if as_json:
        data = {
            name: {
                **summed(cuts)._asdict(),
                "cuts": [cut.model_dump(mode="json") for cut in cuts],
            }
            for name, cuts in found.items()
        }
        show_json_line({"kind": "result", "doing": "finished", "data": data})
    else:
        show_parts(*parts((durability_section(found),)))


def _exit_code(found: Mapping[str, Sequence[Cut]]) -> int:
    from kneebench.analysis.durability import loses
    from kneebench.errors import OrdersLost

    return OrdersLost.exit_code if any(map(loses, found.values())) else 0
