"""The measured plan and its databases, one or several, as the sections of a brief speak of them."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import ValidationError

from kneebench.errors import KneebenchError
from kneebench.plan import Plan
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.resolve import database_plans
from kneebench.records import Results, Setting
from kneebench.visible import is_plain


class Databases:
    """`plans`: what the plan says of each database, by name; of one with one database, by ""."""

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results, self.plans = results, database_plans(plan)

    def settings(self, name: str) -> tuple[Setting, ...]:
        """The settings in force on the first configuration that was measured with the database."""
        climbs = self._results.climbs
        ids = [climb.id for climb in climbs if climb.configuration.database == name]
        kept = self._results.campaign.settings
        return next((kept[id_] for id_ in ids if id_ in kept), ())

    def version(self, name: str) -> str:
        """The major version of the database's servers; empty if unknown."""
        return self.plans[name].engine.major_version(self.settings(name))

    def said(self, of: Callable[[str, DatabasePlan], str]) -> list[str]:
        """A sentence about each database: once if it is the same for all, else with the names."""
        found = {name: of(name, plan) for name, plan in self.plans.items()}
        if len({*found.values()}) == 1:
            return list(filter(None, {*found.values()}))
        return [f"{name}: {sentence}" for name, sentence in found.items() if sentence]


def measured_plan(results: Results) -> Plan:
    """The measured plan.

    Raises KneebenchError for a plan of another version, and for names that no chart can draw.
    """
    what = f"cannot read the plan of {results.campaign.id}"
    do = "use the kneebench version that measured it, or measure again"
    try:
        plan = Plan.model_validate(results.campaign.plan)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise KneebenchError(
            what, seen=f"{'.'.join(map(str, first['loc']))}: {first['msg']}", do=do
        ) from None
    if odd := [
        climb.configuration.storage
        for climb in results.climbs
        if not is_plain(climb.configuration.storage)
    ]:
        raise KneebenchError(
            what, seen=f"control characters in the storage's name {odd[0]!r}", do=do
        )
    return plan
