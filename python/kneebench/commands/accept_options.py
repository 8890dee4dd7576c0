"""Arguments and options of `accept`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kneebench.commands.completing import campaign_names
from kneebench.commands.options import CAMPAIGN_HELP

Baseline = Annotated[
    str,
    typer.Argument(
        metavar="BASELINE",
        help=CAMPAIGN_HELP,
        show_default=False,
        autocompletion=campaign_names,
    ),
]
Judged = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CAMPAIGN... | PLAN",
        help=(
            "Finished campaigns to judge; or one plan file or preset to run and judge. Without any,"
            " the baseline's plan is run again. A plan is refused if its campaign could not be"
            " compared; that of a result archive, or of a folder that you did not record here,"
            " requires --yes, and may only use a database of kneebench's own."
        ),
        show_default=False,
        autocompletion=campaign_names,
    ),
]
NewCampaign = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Folder for the new campaign, if not that of --in.",
        show_default=False,
    ),
]
Margin = Annotated[
    float | None,
    typer.Option(
        "--margin",
        metavar="FRACTION",
        help="Margin for NOPM, such as 0.05, in place of the plan's.",
        show_default=False,
    ),
]
LatencyMargin = Annotated[
    float | None,
    typer.Option(
        "--latency-margin",
        metavar="FRACTION",
        help="Margin for mean latency and log writes, in place of the plan's.",
        show_default=False,
    ),
]
P999Margin = Annotated[
    float | None,
    typer.Option(
        "--p999-margin",
        metavar="FRACTION",
        help="Margin for P99.9 latency, in place of the plan's.",
        show_default=False,
    ),
]
PowerMargin = Annotated[
    float | None,
    typer.Option(
        "--power-margin",
        metavar="FRACTION",
        help="Margin for power per NOPM, in place of the plan's.",
        show_default=False,
    ),
]
JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        metavar="FILE",
        help="Write the answer as JUnit XML, for a CI system; without an answer, the error.",
        show_default=False,
    ),
]
