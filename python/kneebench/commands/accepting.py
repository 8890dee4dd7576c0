"""The command that judges a campaign against a baseline: accept."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kneebench.commands.campaigns import campaign_folder, load_named
from kneebench.commands.measuring import Fresh, WithBrief, Yes, clean_up, confirm
from kneebench.commands.options import Json, Root
from kneebench.commands.output import print_line, show_json, show_parts, write
from kneebench.commands.resuming import Resumable
from kneebench.directories import CAMPAIGNS
from kneebench.errors import Refused

if TYPE_CHECKING:
    from types import TracebackType

    from kneebench.analysis.acceptance import Margins
    from kneebench.plan import Plan
    from kneebench.records import Results
    from kneebench.results.acceptance import Acceptance

Baseline = Annotated[
    str,
    typer.Argument(
        metavar="BASELINE",
        help="Campaign folder, or campaign name within --in.",
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
    junit: JUnit = None,
    as_json: Json = False,
    fresh: Fresh = False,
    brief: WithBrief = True,
    yes: Yes = False,
) -> None:
    """Judge a campaign against a baseline: better, same, worse, or cannot say.

    The figures are NOPM, mean and P99.9 latency at the baseline's fixed rate, and log writes, of
    each storage that both campaigns name. "Same" is equivalence within the margins of the plan's
    table [accept], shown by two one-sided tests. With "cannot say" the number of rounds is printed
    that would probably decide. A plan is refused, before it is run, if its campaign could not be
    compared.

    \b
    Examples:
      kneebench accept before                 run the baseline's plan again, and judge
      kneebench accept before after           judge a campaign that is finished
      kneebench accept before new-server.toml run another plan, and judge
      kneebench accept before --junit accept.xml --yes
    Exit code 0: better, same, or one of both; 6: worse; 7: cannot say; 3 and 4 as for `run`.
    """
    _require_place(junit)
    with _JUnitFile(junit, judged or baseline) as file:
        _check(margin, latency_margin, p999_margin)
        base = load_named(baseline, root)
        if plan := _plan(judged, base, root):
            results = _measure(plan, base, out or root, fresh, brief, yes)
        else:
            results = load_named(judged or "", root)
        margins = _margins(results, margin, latency_margin, p999_margin)
        _print_accepted(results, base, margins, file, as_json)


class _JUnitFile:
    """The file of `--junit`, if there is one: an error from the beginning on, and in the end the
    answer or what prevented it. However the command ends, an earlier answer does not remain.
    """

    def __init__(self, path: Path | None, judged: str) -> None:
        self._path, self._judged = path, judged

    def __enter__(self) -> _JUnitFile:
        from kneebench.results.atomic_write import is_stream

        if self._path and not is_stream(self._path):
            self._put("Unfinished", "kneebench accept has not finished")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if error is not None and not isinstance(error, typer.Exit):
            with contextlib.suppress(OSError, Refused):  # the error itself is reported
                words = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
                self._put(type(error).__name__, words or "no answer")

    def write(self, found: Acceptance, results: Results) -> None:
        """Write the answer."""
        from kneebench.screen.junit import junit

        self._write(junit(found, started_at=results.campaign.started_at))

    def _put(self, kind: str, message: str) -> None:
        from kneebench.screen.junit import junit_without_answer

        self._write(junit_without_answer(self._judged, kind, message))

    def _write(self, text: str) -> None:
        from kneebench.results.atomic_write import write_where_named

        if self._path:
            write_where_named(self._path, text)


def _require_place(junit: Path | None) -> None:
    """Raise PlanError where `--junit` names a file in a directory that is missing, and Refused
    where it names a drive.
    """
    from kneebench.errors import PlanError
    from kneebench.results.atomic_write import require_no_drive

    if junit and not junit.absolute().parent.is_dir():
        raise PlanError(
            f"cannot write {junit}",
            seen=f"no directory {junit.parent}",
            do="create it, or choose another path",
        )
    if junit:
        require_no_drive(junit)


def _check(*margins: float | None) -> None:
    """Before hours of measuring: options whose mistakes would show only at the end."""
    from kneebench.errors import PlanError

    for name, value in zip(("--margin", "--latency-margin", "--p999-margin"), margins, strict=True):
        if value is not None and not 0 < value < 1:
            raise PlanError(
                name, seen=f"{value:g} is out of range", do="use a fraction, such as 0.05 for 5%"
            )


def _plan(judged: str | None, base: Results, root: Path) -> Plan | None:
    """The plan to run, at the baseline's fixed rate; None for a campaign that was measured."""
    from kneebench.campaign.preflight import preset, read_plan
    from kneebench.errors import PlanError
    from kneebench.plan.preset import presets
    from kneebench.results.acceptance import at_the_same_rate, plan_of

    if judged is None:
        return at_the_same_rate(plan_of(base), base)
    if campaign_folder(judged, root):
        return None
    if Path(judged).is_file():
        return at_the_same_rate(read_plan(judged), base)
    if judged in presets():
        return at_the_same_rate(preset(judged), base)
    raise PlanError(
        judged,
        seen=f"no such campaign or plan; looked in {judged}, {root / judged} and the presets",
        do="see `kneebench list`, or name a plan file",
    )


def _measure(plan: Plan, base: Results, out: Path, fresh: bool, brief: bool, yes: bool) -> Results:
    from kneebench.campaign import flow
    from kneebench.campaign.expected_duration import expected_duration
    from kneebench.lab.host import host
    from kneebench.plan.configurations import configurations
    from kneebench.results.acceptance import judgeable, rate_warning
    from kneebench.screen.watching import watching

    judgeable(plan, configurations(plan), base)
    if warning := rate_warning(plan, base):
        print_line(f"warning: {warning}", err=True)
    clean_up()
    expecting = expected_duration(plan, host())
    confirm(expecting.total_s, yes)
    with Resumable() as resumable:
        with watching(plan, expecting) as watch:
            results = flow.run(plan, out, resumable.watcher(watch), fresh, brief)
        print_line(f"results: {results.folder}", err=True)
        if brief:
            print_line(f"brief:   {write(results)}", err=True)
    return results


def _margins(results: Results, *given: float | None) -> Margins:
    """The options, else the margins of the campaign's plan."""
    from kneebench.analysis.acceptance import Margins
    from kneebench.results.acceptance import planned_margins

    pairs = zip(given, planned_margins(results), strict=True)
    return Margins(*(own or planned for own, planned in pairs))


def _print_accepted(
    results: Results, base: Results, margins: Margins, file: _JUnitFile, as_json: bool
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
