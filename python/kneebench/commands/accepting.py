"""The command that judges campaigns against a baseline: accept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn

import typer

from kneebench.commands.campaigns import load_all, load_named
from kneebench.commands.completing import campaign_names
from kneebench.commands.erasing import WITHOUT_ASKING, confirm_erasing
from kneebench.commands.junit_file import JUnitFile
from kneebench.commands.measuring import clean_up, confirmed_duration
from kneebench.commands.options import CAMPAIGN_HELP, Json, PageFile, Root
from kneebench.commands.output import checked_page, print_line, show_page, write
from kneebench.commands.resuming import Resumable
from kneebench.commands.run_options import Changes, Consent, Continuation
from kneebench.commands.trusting import trusted
from kneebench.directories import CAMPAIGNS
from kneebench.errors import CheckFailed, InvalidMeasurement, OrdersLost

if TYPE_CHECKING:
    from kneebench.analysis.acceptance import Margins
    from kneebench.plan.overrides import Override
    from kneebench.plan.study import Study
    from kneebench.records import Results
    from kneebench.results.acceptance import Acceptance


class GivenMargins(NamedTuple):
    """Those in place of the plan's."""

    margin: Annotated[
        float | None,
        typer.Option(
            "--margin",
            metavar="FRACTION",
            help="Margin for NOPM or queries per hour, such as 0.05, in place of the plan's.",
            show_default=False,
        ),
    ] = None
    latency_margin: Annotated[
        float | None,
        typer.Option(
            "--latency-margin",
            metavar="FRACTION",
            help="Margin for mean latency and log writes, in place of the plan's.",
            show_default=False,
        ),
    ] = None
    p999_margin: Annotated[
        float | None,
        typer.Option(
            "--p999-margin",
            metavar="FRACTION",
            help="Margin for P99.9 latency, in place of the plan's.",
            show_default=False,
        ),
    ] = None
    power_margin: Annotated[
        float | None,
        typer.Option(
            "--power-margin",
            metavar="FRACTION",
            help="Margin for power per NOPM, in place of the plan's.",
            show_default=False,
        ),
    ] = None


WORST_FIRST = (CheckFailed.exit_code, OrdersLost.exit_code, InvalidMeasurement.exit_code)
"""Of several campaigns: a failed check puts every figure in doubt."""
HELP = """\
Judge campaigns against a baseline: better, same, worse, or cannot say.

Judged, by the plan's [accept], are NOPM, latencies at a fixed rate, log writes, and power; of
TPROC-H queries per hour.

\b
Examples:
  kneebench accept before                 run its plan again, and judge
  kneebench accept before monday tuesday  judge finished campaigns
  kneebench accept before new-server.toml run another plan, and judge
  kneebench accept before --tag firmware=1.3 --junit accept.xml --yes
  kneebench accept theirs.kneebench --yes repeat a result archive here
Exit code 0: better or same; 6: worse; 7: cannot say; 3, 4: as for `run`.
"""
"""Help of the command: its signature leaves no room for it there."""


def accept(
    *,
    baseline: Baseline,
    judged: Judged = None,
    root: Root = CAMPAIGNS,
    out: NewCampaign = None,
    margins: GivenMargins,
    junit: JUnit = None,
    page: PageFile = None,
    as_json: Json = False,
    past: Continuation,
    consent: Consent,
    changes: Changes,
) -> None:
    """Judge campaigns against a baseline; `HELP` has the rest."""
    with JUnitFile(junit, judged or [baseline]) as file:
        checked_page(page)
        _check(margins)
        base = load_named(baseline, root)
        plan = _plan(judged or [], base, root, changes.keys, consent)
        _require_none([WITHOUT_ASKING] if consent.erase_without_asking and not plan else [])
        measured = [_measure(plan, base, out or root, past, consent)] if plan else []
        found = measured or load_all(judged or [], root)
        _print_accepted(found, base, margins, file, page, as_json=as_json)


def _check(margins: GivenMargins) -> None:
    """Before hours of measuring: options whose mistakes would show only at the end."""
    from kneebench.errors import PlanError

    names = ("--margin", "--latency-margin", "--p999-margin", "--power-margin")
    for name, value in zip(names, margins, strict=True):
        if value is not None and not 0 < value < 1:
            raise PlanError(
                name, seen=f"{value:g} is out of range", do="use a fraction, such as 0.05 for 5%"
            )


