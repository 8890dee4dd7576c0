"""Seconds of a window in which users got no response: of one load host, of a quarter of all users
or more, or of all.

Two things look alike from the users' side, and are told apart here:

- The storage made the database wait (a checkpoint, a slow flush). That is what is measured: the
  rung stays valid, and the stall is named with its length. Its sign is that the users' sessions are
  at work in the database, in a wait or on a core, or that a drive under it was busy throughout.
- The network between them was dead, or the server itself was frozen. Nothing of the storage was
  measured: the rung is invalid. Its signs are that one load host alone got nothing while the
  others went on, that the sessions were idle in the database, or that the server did not answer
  the meters either.

Where neither its sessions nor its drives can be seen, nothing is decided: a caveat.

How long is expected from the rate: users who think, few users and slow storage have silent seconds
of their own. A host or a whole load is silent for at least `SILENT_S` in which it would have
completed `EXPECTED` transactions (none is then a chance of 2 in a billion); a user is, once a
transaction of it is as old as that and 10 times the median.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean, median
from typing import NamedTuple

from kneebench.analysis.evidence import CLASSES
from kneebench.analysis.knee_readings import SAMPLES
from kneebench.analysis.wording import plural
from kneebench.measurement.sampler import RawSeries
from kneebench.measurement.summaries import between
from kneebench.records import AnsweredSecond, Remark, Tally
from kneebench.units import time

SILENT_S = 4
EXPECTED = 20.0
"""Transactions."""
QUARTER = 0.25
"""Of all users: so many are no chance, and with fewer the figures are hardly moved."""
TIMES_THE_MEDIAN = 10.0
GOES_ON = 0.5
"""Of their usual rate: above it, other hosts went on while one was silent."""
IN_THE_DATABASE = 0.5
"""Of the silent users: with so many of their sessions at work, the database made them wait."""
SAMPLED = 0.5
"""Of the usual number of samples per second: with fewer the sessions were not seen."""
BUSY_THROUGHOUT = 0.9


class Seen(NamedTuple):
    """What was seen of one rung. `ended_s`: the end of each second, since go; the readings of the
    i-th are those of sample i + 1. The window begins with sample `first` and ends with `last`.
    """

    tally: Tally
    progress: Sequence[AnsweredSecond]
    ended_s: Sequence[float]
    raw_series: Sequence[RawSeries]
    first: int
    last: int

    @property
    def seconds(self) -> range:
        """Those of the window, and of the cool-down after it."""
        begin_s = self.ended_s[self.first - 1] if self.first else 0.0
        return range(int(begin_s), int(self.ended_s[-1]))

    def covered_s(self, seconds: Sequence[int]) -> dict[int, float]:
        """By sample, how much of these seconds its readings cover: those of a server that hung are
        late.
        """
        at_s = self.raw_series[-1].at_s
        taken = [after - ended for after, ended in zip(at_s[1:], self.ended_s, strict=False)]
        taken_s = [one - min(taken) for one in at_s]
        begin, end = seconds[0], seconds[-1] + 1
        overlaps = {
            number: min(end, taken_s[number]) - max(begin, taken_s[number - 1])
            for number in range(max(1, self.first), self.last + 1)
        }
        return {number: lasts for number, lasts in overlaps.items() if lasts > 0}


class Answers(NamedTuple):
    """Answers by second, of one host or of all."""

    by_second: Mapping[int, int]

    def rate(self, seconds: Sequence[int]) -> float:
        """Per second; 0 without a second."""
        return fmean(self.by_second[one] for one in seconds) if seconds else 0.0

    def silences(self, seconds: Sequence[int], usual: float | None = None) -> Iterator[list[int]]:
        """Runs of seconds without an answer, longer than their rate explains: that of the other
        seconds, or `usual` where there are none.
        """
        for run in runs([one for one in seconds if not self.by_second[one]]):
            rest = [one for one in seconds if one not in run]
            rate = self.rate(rest) or usual or 0.0
            if len(run) >= SILENT_S and rate * len(run) >= EXPECTED:
                yield run


def runs(seconds: Sequence[int]) -> Iterator[list[int]]:
    """Runs of consecutive seconds.

    >>> list(runs([3, 4, 7]))
    [[3, 4], [7]]
    """
    for _, run in groupby(enumerate(seconds), lambda one: one[1] - one[0]):
        yield [second for _, second in run]


def silences(seen: Seen) -> Iterator[Remark]:
    """A remark for each; of one that is a host's alone, no second one of its users."""
    if seen.first >= seen.last or not seen.progress:
        return
    by_host = _by_host(seen)
    whole = [one for one in seen.seconds if all(one in some.by_second for some in by_host.values())]
    hosts = list(_silent_hosts(seen, by_host, whole))
    yield from hosts
    if not hosts:
        yield from _silent_users(seen, by_host, whole)


