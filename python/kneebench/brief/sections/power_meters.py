"""The meters of power: what each is, how it was read, and what those beside the leading one say."""

from __future__ import annotations

from kneebench.brief.power_meters import meters_table, others_table
from kneebench.brief.section import Section
from kneebench.brief.view_model import ViewModel


def section(view: ViewModel) -> Section | None:
    """Two tables; nothing without meters."""
    power = view.campaign.power
    if not power:
        return None
    others = others_table(view, power)
    return Section(
        name="power-meters",
        title="Meters of power",
        tables=(meters_table(view, power), *((others,) if others else ())),
        part="configuration",
    )
