"""Plan selection: the plan file of a command, or else the default plan of this directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kneebench.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kneebench.plan import Plan
    from kneebench.plan.overrides import Override


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


def selected_plan(
    file: Path | None,
    campaigns: Path | None = None,
    single: SingleLoad | None = None,
    *,
    brief: bool = False,
    overrides: Sequence[Override] = (),
) -> Plan:
    """The plan in `file`, or the default plan, with the keys that `overrides` sets. Raises
    PlanError with all errors of the plan.

    An unfinished campaign of the default plan among `campaigns` keeps the size with which it
    started, because free space has changed since. With `brief` the same holds for a finished
    campaign whose brief is not written yet.
    """
    from kneebench.campaign.preflight import overridden, read_plan
    from kneebench.lab.host import host
    from kneebench.plan.default import default_plan

    if file:
        return _with_single_load(read_plan(file, overrides), single)
    begun = _unfinished_plan(campaigns, single, brief, overrides) if campaigns else None
    if begun:
        return begun
    return _default_with(overridden(default_plan(host(), Path()), overrides), single)


def _with_single_load(plan: Plan, single: SingleLoad | None) -> Plan:
    return plan.model_copy(update={"ladder": plan.ladder.once(*single)}) if single else plan


def _default_with(plan: Plan, single: SingleLoad | None) -> Plan:
    """The default plan; with a single load without the raw profile, which would take longer."""
    if single:
        plan = plan.model_copy(update={"raw_profile": False})
    return _with_single_load(plan, single)


def _unfinished_plan(
    campaigns: Path, single: SingleLoad | None, brief: bool, overrides: Sequence[Override]
) -> Plan | None:
    """The plan of this directory's unfinished default campaign, with any number of warehouses; None
    if there is none.
    """
    from kneebench.campaign.preflight import overridden
    from kneebench.lab.host import host
    from kneebench.plan import Plan
    from kneebench.plan.default import sized_plan
    from kneebench.results import load
    from kneebench.results.campaign_folders import find_unfinished

    sized = overridden(sized_plan(Path(), warehouses=1), overrides)
    selected = _default_with(sized, single)
    found = find_unfinished(
        campaigns, selected, host(selected.paths), but=("workload.warehouses",), brief=brief
    )
    if found is None:
        return None
    return overridden(Plan.model_validate(load(found).campaign.plan), overrides)
