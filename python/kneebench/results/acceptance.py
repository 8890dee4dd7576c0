"""Acceptance of a campaign by a baseline: which storages are judged, and the answer for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import ValidationError

from kneebench.analysis.acceptance import Margins, judged, nothing_judged, overall
from kneebench.analysis.accepted_limits import AcceptedLimits, against_limits
from kneebench.analysis.comparison import called
from kneebench.analysis.equivalence import Judgement
from kneebench.analysis.fixed_rate import fixed_rate_latency, same_rate
from kneebench.analysis.judged import Judged, without_judgement
from kneebench.analysis.knee import knee
from kneebench.analysis.outcome import failed_checks
from kneebench.analysis.power import doubts, meters_differ
from kneebench.analysis.wording import capital, percent
from kneebench.errors import (
    CANNOT_SAY,
    WORSE,
    CheckFailed,
    InvalidMeasurement,
    PlanError,
    require_kind,
)
from kneebench.plan import Plan
from kneebench.plan.acceptance import Accept
from kneebench.plan.ladder import Ladder
from kneebench.records import Climb, Configuration, Record, Results, label_of
from kneebench.results.accepted_words import ITSELF, answer_sentence
from kneebench.results.campaign_differences import comparable, differences
from kneebench.results.compare_plans import comparable_plans
from kneebench.results.cross_campaign import DRIFT
from kneebench.results.logo import logo_file
from kneebench.units import count


class Acceptance(Record):
    """The answer for a campaign, and the figures that it comes from.

    `label`: "Simulated" or "Emulated drives", which a reader must know first.
    `itself`: whether the campaign is the baseline, and only limits were judged.
    `matching`: sentences on storages that the other campaign lacks, or has by another name.
    `differences`: sentences on kneebench, machine and settings. `drift`: what no interval contains.
    """

    baseline: str
    campaign: str
    simulated: bool
    label: str = ""
    judgement: Judgement
    sentence: str
    itself: bool = False
    figures: tuple[Judged, ...]
    matching: tuple[str, ...]
    differences: tuple[str, ...]
    drift: str = DRIFT

    @property
    def exit_code(self) -> int:
        """0, WORSE or CANNOT_SAY."""
        return {"worse": WORSE, "cannot say": CANNOT_SAY}.get(self.judgement, 0)


def worst(found: Sequence[Acceptance]) -> Acceptance:
    """The worst of several answers; "worse" is worse than "cannot say"."""
    return min(found, key=severity)


def severity(one: Acceptance) -> int:
    """The place of an answer among several, the worst first."""
    return {WORSE: 0, CANNOT_SAY: 1}.get(one.exit_code, 2)


class _Matched(NamedTuple):
    """Pairs of (name in the campaign, name in the baseline), and sentences on the others."""

    pairs: tuple[tuple[str, str], ...]
    sentences: tuple[str, ...]


def accept(*, baseline: Results, campaign: Results, margins: Margins | None = None) -> Acceptance:
    """Judge a campaign against a baseline, within the margins of its plan if none are given.

    By keyword only, so that neither is taken for the other. Of a campaign that is the baseline
    itself, only the limits are judged: its runs are no second measurement.

    Raises PlanError where they cannot be compared, either is unfinished, or no storage is in both;
    InvalidMeasurement without figures to judge; CheckFailed if a self-check of either failed;
    TypeError for what is no campaign.
    """
    for one in (baseline, campaign):
        require_kind(one, Results, "kneebench.load(folder) reads a campaign")
        usable(one)
    comparable(baseline, campaign)
    ours, theirs = ({called(one): one for one in side.climbs} for side in (campaign, baseline))
    names = _matched(tuple(ours), tuple(theirs), campaign.campaign.id, baseline.campaign.id)
    allowed = margins or planned_margins(campaign)
    itself = is_itself(campaign, baseline)
    figures = tuple(
        figure
        for own, base in names.pairs
        for figure in _figures(campaign, baseline, ours[own], theirs[base], allowed)
    )
    if not itself and nothing_judged(figures):
        what = f"cannot use {campaign.campaign.id} for acceptance"
        raise InvalidMeasurement(what, seen=figures[0].sentence, do="measure it again")
    answer = overall(figures)
    return Acceptance(
        baseline=baseline.campaign.id,
        campaign=campaign.campaign.id,
        simulated=campaign.campaign.simulated or baseline.campaign.simulated,
        label=label_of([campaign.campaign, baseline.campaign]),
        judgement=answer,
        sentence=answer_sentence(answer, figures, itself=itself),
        itself=itself,
        figures=figures,
        matching=names.sentences,
        differences=tuple(differences(baseline, campaign)),
    )


def is_itself(campaign: Results, baseline: Results) -> bool:
    """Whether both are one campaign, wherever it was read from: a folder, or an archive of it. Two
    machines may begin a campaign of one id in the same second: then their figures differ.
    """
    one, other = (
        (
            side.kept_id or side.campaign.id,
            side.campaign.started_at,
            [rung.tally.nopm for climb in side.climbs for rung in climb.rungs],
        )
        for side in (campaign, baseline)
    )
    return one == other


def _figures(
    campaign: Results, baseline: Results, climb: Climb, against: Climb, margins: Margins
) -> Iterator[Judged]:
    """The figures of one storage against the baseline's, then those that have a limit."""
    meters = meters_differ(campaign.campaign.power, baseline.campaign.power)
    itself = is_itself(campaign, baseline)
    unsure = _power_doubt(campaign) or _power_doubt(baseline)
    for figure in judged(climb, against, margins, meters, unsure):
        yield without_judgement(figure, ITSELF) if itself else figure
    yield from against_limits(climb, _limits(campaign))