def _plan(
    judged: list[str],
    base: Results,
    root: Path,
    keys: tuple[Override, ...],
    consent: Consent,
) -> Study | None:
    """The plan to run, at the baseline's fixed rate; None for campaigns that were measured."""
    from kneebench.campaign.preflight import as_study, overridden, preset
    from kneebench.plan.preset import presets, published_presets
    from kneebench.results.acceptance import at_the_same_rate, plan_of
    from kneebench.results.campaign_names import campaign_at
    from kneebench.results.origin import is_own

    if not judged:
        study = plan_of(base)
        if base.archive or not is_own(base.folder, base.campaign):
            _agree(study, base.archive or base.folder, sure=consent.yes)
        return at_the_same_rate(overridden(study, keys), base)
    name, several = judged[0], len(judged) > 1
    if not several and not campaign_at(name, root):
        if Path(name).is_file():
            study = trusted(Path(name), lambda: as_study(name, keys), sure=consent.trust_plan)
            return at_the_same_rate(study, base)
        if name in (*presets(), *published_presets()):
            return at_the_same_rate(overridden(as_study(preset(name)), keys), base)
    _require_none([one.option for one in keys])
    return None


def _require_none(options: Sequence[str]) -> None:
    """Raises PlanError for an option about a plan where none is run."""
    from kneebench.errors import PlanError

    if options:
        seen, do = "a campaign that was measured keeps its plan", "name a plan to run"
        raise PlanError(options[0], seen=seen, do=do)


def _agree(study: Study, given: Path | None, *, sure: bool) -> None:
    """Raises PlanError for a plan out of a result archive, or a folder of others, that does more
    than use a database of kneebench's own, and without --yes, with what it would do.
    """
    from kneebench.errors import PlanError
    from kneebench.plan.borrowed import effects, reaches_further

    what = f"cannot run the plan of {given}"
    if reason := reaches_further(study.written):
        raise PlanError(
            what, seen=f"it is not your own, and {reason}", do="name a plan file of your own"
        )
    if not sure:
        raise PlanError(
            what,
            seen=f"it is not your own; it would {effects(study.written)}",
            do="add --yes to run it, or name a plan file",
        )


def _measure(
    study: Study, base: Results, out: Path, past: Continuation, consent: Consent
) -> Results:
    from kneebench.campaign import flow
    from kneebench.results.acceptance import judgeable, rate_warning
    from kneebench.screen.watching import watching

    judgeable(study, base)
    if warning := rate_warning(study, base):
        print_line(f"warning: {warning}", err=True)
    clean_up()
    with flow.machine_of(study) as machine, Resumable() as resumable:
        expecting = confirmed_duration(machine, study, sure=consent.yes)
        unasked = consent.erase_without_asking or ()
        drives = confirm_erasing(machine, study, unasked, wanted=False)
        with watching(study, expecting) as watch:
            asked = flow.RunOptions(out, past.fresh, past.brief, drives, judged=True)
            results = flow.run(machine, study, asked, resumable.watcher(watch))
        print_line(f"results: {results.folder}", err=True)
        if past.brief:
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
    campaigns: Sequence[Results],
    base: Results,
    margins: Sequence[float | None],
    file: JUnitFile,
    page: Path | None,
    *,
    as_json: bool,
) -> NoReturn:
    """The answers; the exit code of a measurement itself counts first."""
    from kneebench.brief.campaigns import AcceptancePage
    from kneebench.results.acceptance import accept as accepted
    from kneebench.results.given_campaigns import told_apart

    base, *campaigns = told_apart([base, *campaigns])
    found = [
        accepted(baseline=base, campaign=results, margins=_margins(results, *margins))
        for results in campaigns
    ]
    caveats = _caveats(*campaigns, base)
    file.write(found, campaigns, base, caveats)
    whole = AcceptancePage(found, base, campaigns, caveats)
    show_page(whole, as_json=as_json)
    if page:
        whole.write(page)
        print_line(f"page: {page}", err=True)
    raise typer.Exit(_exit_code(campaigns, found))


def _exit_code(campaigns: Sequence[Results], found: Sequence[Acceptance]) -> int:
    from kneebench.analysis.outcome import exit_code
    from kneebench.results.acceptance import worst

    measured = {exit_code(results) for results in campaigns}
    first = next((code for code in WORST_FIRST if code in measured), 0)
    return first or worst(found).exit_code


def _caveats(*both: Results) -> list[str]:
    """What of either campaign must not be used, and what limits its figures."""
    from kneebench.analysis.answers import beside
    from kneebench.analysis.outcome import invalid_rungs

    return [
        f"{one.campaign.id}: {sentence}"
        for one in both
        for sentence in (*invalid_rungs(one), *beside(one))
    ]


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
JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        metavar="FILE",
        help="Write the answer as JUnit XML, for a CI system; without an answer, the error.",
        show_default=False,
    ),
]
