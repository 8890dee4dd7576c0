"""The command that judges a campaign against a baseline: accept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kneebench.commands.campaigns import load_named
from kneebench.commands.junit_file import JUnitFile, require_place
from kneebench.commands.measuring import clean_up, confirmed_duration
from kneebench.commands.options import Json, PageFile, Root
from kneebench.commands.output import print_line, show_json, show_parts, write
from kneebench.commands.resuming import Resumable
from kneebench.commands.run_options import Fresh, WithBrief, Yes
from kneebench.directories import CAMPAIGNS

if TYPE_CHECKING:
    from kneebench.analysis.acceptance import Margins
    from kneebench.plan import Plan
    from kneebench.records import Results

Baseline = Annotated[
    str,
    typer.Argument(
        metavar="BASELINE",
        help="Campaign: folder, name or its beginning, `latest`, `latest~1` (the one before).",
        show_default=False,
    ),
]
Judged = Annotated[
    str | None,
    typer.Argument(
        metavar="CAMPAIGN | PLAN",
        help=(
            "Finished campaign to judge; or a plan file or preset to run and judge. Without one,"
            " the baseline's plan is run again."
        ),
        show_default=False,
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


def accept(
    baseline: Baseline,
    judged: Judged = None,
    root: Root = CAMPAIGNS,
    out: NewCampaign = None,
    margin: Margin = None,
    latency_margin: LatencyMargin = None,
    p999_margin: P999Margin = None,
    power_margin: PowerMargin = None,
    junit: JUnit = None,
    page: PageFile = None,
    as_json: Json = False,
    fresh: Fresh = False,
    brief: WithBrief = True,
    yes: Yes = False,
) -> None:
    """Judge a campaign against a baseline: better, same, worse, or cannot say.

    The figures are NOPM, mean and P99.9 latency at the baseline's fixed rate, log writes, and power
    per NOPM where it was measured, of each storage that both campaigns name. "Same" is equivalence
    within the margins of the plan's table [accept], shown by two one-sided tests. With "cannot say"
    the rounds are printed that would decide. A plan is refused if its campaign could not be
    compared.

    \b
    Examples:
      kneebench accept before                 run its plan again, and judge
      kneebench accept before after           judge a campaign that is finished
      kneebench accept before new-server.toml run another plan, and judge
      kneebench accept before --junit accept.xml --page accept.pdf --yes
    Exit code 0: better, same, or one of both; 6: worse; 7: cannot say;
    3 and 4 as for `run`.
    """
    require_place(junit, page)
    with JUnitFile(junit, judged or baseline) as file:
        _check(given := (margin, latency_margin, p999_margin, power_margin))
        base = load_named(baseline, root)
        plan, new = _plan(judged, base, root), (out or root, fresh, brief, yes)
        results = _measure(plan, base, *new) if plan else load_named(judged or "", root)
        _print_accepted(results, base, _margins(results, *given), file, page, as_json)


def _check(margins: tuple[float | None, ...]) -> None:
    """Before hours of measuring: options whose mistakes would show only at the end."""
    from kneebench.errors import PlanError

    names = ("--margin", "--latency-margin", "--p999-margin", "--power-margin")
    for name, value in zip(names, margins, strict=True):
        if value is not None and not 0 < value < 1:
            raise PlanError(
                name, seen=f"{value:g} is out of range", do="use a fraction, such as 0.05 for 5%"
            )


def _plan(judged: str | None, base: Results, root: Path) -> Plan | None:
    """The plan to run, at the baseline's fixed rate; None for a campaign that was measured."""
    from kneebench.campaign.preflight import preset, read_plan
    from kneebench.plan.preset import presets
    from kneebench.results.acceptance import at_the_same_rate, plan_of
    from kneebench.results.campaign_names import campaign_at, find_campaign

    if judged is None:
        return at_the_same_rate(plan_of(base), base)
    if campaign_at(judged, root):
        return None
    if Path(judged).is_file():
        return at_the_same_rate(read_plan(judged), base)
    if judged in presets():
        return at_the_same_rate(preset(judged), base)
    find_campaign(judged, root)
    return None


def _measure(plan: Plan, base: Results, out: Path, fresh: bool, brief: bool, yes: bool) -> Results:
    from kneebench.campaign import flow
    from kneebench.plan.configurations import configurations
    from kneebench.results.acceptance import judgeable, rate_warning
    from kneebench.screen.watching import watching

    judgeable(plan, configurations(plan), base)
    if warning := rate_warning(plan, base):
        print_line(f"warning: {warning}", err=True)
    clean_up()
    with flow.machine_of(plan) as machine, Resumable() as resumable:
        expecting = confirmed_duration(machine, plan, sure=yes)
        with watching(plan, expecting) as watch:
            results = flow.run_on(machine, plan, out, resumable.watcher(watch), fresh, brief)
        print_line(f"results: {results.folder}", err=True)
        if brief:
            print_line(f"brief:   {write(results)}", err=True)
    return results


def _margins(results: Results, *given: float | None) -> Margins:
    """The options, else the margins of the campaign's plan."""
    from kneebench.analysis.acceptance import Margins
    from kneebench.results.acceptance import planned_margins

    planned = planned_margins(results)
    own = dict(zip(Margins._fields, given, strict=False))
    return planned._replace(**{name: value for name, value in own.items() if value})


def _print_accepted(
    results: Results,
    base: Results,
    margins: Margins,
    file: JUnitFile,
    page: Path | None,
    as_json: bool,
) -> NoReturn:
    """The answer; the exit code of the measurement itself counts first."""
    from kneebench.analysis.outcome import exit_code
    from kneebench.results.acceptance import accept as accepted
    from kneebench.screen import accepted as screen

    found = accepted(baseline=base, campaign=results, margins=margins)
    caveats = _caveats(results, base)
    file.write(found, results)
    if as_json:
        show_json(screen.document(found, caveats))
    else:
        show_parts(*screen.printed(found, caveats))
    if page:
        from kneebench.brief.campaigns import AcceptancePage

        AcceptancePage(found, base, results, caveats).write(page)
        print_line(f"page: {page}", err=True)
    raise typer.Exit(exit_code(results) or found.exit_code)


def _caveats(*both: Results) -> list[str]:
    """What disturbed either campaign, and what of the judged one must not be used."""
    from kneebench.analysis.disturbance import disturbances
    from kneebench.analysis.fixed_rate import rate_caveats
    from kneebench.analysis.outcome import invalid_rungs

    return [
        f"{one.campaign.id}: {sentence}"
        for one in both
        for found in (
            invalid_rungs(one),
            (remark.words for remark in disturbances(one)),
            rate_caveats(one.climbs),
        )
        for sentence in found
    ]
