"""What these figures cannot show, and what may have shaped them: to be read before they are
quoted.
"""

from __future__ import annotations

from collections.abc import Iterator

from kneebench import units
from kneebench.analysis.answers import OUTSIDE, caveats
from kneebench.analysis.io_evidence import REACHED, of_the_data
from kneebench.analysis.knee import quoted_rungs
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.raw_share import NEAR
from kneebench.analysis.wording import (
    capital,
    listed,
    percent,
    summed_up,
)
from kneebench.brief.section import Section
from kneebench.brief.view_model import ViewModel
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.drive_class import class_limits, device_limits
from kneebench.plan.ladder import WAREHOUSES_PER_USER
from kneebench.records import Climb, RawProfile


def section(view: ViewModel) -> Section | None:
    """Warnings; nothing where there are none."""
    sentences = tuple(_cautions(view))
    return (
        Section(name="cautions", title="Caveats", sentences=sentences, tone="note")
        if sentences
        else None
    )


def _cautions(view: ViewModel) -> Iterator[str]:
    if view.campaign.emulated:
        yield (
            "Emulated drives: their programs use the CPU that the database needs. No figure here"
            " says anything about a real drive."
        )
        yield from filter(None, (allowed_by_class(view),))
        yield from emulation_limits(view)
    yield from (one.words for one in caveats(view.results) if one.kind not in OUTSIDE)
    if view.plan.workload.type == "tproc-h":
        yield from _memory_backed(view)
        return
    yield from _crowded(view)
    ladder = view.plan.ladder
    if ladder.rounds == "short":
        yield (
            f"Short rounds: windows of {units.time(ladder.final_window)} leave out most of the cost"
            " of checkpoints and of the removal of old rows. They cannot show a drive's steady"
            ' state once its cache is full, or stability over hours; rounds = "long" can.'
        )
    elif ladder.quick:
        yield (
            f"Quick plan: a window of {units.time(ladder.final_window)} may miss checkpoints and"
            " the burst of full-page images after them. It cannot show whether the removal of old"
            " rows keeps up, a drive's steady state once its cache is full, or stability over"
            " hours."
        )
    yield from view.databases.said(_cloned)
    yield from _memory_backed(view)


def _cloned(database: str, plan: DatabasePlan) -> str:
    if plan.database.restore != "clone":
        return ""
    return (
        "Restored by reflink clones: the runs include the copy-on-write of shared blocks, also"
        " for the log."
    )


def _crowded(view: ViewModel) -> Iterator[str]:
    workload, found = view.plan.workload, {one.id: one.configuration for one in view.climbs}
    databases = {id_: one.databases or workload.databases for id_, one in found.items()}
    per_user = {
        id_: workload.warehouses * databases[id_] / knee.users.value
        for id_, knee in view.knees.items()
    }
    crowded = {id_: one for id_, one in per_user.items() if one < WAREHOUSES_PER_USER}
    if crowded:
        ends = [units.rounded(one(crowded.values())) for one in (min, max)]
        yield (
            f"Only {' to '.join(dict.fromkeys(ends))} warehouse{'' if ends[1] == '1' else 's'} per"
            f" user at the {view.point} ({view.some([*crowded])}). Below {WAREHOUSES_PER_USER} per"
            " user, row contention masks storage differences."
        )


def _memory_backed(view: ViewModel) -> Iterator[str]:
    memory = [climb.configuration for climb in view.climbs if view.memory_backed(climb)]
    if memory:
        those, verb = capital(summed_up(memory)), "is" if len(memory) == 1 else "are"
        yield (
            f"{those} {verb} memory-backed storage (tmpfs): an estimate of what faster storage"
            " could buy, not a bound. tmpfs uses RAM, costs CPU for copying and changes group"
            " commit."
        )


# Emulated drives that are slower than their class: a caveat with both figures.
#
# What the programs of emulated drives reach depends on the CPU. Where a volume without a database
# stays below the limit of its class, the emulation is the limit, and the class says nothing.


def emulation_limits(view: ViewModel) -> Iterator[str]:
    """A sentence for each storage whose raw profile is below the limit of its drives' class."""
    for name, storage in view.plan.storages.items():
        profiles = [
            view.campaign.raw_profiles[climb.id]
            for climb in view.climbs
            if climb.configuration.storage == name and climb.id in view.campaign.raw_profiles
        ]
        below = [
            f"{units.count(did)} of {units.count(limit)} {kind}s/s"
            for kind, limit in class_limits(storage).items()
            if (did := _most(profiles, kind)) and did < REACHED * limit
        ]
        if below:
            yield (
                f"{capital(name)}: the emulation is the limit, not the class of its drives. Without"
                f" a database it did {listed(below)} that the class allows."
            )


def allowed_by_class(view: ViewModel) -> str:
    """What the classes of emulated drives allow each storage, in a sentence; empty where none has a
    limit.
    """
    storages = view.plan.storages
    logs = {f"the log of {name}": one.log for name, one in storages.items() if one.log}
    found = {name: class_limits(volume) for name, volume in {**storages, **logs}.items()}
    each = [
        f"{name} to {listed([f'{units.count(most)} {kind}s/s' for kind, most in limits.items()])}"
        for name, limits in found.items()
        if limits
    ]
    if not each:
        return ""
    return f"The classes of the drives limit {'; '.join(each)}.{_reached(view)}"


def _reached(view: ViewModel) -> str:
    """How near the data of each storage came to these limits in the final runs."""
    limits = {name: device_limits(one) for name, one in view.plan.storages.items()}
    near = [
        f"{view.name(climb.id)} did {units.count(did)} of {units.count(limit)} {kind}s/s"
        f" ({percent(round(did / limit, 2))})"
        for climb in view.climbs
        for kind, limit in limits[climb.configuration.storage].items()
        if (did := _of_data(climb, f"device.{kind}s")) and did >= NEAR * limit
    ]
    if near:
        those = listed(near)
        return f" In the final runs {those}: a ratio of such figures mostly repeats the limits."
    known = any(limits.values())
    return f" No storage did {percent(NEAR)} of its limit in the final runs." * known


def _of_data(climb: Climb, quantity: str) -> float | None:
    """Over the final runs, of the devices that hold data; None where nobody knows which do."""
    rungs = quoted_rungs(climb)
    known = any("data" in one.roles for rung in rungs for one in rung.devices)
    return of_the_data(KneeReadings(rungs), quantity) if known else None


def _most(profiles: list[RawProfile], kind: str) -> float:
    rows = [row for one in profiles for row in one.rows if row.kind == kind and not row.invalid]
    return max((row.iops for row in rows), default=0.0)