def _silent_hosts(
    seen: Seen, by_host: Mapping[str, Answers], whole: Sequence[int]
) -> Iterator[Remark]:
    """`whole`: the seconds that all hosts have reported."""
    for name, answers in by_host.items():
        others = {other: one for other, one in by_host.items() if other != name}
        for run in answers.silences(whole, _usual(seen, name, others, whole)):
            rest = [one for one in whole if one not in run]
            meanwhile = _rate(others, run)
            if meanwhile and meanwhile >= GOES_ON * _rate(others, rest):
                yield _silent_host(seen, name, run)


def _usual(
    seen: Seen, name: str, others: Mapping[str, Answers], whole: Sequence[int]
) -> float | None:
    """A host's answers per second if its users had as many as those of the others."""
    users = {one.name: one.users for one in seen.tally.hosts}
    of_others = sum(users.get(other, 0) for other in others)
    return _rate(others, whole) / of_others * users.get(name, 0) if of_others else None


def _rate(hosts: Mapping[str, Answers], seconds: Sequence[int]) -> float:
    return sum(one.rate(seconds) for one in hosts.values())


def _silent_host(seen: Seen, name: str, run: Sequence[int]) -> Remark:
    words = (
        f"host {name} completed no transaction for {len(run)} s ({_from(seen, run)}) while others"
        f" did (limit {SILENT_S} s){_resent(seen, name)}; check its network to the database"
    )
    return _remark("silent_host", words, len(run))


def _resent(seen: Seen, name: str) -> str:
    rates = {one.name: one.resent_per_s for one in seen.tally.hosts}
    if (rate := rates.get(name)) is None:
        return ""
    return f", and sent {plural(round(rate * seen.tally.window_s), 'segment')} again"


def _silent_users(
    seen: Seen, by_host: Mapping[str, Answers], whole: Sequence[int]
) -> Iterator[Remark]:
    total = Answers({one: sum(some.by_second[one] for some in by_host.values()) for one in whole})
    nothing = {one for run in total.silences(whole) for one in run}
    waiting = _waiting(seen)
    many = {one for one in whole if len(waiting.get(one, ())) >= QUARTER * seen.tally.users}
    for run in runs(sorted(nothing | many)):
        oldest_s = max((age for one in run for age in waiting.get(one, ())), default=0.0)
        most = max(len(waiting.get(one, ())) for one in run)
        users = seen.tally.users if set(run) & nothing else most
        yield _judged(seen, run, users, max(oldest_s, float(len(set(run) & nothing))))


def _by_host(seen: Seen) -> dict[str, Answers]:
    found: dict[str, dict[int, int]] = {}
    for one in seen.progress:
        found.setdefault(one.host, {})[one.at_s] = one.answered
    return {name: Answers(by_second) for name, by_second in found.items()}


def _waiting(seen: Seen) -> dict[int, list[float]]:
    """Ages of the transactions that are older than usual, by second."""
    tally = seen.tally
    typical = [tally.latency.p50_s] if tally.latency else []
    typical += [tally.users / tally.throughput_per_s] if tally.throughput_per_s else []
    limit_s = max(float(SILENT_S), TIMES_THE_MEDIAN * min(typical, default=0.0))
    found: dict[int, list[float]] = {}
    for one in seen.progress:
        found.setdefault(one.at_s, []).extend(age for age in one.waiting_s if age >= limit_s)
    return found


