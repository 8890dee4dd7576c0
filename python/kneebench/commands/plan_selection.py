"""Plan selection: the plan file of a command, or else the default plan of this directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kneebench.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kneebench.plan.overrides import Override
    from kneebench.plan.study import Study


class SingleLoad(NamedTuple):
    """A load to measure once on each storage, instead of the plan's ladder."""

    users: int
    window_s: float


def single_load(users: int | None, window: str | None) -> SingleLoad | None:
    """The load of `--users` and `--for`; None without both options.

    Raises PlanError for one without the other.

    >>> single_load(8, "5min")
    SingleLoad(users=8, window_s=300.0)
    """
    from kneebench.plan.values import WEEK_S
    from kneebench.units import parse_time

    if users is None and window is None:
        return None
    if users is None or window is None:
        there, lacking = ("--users", "--for 5min") if window is None else ("--for", "--users 8")
        raise PlanError(
            there.split()[0],
            seen=f"{lacking.split()[0]} is missing",
            do=f"add {lacking}: both options are required together",
        )
    try:
        window_s = parse_time(window)
    except ValueError as error:
        raise PlanError(
            "--for", seen=f"{window!r}: {error}", do="use a time with a unit, such as 30s or 5min"
        ) from None
    if not 0 < window_s <= WEEK_S:
        raise PlanError(
            "--for",
            seen=f"{window!r} is out of range",
            do="use a time above 0 and up to 168h, such as 30s or 5min",
        )
    return SingleLoad(users, window_s)


def selected_study(
    file: Path | None,
    campaigns: Path | None = None,
    single: SingleLoad | None = None,
    *,
    brief: bool = False,
    overrides: Sequence[Override] = (),
) -> Study:
    """The plan in `file`, or the default plan, with the keys that `overrides` sets. Raises
    PlanError with all errors of the plan.

    An unfinished campaign of the default plan among `campaigns` keeps the size with which it
    started, because free space has changed since. With `brief` the same holds for a finished
    campaign whose brief is not written yet.
    """
    from kneebench.campaign.preflight import as_study, overridden
    from kneebench.lab.host import host
    from kneebench.plan.default import default_plan
    from kneebench.plan.study import Study

    if file:
        return _with_single_load(as_study(file, overrides), single)
    begun = _unfinished_plan(campaigns, single, brief, overrides) if campaigns else None
    if begun:
        return begun
    return _default_with(overridden(Study(default_plan(host(), Path())), overrides), single)


def _with_single_load(study: Study, single: SingleLoad | None) -> Study:
    return study.changed(ladder=study.ladder.once(*single)) if single else study


def _default_with(study: Study, single: SingleLoad | None) -> Study:
    """The default plan; with a single load without the raw profile, which would take longer."""
    if single:
        study = study.changed(raw_profile=False)
    return _with_single_load(study, single)


def _unfinished_plan(
    campaigns: Path, single: SingleLoad | None, brief: bool, overrides: Sequence[Override]
) -> Study | None:
    """The plan of this directory's unfinished default campaign, with any number of warehouses; None
    if there is none.
    """
    from kneebench.campaign.preflight import overridden
    from kneebench.lab.host import host
    from kneebench.plan.default import sized_plan
    from kneebench.plan.study import Study
    from kneebench.results import load
    from kneebench.results.campaign_folders import find_unfinished
    from kneebench.results.head import study_of

    sized = Study(sized_plan(Path(), warehouses=1))
    study = _default_with(overridden(sized, overrides), single)
    found = find_unfinished(
        campaigns, study, host(study.paths), but=("workload.warehouses",), brief=brief
    )
    if found is None:
        return None
    return overridden(study_of(load(found).campaign), overrides)
