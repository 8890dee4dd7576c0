"""Configurations that a plan adds to a campaign that was measured without them: the kept
configurations are not measured again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kneebench.analysis.wording import listed
from kneebench.errors import KneebenchError
from kneebench.plan.study import Study
from kneebench.records import Campaign, Configuration, Host, Rung
from kneebench.results.campaign_folders import RESUME_IGNORES, folders_in, resumable, same_machine
from kneebench.results.head import read_head, study_of
from kneebench.results.lock import held
from kneebench.results.origin import is_own

OF_CONFIGURATIONS = ("storages", "databases", "constraints", "baseline")
"""Fields of a plan that its configurations are made of."""


def joinable(campaign: Campaign, requested: Study) -> bool:
    """True if a campaign can take in the configurations that a study adds: it has all of the
    campaign's with the same storages, databases and constraints, and is else equal. Short rounds
    need all configurations side by side, so none can be added later.
    """
    if requested.ladder.rounds == "short":
        return False
    if not resumable(campaign.plan, requested.document, (*RESUME_IGNORES, *OF_CONFIGURATIONS)):
        return False
    before = study_of(campaign)
    return (
        before.base == requested.base
        and before.workload == requested.workload
        and {*before.configurations} < {*requested.configurations}
        and before.saturating <= requested.saturating
        and all(_several(requested).get(name) == one for name, one in _several(before).items())
        and all(requested.storages.get(name) == one for name, one in before.storages.items())
    )


def _several(study: Study) -> dict[str, Any]:
    """The several databases of a plan as results keep them."""
    return dict(study.document.get("databases", {}))


def find_joinable(root: Path, study: Study, host: Host) -> Path | None:
    """The campaign under `root`, finished or not, that the plan adds the fewest configurations to
    (`joinable`), of the same machine; the newest of several, None if there is none.
    """
    found: list[tuple[int, str, Path]] = []
    for folder in folders_in(root):
        with contextlib.suppress(KneebenchError):  # a damaged campaign stops no other
            if held(folder):
                continue
            campaign = read_head(folder)
            fits = same_machine(host, campaign.host) and joinable(campaign, study)
            if fits and is_own(folder, campaign):
                there = len(campaign.resolved.configurations)
                found.append((there, campaign.started_at, folder))
    return max(found)[-1] if found else None


def added_configurations(campaign: Campaign, study: Study) -> tuple[Configuration, ...]:
    """The configurations that the plan has and the campaign's own has not."""
    there = campaign.resolved.configurations
    return tuple(one for one in study.configurations if one not in there)


def with_configurations(
    campaign: Campaign, study: Study, added: Sequence[Configuration], rungs: Iterable[Rung]
) -> Campaign:
    """The head of the campaign with the plan that has these configurations too. They are measured
    at the fixed rate that its rungs were measured at, if any was: the last one if it was chosen
    again.
    """
    both = {"plan": study.document, "resolved": study.resolved}
    changed = campaign.model_copy(update=both)
    if not (kept := list(rungs)):
        return changed
    now = datetime.now(UTC).isoformat(timespec="seconds")
    at_rate = [rung.order for rung in kept if rung.order.phase == "fixed_rate"]
    rate = next((one for one in at_rate if one.rate_per_s == at_rate[-1].rate_per_s), None)
    note = (
        f"{listed([one.name for one in added])} joined this campaign at {now}: not interleaved with"
        " what was measured before, so no interval covers drift between them"
    )
    update = {
        "joined": campaign.joined | {configuration.id: now for configuration in added},
        "fixed_rate": campaign.fixed_rate or rate,
        "notes": (*campaign.notes, note),
    }
    return changed.model_copy(update=update)


def with_authors_words(campaign: Campaign, study: Study) -> Campaign:
    """The head with the author's words as they are in the plan that resumes it."""
    plan = {**campaign.plan, "brief": study.brief.model_dump(mode="json")}
    storages = {
        name: one.model_copy(update={"price": study.resolved.storages[name].price})
        for name, one in campaign.resolved.storages.items()
    }
    update = {"target": study.brief.target, "storages": storages}
    resolved = campaign.resolved.model_copy(update=update)
    return campaign.model_copy(update={"plan": plan, "resolved": resolved})


def sized_otherwise(
    campaign: Campaign,
    configuration: Configuration,
    names: Iterable[str],
    others: Sequence[str] = (),
) -> str:
    """Which of these server settings a configuration that joined has otherwise than the
    configurations before it; empty for none. The rules size a server by all storages of the plan,
    also by those that joined. `others`: the configurations of other databases, by id.
    """
    apart = {*campaign.joined, *others}
    kept = (one for id, one in campaign.settings.items() if id not in apart)
    before = {one.name: one.value for one in next(kept, ())}
    if configuration.id not in campaign.joined or not before:
        return ""
    own = {one.name: one.value for one in campaign.settings[configuration.id]}
    both = [name for name in names if name in own and name in before]
    differing = [f"{n} {own[n]} (was {before[n]})" for n in both if own[n] != before[n]]
    if not differing:
        return ""
    return (
        f"{configuration.name} joined with other server settings: {listed(differing)}. The"
        " difference to the other configurations may come from them: set them in the plan, or run"
        " --fresh"
    )