def _judged(seen: Seen, run: Sequence[int], users: int, for_s: float) -> Remark:
    """A stall of the storage, or nothing that was measured."""
    all_of_them = users >= seen.tally.users
    who = "no user got a" if all_of_them else f"{users} of {seen.tally.users} users got no"
    what = f"{who} response for {time(for_s)} ({_from(seen, run)})"
    sessions, busy = _sessions(seen, run, users), _busiest_drive(seen, run)
    if sessions and sessions.within >= IN_THE_DATABASE * users:
        most = "" if sessions.most == "cpu" else f", most in {CLASSES[sessions.most]}"
        return _stall(f"{what}: their sessions were at work in the database{most}", for_s)
    if not sessions and busy is not None and busy >= BUSY_THROUGHOUT:
        return _stall(f"{what}: a drive of the database was {100 * busy:.0f}% busy", for_s)
    if sessions:
        why = f"{plural(round(sessions.within), 'session')} of theirs at work in the database"
    elif _active(seen):
        why = "the server did not answer the meters either"
    elif busy is not None:
        why = f"the database's drives were at most {100 * busy:.0f}% busy"
    else:
        why = "no meter shows whether the database or the network stalled"
        return _stall(f"{what}; {why}", for_s)
    return _remark("silent_users", f"{what}; {why} (limit {SILENT_S} s)", for_s)


def _from(seen: Seen, run: Sequence[int]) -> str:
    return f"{run[0] - seen.seconds[0]} s into the window"


def _remark(kind: str, words: str, for_s: float) -> Remark:
    return Remark(
        kind=kind, severity="invalid", words=words, value=for_s, limit=float(SILENT_S), unit="s"
    )


def _stall(words: str, for_s: float) -> Remark:
    return _remark("stall", words, for_s).model_copy(update={"severity": "caveat"})


class _Sessions(NamedTuple):
    """Mean number of the silent users' sessions at work, and the class in which most were."""

    within: float
    most: str


def _sessions(seen: Seen, run: Sequence[int], users: int) -> _Sessions | None:
    """What the silent users' sessions did; None where they were not sampled meanwhile. The others
    are taken to have done what they do in the rest of the window.
    """
    active, covered_s, rates = _active(seen), seen.covered_s(run), _sample_rates(seen)
    rest = [number for number in active if number not in covered_s]
    usual_rate = median([rates[one] for one in rest if one in rates] or [0.0])
    known = [one for one in covered_s if one in active]
    if not known or _mean(covered_s, rates) < SAMPLED * usual_rate:
        return None
    by_class = {
        name: _mean(covered_s, {one: active[one].get(name, 0.0) for one in known})
        for name in CLASSES
    }
    usual = fmean(sum(active[one].values()) for one in rest) if rest else 0.0
    others = usual / seen.tally.users * max(0, seen.tally.users - users)
    most = max(by_class, key=lambda name: by_class[name])
    return _Sessions(max(0.0, sum(by_class.values()) - others), most)


def _mean(covered_s: Mapping[int, float], values: Mapping[int, float]) -> float:
    """Of values by sample; 0 for one that has none."""
    weighted = sum(values.get(one, 0.0) * lasts for one, lasts in covered_s.items())
    return weighted / sum(covered_s.values())


def _active(seen: Seen) -> dict[int, dict[str, float]]:
    """Sessions at work by class, in each new sample of the window; empty without a meter of
    them.
    """
    found: dict[int, dict[str, float]] = {}
    for raw in seen.raw_series:
        for number in range(seen.first + 1, seen.last + 1) if raw.meter == "waits" else ():
            sessions = dict[str, float]()
            for key, count in raw.values[number].items():
                name = key.partition("|")[0].removeprefix("waits.")
                if name in CLASSES:
                    sessions[name] = sessions.get(name, 0.0) + count
            if raw.values[number] and raw.at_s[number] != raw.at_s[number - 1]:
                found[number] = sessions
    return found


def _sample_rates(seen: Seen) -> dict[int, float]:
    """Samples of the sessions per second, by the number of the reading."""
    key = f"{SAMPLES}|server"
    return {
        number: raw.values[number][key]
        for raw in seen.raw_series
        for number in range(seen.first + 1, len(raw.values))
        if key in raw.values[number] and raw.at_s[number] != raw.at_s[number - 1]
    }


def _busiest_drive(seen: Seen, run: Sequence[int]) -> float | None:
    """How busy the busiest drive of the database was meanwhile; None where none is measured."""
    samples = list(seen.covered_s(run))
    found = between(seen.raw_series, samples[0] - 1, samples[-1]) if samples else {}
    return max(found.get("device.busy", {}).values(), default=None)
