"""The options of `kneebench run`; some are also of other commands that measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from kneebench.commands.erasing import WithoutAsking
from kneebench.commands.trusting import TrustPlan

if TYPE_CHECKING:
    from kneebench.plan.overrides import Override

Out = Annotated[
    Path,
    typer.Option("--out", "-o", help="Folder for campaigns; each campaign has its own subfolder."),
]

JsonEvents = Annotated[
    bool, typer.Option("--json", help="Print one JSON event per line, for programs.")
]
Yes = Annotated[
    bool,
    typer.Option("--yes", "-y", help="Skip the confirmation before a run of more than an hour."),
]
Erase = Annotated[
    bool,
    typer.Option(
        "--erase",
        help="Erase the drives that the plan lists under `erase`, once you have seen what is on"
        ' them and typed "erase 2 drives" (or piped it); --yes does not answer that.',
    ),
]
SetKeys = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Key of the plan, such as ladder.repeats=5, in place of its value. Can be repeated.",
        show_default=False,
    ),
]
OpenBrief = Annotated[bool, typer.Option("--open", help="Open the brief in a browser.")]


# What belongs together. A command that has a parameter of such a type has all options in it.


class Consent(NamedTuple):
    """What is agreed to before it is asked."""

    yes: Yes = False
    trust_plan: TrustPlan = False
    erase_without_asking: WithoutAsking = None


class Continuation(NamedTuple):
    """Whether an unfinished campaign is resumed, and what its end is."""

    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh/--resume",
            help="Start over, or resume an unfinished campaign of the same plan.",
        ),
    ] = False
    brief: Annotated[
        bool, typer.Option("--brief/--no-brief", help="Write the brief at the end.")
    ] = True


class Changes(NamedTuple):
    """What the command line says in place of the plan."""

    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of the campaign, for its folder and for `show NAME`; as `name` in the plan.",
            show_default=False,
        ),
    ] = None
    tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag",
            metavar="NAME=VALUE",
            help="Tag of the campaign, such as firmware=1.2; as `tags` in the plan. Can be"
            " repeated.",
            show_default=False,
        ),
    ] = None
    set_keys: SetKeys = None

    @property
    def keys(self) -> tuple[Override, ...]:
        """The keys of the plan that it sets. Raises PlanError for an option that sets none."""
        from kneebench.plan.overrides import named, tags

        of_names = [named(self.name)] if self.name is not None else []
        return (*overrides(self.set_keys), *of_names, *tags(self.tag or ()))


class SingleWindow(NamedTuple):
    """One window in place of a climb."""

    users: Annotated[
        int | None,
        typer.Option(
            "--users",
            min=1,
            max=100_000,
            help="Measure this many users once per storage, no climb. Requires --for.",
            show_default=False,
        ),
    ] = None
    window: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="TIME", help="Length of that window, such as 5min.", show_default=False
        ),
    ] = None


class ProofWanted(NamedTuple):
    """Whether, and by what, the bottlenecks are proved."""

    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Then relieve what limits each knee (log in memory, more cores, ...) and measure"
            " what that gains, in turn with the knee as it was. Without it, the plan's"
            " ladder.prove decides.",
        ),
    ] = False
    relieve: Annotated[
        list[str] | None,
        typer.Option(
            "--relieve",
            metavar="RELIEF",
            help="With --prove: relieve this, in place of what looks short. Can be repeated.",
            show_default=False,
        ),
    ] = None


class Following(NamedTuple):
    """How the run is followed."""

    as_json: JsonEvents = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress: warnings, then the answer.")
    ] = False
    live: Annotated[
        bool, typer.Option("--live", help="Serve a page on which the run is followed (see `live`).")
    ] = False
    prometheus: Annotated[
        str | None,
        typer.Option(
            "--prometheus",
            metavar="ADDRESS",
            help="Serve the figures of each second for Prometheus at [HOST:]PORT/metrics.",
            show_default=False,
        ),
    ] = None


def overrides(set_keys: list[str] | None) -> tuple[Override, ...]:
    """The keys of the plan that `--set` sets. Raises PlanError for one that sets none."""
    from kneebench.plan.overrides import override

    return tuple(map(override, set_keys or ()))


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer reads it: in place of each parameter whose type is such a group, a
    parameter for each of its fields.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if hasattr(kind, "_fields")}

    @wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field: given.pop(field) for field in kind._fields})
        command(**given)

    def options() -> Iterator[Parameter]:
        for one in signature(command).parameters.values():
            if not (kind := groups.get(one.name)):
                yield one.replace(annotation=hints[one.name], kind=Parameter.KEYWORD_ONLY)
                continue
            for name, hint in get_type_hints(kind, include_extras=True).items():
                default = kind._field_defaults[name]
                yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)

    vars(run)["__signature__"] = Signature([*options()])
    return run