def planned_margins(campaign: Results) -> Margins:
    """The margins of a campaign's plan; the defaults if another version of kneebench wrote it."""
    table = _table(campaign)
    return Margins(table.margin, table.latency_margin, table.p999_margin, table.power_margin)


def _limits(campaign: Results) -> AcceptedLimits:
    table = _table(campaign)
    return AcceptedLimits(
        nopm=table.nopm_limit,
        latency_s=table.latency_limit,
        p999_s=table.p999_limit,
        log_write_s=table.log_write_limit,
        mw_per_nopm=table.power_limit,
        power_doubt=_power_doubt(campaign),
    )


def _power_doubt(campaign: Results) -> str:
    found = doubts(campaign.climbs, campaign.campaign.power)
    return f"of {campaign.campaign.id}, {found[0]}" if found else ""


def _table(campaign: Results) -> Accept:
    try:
        return Accept.model_validate(campaign.campaign.plan.get("accept") or {})
    except ValidationError:
        return Accept()


def usable(results: Results) -> None:
    """Raise the error of a campaign whose figures may not be judged: PlanError if it is unfinished,
    InvalidMeasurement without valid final runs, CheckFailed after a failed self-check.
    """
    what = f"cannot use {results.campaign.id} for acceptance"
    if not results.finished:
        do = "resume it with `kneebench run` and its plan"
        raise PlanError(what, seen="the campaign is unfinished", do=do)
    if not any(map(knee, results.climbs)):
        do = "measure it again, with `repeats` of at least 3"
        raise InvalidMeasurement(what, seen="it has no valid final runs", do=do)
    if failed := next(failed_checks(results), ""):
        seen = f"a self-check failed ({failed.rstrip('.')})"
        raise CheckFailed(what, seen=seen, do=_next_time(results))


def _next_time(results: Results) -> str:
    """What to do about failed checks: a rate that no storage can do is as wrong the next time."""
    rungs = [rung for climb in results.climbs for rung in climb.rungs]
    checks = [check for rung in rungs for check in rung.checks if check.name == "unstarted"]
    beyond = sum(not check.passed for check in checks)
    knees = [found.tpm.value / 60 for climb in results.climbs if (found := knee(climb))]
    again = "measure it again"
    if beyond < len([*failed_checks(results)]) or not knees:
        return again
    share = Ladder.model_fields["fixed_rate_share"].default
    rate = f"{count(share * min(knees))}/s is {percent(share)} of it"
    return f"set ladder.latency_rate below the lowest knee ({rate}), then {again}"


