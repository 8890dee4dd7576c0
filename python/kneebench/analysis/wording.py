"""Wording of ratios, intervals, phases and stop reasons: "2.5x", never "1.5x more"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kneebench.records import FEW as FEW
from kneebench.records import Configuration, Estimate, Latency
from kneebench.records import named as named
from kneebench.units import NOTHING, significant, time, times_and_ends
from kneebench.units import times as times

DERIVED = "Derived from TPC-C, not comparable with TPC results."
"""The fair-use line, under every result for people."""
DERIVED_FROM = {
    "tproc-c": DERIVED,
    "tproc-h": "Derived from TPC-H, not comparable with TPC results.",
}
"""The same by workload."""
WAIT_MEANS = "Wait for a user to be free: its share of the mean."
FEW_MEANS = f'"{FEW}": fewer than 100 samples exceed the percentile.'
STOPS = {"invalid": "invalid rung", "budget": "limit reached"}
"""Names of stop reasons for people, where they are not the name in the plan and in files with
spaces."""
WIDEST = 10
"""An interval from one or two runs is not printed if it reaches beyond this many times the value.
"""


def known(of: Estimate) -> bool:
    """False for an interval that is too wide to use because there were too few runs."""
    return of.n > 2 or of.high <= WIDEST * of.value


def has_interval(of: Estimate) -> bool:
    """Whether its interval can be quoted: not of one run, nor of two that scatter."""
    return of.n > 1 and known(of)


def times_with_interval(ratio: Estimate) -> str:
    """A ratio, its interval and how many pairs of runs it rests on, with a digit more where the
    interval would vanish.

    >>> times_with_interval(Estimate(value=2.5, low=2.31, high=2.7, n=3))
    '2.5x (2.3x to 2.7x, n=3)'
    >>> times_with_interval(Estimate(value=2.5, low=2.46, high=2.53, n=3))
    '2.50x (2.46x to 2.53x, n=3)'
    >>> times_with_interval(Estimate(value=2.5, low=0.0, high=912063.0, n=2))
    '2.5x (interval unknown: n=2 is too few)'
    """
    value, sure = times_and_interval(ratio)
    return f"{value} ({sure})"


def times_and_interval(ratio: Estimate) -> tuple[str, str]:
    """The same in two parts, for where they are shown apart.

    >>> times_and_interval(Estimate(value=2.5, low=2.31, high=2.7, n=3))
    ('2.5x', '2.3x to 2.7x, n=3')
    """
    if not known(ratio):
        return times(ratio.value), f"interval unknown: n={ratio.n} is too few"
    value, low, high = times_and_ends(ratio.value, ratio.low, ratio.high)
    return value, f"{low} to {high}, n={ratio.n}"


def stop_reason(stop: str) -> str:
    """Name of a stop reason for people.

    >>> stop_reason("log_latency"), stop_reason("invalid")
    ('log latency', 'invalid rung')
    """
    return STOPS.get(stop, stop.replace("_", " "))


def capital(text: str) -> str:
    """The text with a capital at the beginning.

    >>> capital("slow drive: 2.0x")
    'Slow drive: 2.0x'
    """
    return text[:1].upper() + text[1:]


def behind_label(label: str, text: str) -> str:
    """A text behind what must be known first, such as "Simulated", if there is such a label.

    >>> behind_label("Emulated drives", "8 drives: 1.96x"), behind_label("", "8 drives: 1.96x")
    ('Emulated drives. 8 drives: 1.96x', '8 drives: 1.96x')
    """
    return f"{label}. {capital(text)}" if label else text


def lower(text: str) -> str:
    """The same within a sentence: its first letter small.

    >>> lower("No difference shown in NOPM")
    'no difference shown in NOPM'
    """
    return text[:1].lower() + text[1:]


def possessive(name: str) -> str:
    """Possessive form of a name.

    >>> possessive("disk"), possessive("2 drives")
    ("disk's", "2 drives'")
    """
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def times_another(ratio: str, name: str, what: str = "") -> str:
    """A ratio to what another has. Between two numbers stands a word.

    >>> times_another("2.5x", "disk", "NOPM"), times_another("2.5x", "8x SATA", "NOPM")
    ("2.5x disk's NOPM", '2.5x the NOPM of 8x SATA')
    """
    if name[:1].isdigit():
        return f"{ratio} the {what} of {name}"
    return f"{ratio} {possessive(name)} {what}"


def more_or_less(ratio: float) -> str:
    """A ratio as a percentage.

    >>> more_or_less(1.35), more_or_less(0.82), more_or_less(1.004)
    ('35% more', '18% less', '0.4% more')
    """
    change = 100 * abs(ratio - 1)
    shown = f"{change:.0f}" if change >= 1 else f"{change:.1f}"
    return f"{shown}% {'more' if ratio >= 1 else 'less'}"


def number_of_users(users: float) -> str:
    """Number of users in words.

    >>> number_of_users(1), number_of_users(1601)
    ('1 user', '1,601 users')
    """
    return f"{users:,.0f} user{'' if users == 1 else 's'}"


def percent(share: float | None, *, signed: bool = False) -> str:
    """A share as a percentage; say what it is a share of beside it.

    >>> percent(0.02), percent(-0.0312, signed=True), percent(None)
    ('2%', '-3.1%', '–')
    """
    if share is None:
        return NOTHING
    text = f"{100 * share:{'+' if signed else ''}.1f}"
    return text.removesuffix(".0") + "%"


DIGITS = (3, 4, 5)
"""Significant digits of a value and the ends of its interval: the first with which they differ."""


def value_and_ends(
    of: Estimate, written: Callable[[float, int], str] = significant
) -> tuple[str, str]:
    """An estimate and the ends of its interval, with more digits where the interval would vanish.

    >>> value_and_ends(Estimate(value=33908, low=33104, high=34733, n=3))
    ('33,900', '33,100 to 34,700')
    >>> value_and_ends(Estimate(value=107_130, low=106_840, high=107_420, n=3))
    ('107,100', '106,800 to 107,400')
    """

    def differs(digits: int) -> bool:
        return written(of.value, digits) not in (written(of.low, digits), written(of.high, digits))

    digits = next(filter(differs, DIGITS), 3) if has_interval(of) else 3
    return written(of.value, digits), ends(of, lambda value: written(value, digits))


def value_with_ends(of: Estimate, written: Callable[[float, int], str] = significant) -> str:
    """The same in one text."""
    return "{} ({})".format(*value_and_ends(of, written))


def ends(of: Estimate, written: Callable[[float], str]) -> str:
    """The ends of an interval; in words where one run, or two that scatter, allow none.

    >>> ends(Estimate(value=2.5, low=0.0, high=912063.0, n=2), str)
    'interval unknown'
    """
    if has_interval(of):
        return f"{written(of.low)} to {written(of.high)}"
    return "one run, no interval" if of.n == 1 else "interval unknown"


def percentile(value_s: float, certain: bool) -> str:
    """A percentile, with a note if too few samples exceed it (docs/method/workload.md).

    >>> percentile(0.0202, True), percentile(0.0202, False)
    ('20.2 ms', '20.2 ms (n too small)')
    """
    return time(value_s) + ("" if certain else f" ({FEW})")


def p999(latency: Latency | None) -> str:
    """A 99.9th percentile."""
    return percentile(latency.p999_s, latency.p999_is_certain) if latency else NOTHING


def listed(names: list[str]) -> str:
    """Names in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


