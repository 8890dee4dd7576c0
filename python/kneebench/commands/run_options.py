"""The options of `kneebench run`; some are also of other commands that measure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kneebench.plan.overrides import Override

Out = Annotated[
    Path,
    typer.Option("--out", "-o", help="Folder for campaigns; each campaign has its own subfolder."),
]

JsonEvents = Annotated[
    bool, typer.Option("--json", help="Print one JSON event per line, for programs.")
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh/--resume", help="Start over, or resume an unfinished campaign of the same plan."
    ),
]
WithBrief = Annotated[bool, typer.Option("--brief/--no-brief", help="Write the brief at the end.")]
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
Prove = Annotated[
    bool,
    typer.Option(
        "--prove",
        help="Then relieve what limits each knee (log in memory, more cores, ...) and measure what"
        " that gains, in turn with the knee as it was.",
    ),
]
Relieve = Annotated[
    list[str] | None,
    typer.Option(
        "--relieve",
        metavar="RELIEF",
        help="With --prove: relieve this, in place of what looks short. Can be repeated.",
        show_default=False,
    ),
]
Users = Annotated[
    int | None,
    typer.Option(
        "--users",
        min=1,
        max=100_000,
        help="Measure this many users once per storage, no climb. Requires --for.",
        show_default=False,
    ),
]
Window = Annotated[
    str | None,
    typer.Option(
        "--for", metavar="TIME", help="Length of that window, such as 5min.", show_default=False
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Name of the campaign, for its folder and for `show NAME`; as `name` in the plan.",
        show_default=False,
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="NAME=VALUE",
        help="Tag of the campaign, such as firmware=1.2; as `tags` in the plan. Can be repeated.",
        show_default=False,
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
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress: warnings, then the answer.")
]
OpenBrief = Annotated[bool, typer.Option("--open", help="Open the brief in a browser.")]


def overrides(
    set_keys: list[str] | None, name: str | None = None, tags: list[str] | None = None
) -> tuple[Override, ...]:
    """The keys of the plan that the options set. Raises PlanError for one that sets none."""
    from kneebench.plan.overrides import named, override
    from kneebench.plan.overrides import tags as tags_of

    of_names = [named(name)] if name is not None else []
    return (*map(override, set_keys or ()), *of_names, *tags_of(tags or ()))