def plan_of(baseline: Results) -> Plan:
    """The baseline's own plan, to be measured again; raises PlanError if it cannot be."""
    name = baseline.campaign.id
    try:
        plan = Plan.model_validate(baseline.campaign.plan)
        words = plan.brief.model_copy(update={"logo": logo_file(baseline.folder)})
        plan = plan.model_copy(update={"brief": words})
    except ValidationError:
        raise PlanError(
            f"cannot run the plan of {name}", seen="another version wrote it", do="name a plan file"
        ) from None
    if plan.kept_commands:
        key = ".".join(plan.kept_commands[0])
        raise PlanError(
            f"cannot run the plan of {name}",
            seen=f"results do not keep the command in {key}",
            do="name a plan file that has it",
        )
    return plan


def rate_warning(plan: Plan, baseline: Results) -> str:
    """A sentence if the plan's own rate is not the baseline's: no latency will be judged."""
    own, rate = plan.ladder.latency_per_s, _rate_per_s(baseline)
    if not own or not rate or same_rate((own, rate)):
        return ""
    return (
        f"latencies will not be judged: ladder.latency_rate is {count(own)}/s, the baseline's rate"
        f" is {count(rate)}/s; without the key the plan gets the baseline's rate"
    )


def at_the_same_rate(plan: Plan, baseline: Results) -> Plan:
    """The plan with the baseline's fixed rate, so that latencies can be compared.

    A plan with its own `latency_rate` keeps it; so does one for a baseline without a fixed rate.
    """
    rate_per_s = _rate_per_s(baseline)
    if plan.ladder.latency_rate or not rate_per_s:
        return plan
    rate = f"{rate_per_s:.3f}".rstrip("0").rstrip(".")
    share = type(plan.ladder).model_fields["fixed_rate_share"].default
    changed = {"latency_rate": f"{rate}/s", "fixed_rate_share": share}
    return plan.model_copy(update={"ladder": plan.ladder.model_copy(update=changed)})


def _rate_per_s(baseline: Results) -> float:
    found = (fixed_rate_latency(climb) for climb in baseline.climbs)
    return next((one.rate_per_s for one in found if one), 0.0)


def judgeable(plan: Plan, configurations: Sequence[Configuration], baseline: Results) -> None:
    """Raise PlanError, before anything is measured, if a campaign of this plan could not be
    judged.
    """
    usable(baseline)
    what = f"cannot compare {baseline.campaign.id} with this plan"
    comparable_plans(baseline.campaign.plan, plan, what)
    ours, theirs = (
        tuple(called(Climb(configuration=configuration, rungs=())) for configuration in side)
        for side in (configurations, [climb.configuration for climb in baseline.climbs])
    )
    _matched(ours, theirs, "this plan", baseline.campaign.id)


def _matched(ours: Sequence[str], theirs: Sequence[str], campaign: str, baseline: str) -> _Matched:
    """Storages by name; the only one of either matches whatever its name is."""
    if len(ours) == len(theirs) == 1:
        (own,), (base,) = ours, theirs
        named = f"{capital(own)} is judged against {base}: each campaign has only one storage"
        return _Matched(((own, base),), () if own == base else (named,))
    pairs = tuple((name, name) for name in ours if name in theirs)
    if not pairs:
        raise PlanError(
            f"cannot compare {baseline} with {campaign}",
            seen=f"no storage is in both ({', '.join(theirs)} vs. {', '.join(ours)})",
            do="give a storage the same name in both plans",
        )
    return _Matched(pairs, tuple(_alone(ours, theirs, campaign, baseline)))


def _alone(
    ours: Sequence[str], theirs: Sequence[str], campaign: str, baseline: str
) -> Iterator[str]:
    for side, other, where in ((ours, theirs, baseline), (theirs, ours, campaign)):
        yield from (
            f"{capital(name)} is not judged: {where} has no storage of this name"
            for name in side
            if name not in other
        )
