"""Proofs: what a knee gains when a resource is relieved, and what that says about the verdict.

A relief that gains at least 5% proves that the resource was short; one that is shown to gain less
refutes it. Between the two it stays a suspicion, with its interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kneebench.analysis.bottleneck import BY_KEY, PROBABLY, bottleneck, generator_bound_rung
from kneebench.analysis.comparison import ratio_of
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.quantity_ratio import NOPM
from kneebench.analysis.resource_evidence import delayed_share
from kneebench.analysis.resources import (
    CPU,
    DATA_READS,
    DATA_WRITES,
    LOAD_GENERATOR,
    LOAD_GENERATOR_DELAY,
    LOG,
)
from kneebench.analysis.still_warming import still_warming
from kneebench.analysis.sweep import took_turns
from kneebench.analysis.wording import times_with_interval
from kneebench.records import Bottleneck, Climb, Estimate, Proof, Relieved, Results, Rung, Verdict

GAIN = 1.05
"""Least gain that counts (methods: a cheap intervention that gains 5% proves the limit)."""
Reliefs = tuple[str, ...]
READS_AND_WRITES, EITHER = (DATA_READS.key, DATA_WRITES.key), "data reads and writes"
"""What one relief takes away together: its proof is of both."""
NEXT, MOST_RELIEFS = (LOG, DATA_READS, CPU), 3
"""Candidates for the next limit, and how many resources are relieved in all."""
LEAST_RUNS, MOST_RUNS = 3, 6
"""Long final runs of each side: more than the least only while a gain is not settled."""
ROUNDS, MOST_RESTORES = 4, 2
"""Short rounds on one restore of all sides; a second restore only while a gain is not settled."""


def judged(gain: Estimate | None) -> Verdict:
    """What a gain says about the resource that was relieved.

    >>> [judged(Estimate(value=v, low=low, high=high, n=3)) for v, low, high in (
    ...     (1.30, 1.20, 1.41), (1.01, 0.98, 1.04), (1.08, 0.97, 1.20))]
    ['proved', 'refuted', 'suspected']
    """
    if gain is None:
        return "suspected"
    if gain.value >= GAIN and gain.low > 1:
        return "proved"
    return "refuted" if gain.high < GAIN else "suspected"


def reliefs_to_try(climb: Climb) -> tuple[Reliefs, ...]:
    """For what limits the knee, then for the next candidates: reliefs of which the first that is
    possible is tried.
    """
    suspect = BY_KEY.get(bottleneck(climb).resource)
    every = [one for one in (suspect, *NEXT) if one]
    return tuple(dict.fromkeys(one.reliefs for one in every if one.reliefs))[:MOST_RELIEFS]


def users_to_prove(climb: Climb) -> int | None:
    """The knee's users; those of the rung that ended the climb, if the load generator was short
    there.
    """
    ended = generator_bound_rung(climb)
    return ended.users if ended else climb.knee_users


def still_to_try(climb: Climb, asked: Sequence[str], kept: Proof | None) -> tuple[Reliefs, ...]:
    """The reliefs that were asked for (none: what looks short) and that no kept proof has tried."""
    if not asked:
        return () if kept else reliefs_to_try(climb)
    return tuple((one,) for one in asked if not kept or one not in kept.tried)


def suspected(climb: Climb) -> tuple[Reliefs, ...]:
    """The reliefs for what limits the knee; none where that is unknown or has none."""
    suspect = BY_KEY.get(bottleneck(climb).resource)
    return (suspect.reliefs,) if suspect and suspect.reliefs else ()


def bottlenecks(results: Results) -> dict[str, Bottleneck]:
    """The bottleneck of each configuration that has rungs, with what its proof gave."""
    proofs = results.campaign.proofs
    return {
        climb.id: proved(bottleneck(climb), proofs.get(climb.id))
        for climb in results.climbs
        if climb.rungs
    }


def proved(found: Bottleneck, proof: Proof | None) -> Bottleneck:
    """The bottleneck with what relieving it gave, and what could not be tried."""
    if not proof:
        return found
    resource = BY_KEY.get(found.resource)
    own = [one for one in proof.relieved if resource and one.relief in resource.reliefs]
    verdict = {"verdict": own[0].verdict, "gain": own[0].gain} if own else {}
    said = [one.sentence for one in proof.relieved]
    said += [f"Not tried: {relief} ({why})." for relief, why in proof.impossible.items()]
    sentence = found.sentence
    if own and own[0].verdict == "proved":
        sentence = sentence.replace(*PROBABLY, 1)
        if found.resource in READS_AND_WRITES and resource:
            named = found.called or resource.called
            sentence = sentence.replace(f"{PROBABLY[1]} {named}", f"{PROBABLY[1]} {EITHER}", 1)
    return found.model_copy(update={**verdict, "sentence": sentence, "next_limit": " ".join(said)})


def status(found: Bottleneck) -> str:
    """What a proof made of a suspicion, in the words of a table. What relieves reads of data
    relieves its writes as well: a proof cannot tell them apart.

    >>> reads = Bottleneck(configuration="", resource="data reads", evidence=(), sentence="")
    >>> status(reads)
    'suspected'
    >>> status(reads.model_copy(update={"verdict": "proved"}))
    'proved for reads and writes together'
    """
    both = found.verdict != "suspected" and found.resource in READS_AND_WRITES
    return f"{found.verdict} for reads and writes together" if both else found.verdict


def with_gains(proof: Proof, measured: Results, reliefs: Mapping[str, str]) -> Proof:
    """The proof with what its sides gave so far. `reliefs`: the name of the relief by the id of its
    configuration; empty for the knee as it was.
    """
    climbs = {climb.id: _counted(climb) for climb in measured.climbs}
    [before] = [climbs[configuration] for configuration, relief in reliefs.items() if not relief]
    found = [
        _relieved(climbs[configuration], before, relief)
        for configuration, relief in reliefs.items()
        if relief
    ]
    return proof.model_copy(update={"relieved": tuple(found)})


def _counted(climb: Climb) -> Climb:
    """With the runs that the load generator made invalid, whose latency is of no use: their
    throughput is what it could drive.
    """
    rungs = (_as_valid(rung) if _is_driven_late(rung) else rung for rung in climb.rungs)
    return climb.model_copy(update={"rungs": tuple(rungs)})


def _as_valid(rung: Rung) -> Rung:
    kept = tuple(one for one in rung.remarks if one.severity != "invalid")
    return rung.model_copy(update={"remarks": kept})


def _is_driven_late(rung: Rung) -> bool:
    readings = KneeReadings([rung])
    used = readings.value("load_generator.busy") or 0.0
    return used > LOAD_GENERATOR.limit or delayed_share(readings) > LOAD_GENERATOR_DELAY


def is_settled(found: Proof) -> bool:
    """Whether more runs would change no verdict."""
    return all(one.verdict != "suspected" for one in found.relieved)


def _relieved(climb: Climb, before: Climb, relief: str) -> Relieved:
    in_turn = took_turns((climb, before))
    compared = ratio_of(climb, before, NOPM, interleaved=in_turn)
    gain = compared.ratio if compared else None
    verdict, then = judged(gain), bottleneck(climb).resource
    return Relieved(
        relief=relief,
        configuration=climb.configuration,
        gain=gain,
        verdict=verdict,
        next_resource=then,
        sentence=_sentence(relief, climb, gain, verdict, then)
        if gain
        else f"With {relief}: {still_warming(climb) or still_warming(before) or 'no valid runs'}.",
    )


def _sentence(relief: str, climb: Climb, gain: Estimate, verdict: Verdict, then: str) -> str:
    limits = (
        f" ({climb.configuration.constraint})" if relief in ("more cores", "more memory") else ""
    )
    words = {
        "proved": "",
        "refuted": ", less than 5% more",
        "suspected": ", not settled by these runs",
    }
    found = BY_KEY.get(then) if verdict == "proved" else None
    next_limit = f"; the next limit is {found.called}" if found else ""
    return f"With {relief}{limits}: {times_with_interval(gain)} NOPM{words[verdict]}{next_limit}."
