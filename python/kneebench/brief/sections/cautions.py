"""What these figures cannot show, and what may have shaped them: to be read before they are
quoted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kneebench import units
from kneebench.analysis.background import APART, unequal_in
from kneebench.analysis.control import control_caveats
from kneebench.analysis.databases import by_database
from kneebench.analysis.drift import drift_caveat
from kneebench.analysis.fixed_rate import rate_caveats, wait_caveats
from kneebench.analysis.knee import MAY_BE_HIGHER, knee_rung
from kneebench.analysis.outcome import never_steady_caveats, order_weights
from kneebench.analysis.power import doubts
from kneebench.analysis.quoted_load import limit_caveats
from kneebench.analysis.still_steady import still_steady
from kneebench.analysis.sustained_load import Drains, drains
from kneebench.analysis.wording import (
    as_sentence,
    by_finding,
    capital,
    listed,
    lower,
    number_of_users,
    percent,
    said_once,
    summed_up,
)
from kneebench.brief.section import Section
from kneebench.brief.view_model import ViewModel
from kneebench.engine_properties import engine_properties, less_safe
from kneebench.lab.volumes.emulated import drive_classes
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.ladder import WAREHOUSES_PER_USER
from kneebench.plan.volume import COPIES, Volume
from kneebench.records import Climb, Configuration, Estimate, RawProfile
from kneebench.shelf import ENGINES

FAR = 0.25
"""So far from what the climb had measured is said even where the final runs scatter as much."""


def section(view: ViewModel) -> Section | None:
    """Warnings; nothing where there are none."""
    sentences = tuple(_cautions(view))
    return (
        Section(name="cautions", title="Caveats", sentences=sentences, tone="note")
        if sentences
        else None
    )


def _of_climbs(view: ViewModel) -> Iterator[str]:
    """Limits that were exceeded without ending a climb, doubts of a knee, and knees beyond which
    the climb measured nothing.
    """
    flags = (
        f"{view.name(climb.id)}: {one.sentence}" for climb in view.climbs for one in climb.flags
    )
    yield from map(as_sentence, said_once(flags, view.names))
    if names := [id_ for id_, knee in view.knees.items() if knee.open_ended]:
        yield f"{capital(view.some(names))}: {lower(MAY_BE_HIGHER)}"
    yield from _not_located(view)


def _not_located(view: ViewModel) -> Iterator[str]:
    """Knees whose interval covers every rung of their climb."""
    names = []
    for climb in view.climbs:
        knee, searched = view.knees.get(climb.id), climb.of("search", "bisection")
        users = [rung.users for rung in searched]
        if knee and len(set(users)) > 2 and _covers(knee.users, users):
            names.append(climb.id)
    if names:
        yield (
            f"The number of users at the knee is hardly known on {view.some(names)}: its interval"
            " covers every rung of the climb."
        )


def _covers(knee: Estimate, users: Sequence[int]) -> bool:
    return knee.low < knee.high and knee.low <= min(users) and knee.high >= max(users)


def _elsewhere(view: ViewModel) -> str:
    """Where the final runs did not find again what the climbs had seen at their knees."""
    each = [(climb.configuration, _moved(view, climb)) for climb in view.climbs]
    found = [(of, moved) for of, moved in each if moved]
    if not found:
        return ""
    [(first, (share, there)), *others] = found
    shares = [(of, one) for of, (one, _) in found]
    said = (
        "The final runs measured other NOPM than the climbs at their knees:"
        f" {by_finding(shares, len(view.climbs))}"
        if others
        else f"{first.name}: the final runs measured {share} NOPM vs. the climb's {there}"
    )
    return (
        f"{said}. The quoted figures are from the final runs; the choice of {view.point} is from"
        " the climb."
    )


def _moved(view: ViewModel, climb: Climb) -> tuple[str, str] | None:
    """How far the final runs of a climb are from what it had seen, and that; None within the
    noise.
    """
    knee, searched = view.knees.get(climb.id), knee_rung(climb)
    if not knee or not searched or not climb.of("search"):
        return None
    share = knee.nopm.value / searched.tally.nopm - 1
    within = knee.nopm.low <= searched.tally.nopm <= knee.nopm.high
    if abs(share) <= (FAR if within else view.noise_floor(climb)):
        return None
    there = f"{units.significant(searched.tally.nopm)} at {number_of_users(searched.users)}"
    return percent(share, signed=True), there


def _cautions(view: ViewModel) -> Iterator[str]:
    if view.campaign.emulated:
        yield (
            "Emulated drives: their programs use the CPU that the database needs. No figure here"
            " says anything about a real drive."
        )
        yield from filter(None, (allowed_by_class(view),))
        yield from emulation_limits(view)
    yield from map(as_sentence, doubts(view.climbs, view.campaign.power))
    yield from (*_less_safe(view), *_unprofiled(view))
    yield from map(as_sentence, never_steady_caveats(view.results))
    yield from (*_not_steady(view), *_of_climbs(view))
    yield from _drives(view)
    yield from _no_longer_steady(view)
    yield from limit_caveats(view.results)
    yield from _measured_again(view)
    yield from rate_caveats(view.climbs)
    yield from wait_caveats(view.results)
    yield from (f"{sentence}." for sentence in control_caveats(view.results))
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
    drifted = drift_caveat(view.drifts, len(view.climbs))
    yield from filter(None, (_elsewhere(view), drifted))
    yield from _background(view)
    yield from _weights(view)
    yield from view.databases.said(_cloned)
    yield from _memory_backed(view)


def _less_safe(view: ViewModel) -> Iterator[str]:
    """Settings that buy speed with safety, as the servers reported them."""
    on: dict[str, list[str]] = {}
    for climb in view.climbs:
        engine = view.campaign.engines.get(climb.configuration.database, "")
        table = engine_properties(engine).safety_settings if engine in ENGINES.names() else ()
        values = {one.name: one.value for one in view.campaign.settings.get(climb.id, ())}
        for _, seen in less_safe(table, values):
            on.setdefault(seen, []).append(climb.id)
    yield from (f"On {view.some(ids)}, {seen}." for seen, ids in on.items())


def _cloned(database: str, plan: DatabasePlan) -> str:
    if plan.database.restore != "clone":
        return ""
    return (
        "Restored by reflink clones: the runs include the copy-on-write of shared blocks, also"
        " for the log."
    )


def _background(view: ViewModel) -> Iterator[str]:
    unequal = [
        work.sentence
        for part in by_database(view.results).values()
        for work in unequal_in(part)
        if work.apart < APART
    ]
    if unequal:
        yield (
            "Background work was spread unevenly over the windows and affects these comparisons:"
            f" {'; '.join(unequal)}."
        )


def _weights(view: ViewModel) -> Iterator[str]:
    """Differences in weight that fail no check."""
    if found := [one.sentence for one in order_weights(view.results) if not one.matters]:
        yield f"Transactions were not equally heavy: {'; '.join(found)}."


def _unprofiled(view: ViewModel) -> Iterator[str]:
    """Storages whose raw profile is missing: a bottleneck of theirs is known to less."""
    for configuration, why in view.campaign.unprofiled.items():
        if configuration not in view.campaign.raw_profiles:
            yield (
                f"{capital(view.name(configuration))}: not measured without its database, so what"
                " its drives can do is not known; its bottleneck is inferred from waits alone"
                f" ({why})."
            )


def _not_steady(view: ViewModel) -> Iterator[str]:
    """Final runs whose warm-up reached its limit, by why."""
    drifting, cold = list[tuple[Configuration, str]](), list[tuple[Configuration, str]]()
    for climb in view.climbs:
        runs = [rung for rung in climb.of("final_run") if not rung.invalid]
        unsteady = [rung for rung in runs if not rung.steady]
        unfilled = sum(any(one.kind == "not_filled" for one in rung.remarks) for rung in unsteady)
        for found, late in ((cold, unfilled), (drifting, len(unsteady) - unfilled)):
            if late:
                found.append((climb.configuration, f"{late} of {len(runs)}"))
    if drifting:
        yield (
            "The warm-up reached its limit before the load was seen to be steady in these final"
            f" runs: {by_finding(drifting, len(view.climbs))}."
        )
    if cold:
        yield (
            "The warm-up reached its limit before as much was read as the memory holds, so that it"
            " may not have been full, in these final runs:"
            f" {by_finding(cold, len(view.climbs))}."
        )


def _drives(view: ViewModel) -> Iterator[str]:
    """What was seen of the drives before the first volume was made."""
    campaign = view.campaign
    if unsteady := [one.device for one in campaign.preconditioned if one.steady is False]:
        yield f"NOT in the steady state after preconditioning: {listed(unsteady)}."
    seen: dict[tuple[str, str], Counter[str]] = {}
    for load in campaign.drive_loads:
        counts = {"media errors": load.media_errors or 0, "throttled": load.throttled or 0}
        seen.setdefault((load.device, load.kind), Counter()).update(counts)
    for (device, kind), total in seen.items():
        if told := [f"{name}: {count}" for name, count in total.items() if count]:
            yield f"{device} during its {kind}: {listed(told)}."
    yield from _not_drained(drains(campaign.drive_loads))


def _not_drained(every: Sequence[Drains]) -> Iterator[str]:
    """The drives that did not fall to a lower level in each of their drains."""
    alike: dict[tuple[int, int], list[str]] = {}
    for one in every:
        if one.fell < len(one.loads):
            alike.setdefault((one.fell, len(one.loads)), []).append(one.device)
    for (fell, count), devices in alike.items():
        during = f"{count - fell} of {count} drains" if count > 1 else "the drain"
        none = "" if fell else ", or there are none"
        yield (
            f"IOPS did not fall during {during} of {listed(devices)}: burst credits may have been"
            f" left{none}."
        )


def _measured_again(view: ViewModel) -> Iterator[str]:
    """Runs that no figure counts; the table of all rungs has them, with why."""
    again = [
        (climb.configuration, f"{len(climb.superseded)} of {len(climb.superseded) + len(kept)}")
        for climb in view.climbs
        if climb.superseded
        for kept in [climb.of("final_run", "fixed_rate")]
    ]
    if again:
        yield (
            "Some runs at the knee and at the fixed rate were measured again, and count in no"
            f" figure: {by_finding(again, len(view.climbs))}."
        )


def _no_longer_steady(view: ViewModel) -> Iterator[str]:
    found = still_steady(view.results)
    yield from (one.sentence for one in found if one.answer == "no longer steady")


def _crowded(view: ViewModel) -> Iterator[str]:
    warehouses = view.plan.workload.warehouses
    users = {configuration: knee.users.value for configuration, knee in view.knees.items()}
    crowded = [
        configuration
        for configuration, number in users.items()
        if warehouses < WAREHOUSES_PER_USER * number
    ]
    if crowded:
        fewest = warehouses / max(users.values())
        yield (
            f"Only {units.rounded(fewest)} warehouses per user at the {view.point}"
            f" ({view.some(crowded)}). Below {WAREHOUSES_PER_USER} per user, row contention masks"
            " storage differences."
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

REACHED = 0.9
"""Share of the class's limit from which it is reached: a throttle never lets all of it through."""


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
        f"{name} {listed([f'{units.count(most)} {kind}s/s' for kind, most in limits.items()])}"
        for name, limits in found.items()
        if limits
    ]
    if not each:
        return ""
    return (
        f"By their classes the drives allow {'; '.join(each)}. Where one of these is the limit, a"
        " ratio restates them."
    )


def class_limits(volume: Volume) -> dict[str, int]:
    """Reads and writes per second of a file on a volume of emulated drives that are all of one
    class; without a limit, or with other drives, none.
    """
    drives = volume.emulated_drives
    if not drives or volume.named_drives or len({drive.emulated for drive in drives}) > 1:
        return {}
    copies = COPIES[volume.layout]
    layout = drive_classes()[drives[0].emulated].of_layout(len(drives), copies)
    every = {
        "read": layout.read_iops or layout.total_iops,
        "write": layout.write_iops or layout.total_iops,
    }
    return {kind: limit for kind, limit in every.items() if limit}


def _most(profiles: list[RawProfile], kind: str) -> float:
    rows = [row for one in profiles for row in one.rows if row.kind == kind and not row.invalid]
    return max((row.iops for row in rows), default=0.0)