FEW_NAMES = 4
"""Most names that are listed one by one."""


def summed_up(configurations: Sequence[Configuration]) -> str:
    """Configurations in a sentence; of many those that differ in their constraint alone as their
    number.

    >>> swept = [Configuration(id=n, storage="disk", constraint=f"{n} GiB") for n in "1234567"]
    >>> summed_up(swept[:2]), summed_up(swept)
    ('disk (1 GiB) and disk (2 GiB)', '7 configurations of disk')
    """
    if len(configurations) <= FEW_NAMES:
        return listed([one.name for one in configurations])
    groups: dict[str, list[str]] = {}
    for one in configurations:
        groups.setdefault(one.unlimited_name, []).append(one.name)
    parts = (
        f"{len(some)} configurations of {group}" if some[1:] else some[0]
        for group, some in groups.items()
    )
    return listed([*parts])


def some_of(configurations: Sequence[Configuration], of: int) -> str:
    """The same of a campaign's `of` configurations; all of them in two words."""
    return "all storages" if len(configurations) == of > 1 else summed_up(configurations)


def by_finding(found: Sequence[tuple[Configuration, str]], of: int = 0) -> str:
    """What was found, each finding once, with all configurations that it was found on. `of`: how
    many there are in all.

    >>> a, b, c = (Configuration(id=name, storage=name) for name in "abc")
    >>> by_finding([(a, "5% slower"), (b, "3% faster"), (c, "5% slower")], 3)
    '5% slower on a and c; 3% faster on b'
    >>> by_finding([(a, "5% slower"), (b, "5% slower")], 2)
    '5% slower on all 2 configurations'
    """
    by: dict[str, list[Configuration]] = {}
    for configuration, finding in found:
        by.setdefault(finding, []).append(configuration)
    every = f"all {of} configurations"
    on = {one: every if len(some) == of > 1 else summed_up(some) for one, some in by.items()}
    return "; ".join(f"{one} on {where}" for one, where in on.items())


def said_once(sentences: Iterable[str], names: Sequence[str]) -> list[str]:
    """Sentences, those that begin with a name and a colon once for all names with the same rest.

    >>> said_once(["a: resumed", "x", "b: resumed"], ["a", "b"])
    ['a and b: resumed', 'x']
    """
    found: dict[str, list[str]] = {}
    for sentence in sentences:
        name = next((one for one in names if sentence.startswith(f"{one}: ")), "")
        about = found.setdefault(sentence.removeprefix(f"{name}: ") if name else sentence, [])
        about += [name] if name else []
    return [f"{listed(about)}: {rest}" if about else rest for rest, about in found.items()]


def as_sentence(text: str) -> str:
    """Text as a sentence among others.

    >>> as_sentence("plateau: elasticity 0.04"), as_sentence("It passed.")
    ('Plateau: elasticity 0.04.', 'It passed.')
    """
    return capital(text) + ("" if text.endswith((".", "!", "?")) else ".")


def plural(number: int, thing: str) -> str:
    """A number of things.

    >>> plural(1, "rung"), plural(3, "rung")
    ('1 rung', '3 rungs')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
