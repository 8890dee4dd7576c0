"""Two campaigns side by side: whether their figures may be compared, and what else differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kneebench.analysis.fixed_rate import fixed_rate_latency, same_rate
from kneebench.analysis.machine_settings import (
    modules_in_words,
    named_settings,
    settings_of_the_plan,
)
from kneebench.engine_properties import engine_properties
from kneebench.errors import PlanError
from kneebench.records import Campaign, Results
from kneebench.results.compare_plans import (
    ANYWAY,
    comparable_plans,
    compare_plans,
    leaves,
    shown_values,
    whole,
    within,
)
from kneebench.shelf import ENGINES
from kneebench.units import size

_UNLISTED = (
    *("question", "name", "tags", "brief", "accept", "erase"),
    *("storages", "databases", "kernel", "raw_profile", "emulated_path"),
)
"""Fields of which no reader of figures must know that they differ, or that tables show anyway."""
_RATE = "ladder.latency_rate"


def comparable(a: Results, b: Results) -> None:
    """Raise PlanError that names the first field of the plans that matters and differs, or two
    servers of different major versions: figures of such campaigns must not stand side by side."""
    what = f"cannot compare {a.campaign.id} with {b.campaign.id}"
    comparable_plans(a.campaign.plan, b.campaign.plan, what)
    for name, old, new in _other_majors(a, b):
        server = f"the server of {name}" if name else "the server"
        raise PlanError(
            what,
            seen=f"{server} is version {old} in the first and {new} in the second",
            do=f"measure both with one major version, or {ANYWAY}",
        )


def incomparable(a: Results, b: Results) -> list[str]:
    """Sentences on what makes the figures of two campaigns different by itself: engines, major
    versions, fields that matter. Empty for comparable ones.
    """
    one, two = (results.campaign.plan for results in (a, b))
    versions = [
        (f"the version of {name}" if name else "the server's version", old, new)
        for name, old, new in _other_majors(a, b)
    ]
    names = compare_plans(one, two)
    old, new = (shown_values(plan, names) for plan in (one, two))
    fields = [(name, old[name], new[name]) for name in names]
    return [_between(a, b, *found) for found in (*versions, *fields)]


def differences(a: Results, b: Results) -> list[str]:
    """What two campaigns differ in besides their storages, in sentences: kneebench, the machine,
    the server's settings that matter, fields of the plan that cannot touch the figures.
    """
    left, right = (
        {"kneebench": one.campaign.kneebench, **_machine(one.campaign)} for one in (a, b)
    )
    both = [name for name in left if name in right]
    machine = _differing(a, b, *({name: one[name] for name in both} for one in (left, right)))
    of_server = (
        {name: value for name, value in _settings(one.campaign).items() if name not in both}
        for one in (a, b)
    )
    return [
        *machine,
        *_differing(a, b, *of_server),
        *_differing(a, b, *_untouching(a, b)),
        *_differing(a, b, _words(a), _words(b)),
        *_differing(a, b, *_tags(a, b)),
    ]


def differing_settings(a: Results, b: Results) -> list[str]:
    """Sentences for the server settings that change what storage sees and differ between two
    campaigns.
    """
    return _differing(a, b, *(_settings(results.campaign) for results in (a, b)))


def _untouching(a: Results, b: Results) -> tuple[dict[str, str], dict[str, str]]:
    """The fields of each plan that differ, and are none that shape a figure; not the key of the
    fixed rate if the rates themselves are the same, as where kneebench set it.
    """
    left, right = (dict(leaves(whole(one.campaign.plan))) for one in (a, b))
    matter = compare_plans(a.campaign.plan, b.campaign.plan)
    unlisted = (*_UNLISTED, *([_RATE] if _one_rate(a, b) else []))
    differing = (name for name in {**left, **right} if left.get(name) != right.get(name))
    names = [name for name in differing if name not in matter and not within(name, unlisted)]
    return shown_values(a.campaign.plan, names), shown_values(b.campaign.plan, names)


def _one_rate(a: Results, b: Results) -> bool:
    """Whether both measured latency, and at one fixed rate."""
    found = [fixed_rate_latency(climb) for one in (a, b) for climb in one.climbs]
    rates = [one.rate_per_s for one in found if one]
    return len(rates) == len(found) and same_rate(rates)


def _differing(
    a: Results, b: Results, left: Mapping[str, str], right: Mapping[str, str]
) -> list[str]:
    return [
        _between(a, b, name, left.get(name, "unknown"), right.get(name, "unknown"))
        for name in {**left, **right}
        if left.get(name) != right.get(name)
    ]


def _between(a: Results, b: Results, name: str, one: object, other: object) -> str:
    return f"{name} is {one} in {a.campaign.id} and {other} in {b.campaign.id}"


def _machine(campaign: Campaign) -> dict[str, str]:
    """The machine with its settings while it was measured; without what it does not report."""
    host = campaign.host
    facts = {
        "processor": host.cpu,
        "cores": host.cores,
        "sockets": host.sockets,
        "threads per core": host.threads_per_core,
        "memory": size(host.memory_bytes),
        "memory modules": modules_in_words(host) or None,
        "kernel": host.kernel,
        "system": host.system,
        "virtualisation": host.virtualisation or "none detected",
        "governor": host.governor or "not readable",
        **host.firmware,
        **named_settings(host.settings),
        **settings_of_the_plan(campaign),
    }
    return {name: str(value) for name, value in facts.items() if value is not None}


def _words(results: Results) -> dict[str, str]:
    """What the author says of the machine."""
    brief: Any = results.campaign.plan.get("brief") or {}
    found = brief.get("machine", {}).items()
    return {f"in the author's words {name!r}": str(text) for name, text in found}


def _tags(a: Results, b: Results) -> tuple[dict[str, str], dict[str, str]]:
    left, right = (one.campaign.tags for one in (a, b))
    one, other = (
        {f"the tag {name}": side.get(name, "not set") for name in {**left, **right}}
        for side in (left, right)
    )
    return one, other


def _settings(campaign: Campaign) -> dict[str, str]:
    """Name to value; to all values where storages of a campaign differ."""
    found: dict[str, set[str]] = {}
    for setting in (
        one for settings in campaign.settings.values() for one in settings if one.matters
    ):
        found.setdefault(setting.name, set()).add(setting.value)
    return {name: ", ".join(sorted(values)) for name, values in found.items()}


def _other_majors(a: Results, b: Results) -> Iterator[tuple[str, str, str]]:
    """The databases of both whose servers' major versions differ, by name, with the two."""
    one, two = (_majors(results) for results in (a, b))
    for name, version in one.items():
        if version and two.get(name) and version != two[name]:
            yield name, version, two[name]


def _majors(results: Results) -> dict[str, str]:
    """The server's major version by database; more than one where storages have servers of their
    own.
    """
    database = {climb.id: climb.configuration.database for climb in results.climbs}
    versions: dict[str, set[str]] = {}
    engines = results.campaign.engines
    for configuration, settings in results.campaign.settings.items():
        if (engine := engines.get(name := database.get(configuration, ""))) in ENGINES.names():
            version = engine_properties(engine).major_version(settings)
            versions.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(found - {""})) for name, found in versions.items()}
