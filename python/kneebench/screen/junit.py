"""Acceptances as JUnit XML, for CI systems: one suite for each campaign, one case for each figure.

"worse" is a failure. "cannot say" is an error and not skipped: a reader counts skipped cases as
passed, and nothing was shown. A figure that is not judged is skipped, with the reason. A campaign
whose measurement itself ended with an error has that as a case, so that none passes in which the
command fails; so has one of which no figure is judged.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from xml.etree import ElementTree

from kneebench.analysis.acceptance import SURE, nothing_judged
from kneebench.analysis.comparison import called
from kneebench.analysis.judged import USERS, Judged
from kneebench.analysis.outcome import exit_code, failed_checks, invalid_rungs, without_figure
from kneebench.analysis.wording import DERIVED_FROM, as_sentence, behind_label
from kneebench.brief.campaigns.acceptance_page import figures_of
from kneebench.records import Results, Rung
from kneebench.results.acceptance import Acceptance
from kneebench.units import size
from kneebench.visible import visible

OUTCOMES = {"worse": "failure", "cannot say": "error", "not judged": "skipped"}
"""Elements of a test case by the answer; an accepted figure has none."""
MEASUREMENT, ANSWER, NOTHING_JUDGED = "measurement", "answer", "nothing judged"


def junit(
    found: Sequence[Acceptance],
    campaigns: Sequence[Results],
    baseline: Results,
    caveats: Sequence[str] = (),
) -> str:
    """The document as text, in the form that Jenkins and GitLab read."""
    root = ElementTree.Element("testsuites", {"name": "kneebench accept"})
    derived = DERIVED_FROM[baseline.campaign.resolved.workload]
    for one, results in zip(found, campaigns, strict=True):
        suite = _suite(root, one, results, baseline)
        _inner(suite, "system-out").text = visible("\n".join((*_said(one, caveats), derived)))
    for name in ("tests", "failures", "errors", "time"):
        total = sum(float(suite.get(name, "0")) for suite in root)
        root.set(name, f"{total:g}")
    return _text(root)


def junit_without_answer(campaign: str, kind: str, message: str) -> str:
    """The document of an acceptance without an answer: one case, with an error. A CI system then
    neither counts it as passed nor shows the answer of an earlier one.
    """
    counts = {"tests": "1", "failures": "0", "errors": "1"}
    root = ElementTree.Element("testsuites", {"name": "kneebench accept", **counts})
    suite = _inner(root, "testsuite", name=campaign, **counts, time="0", skipped="0")
    suite.set("hostname", socket.gethostname())
    _error(suite, ANSWER, message, kind)
    return _text(root)


def _text(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(
    root: ElementTree.Element, found: Acceptance, results: Results, baseline: Results
) -> ElementTree.Element:
    """The cases of one campaign, with where and when it was measured."""
    suite = _inner(root, "testsuite", name=found.campaign, hostname=socket.gethostname())
    suite.set("timestamp", visible(results.campaign.started_at))
    suite.set("time", f"{_seconds(results):.0f}")
    properties = _inner(suite, "properties")
    for name, value in _properties(found, results, baseline):
        _inner(properties, "property", name=name, value=value)
    for one in found.figures:
        if one.quantity != USERS:
            _case(suite, one, _measured_s(results, one))
    if code := exit_code(results):
        _failed_measurement(suite, results, code)
    elif nothing_judged(found.figures):
        _error(suite, ANSWER, as_sentence(_title(found)), NOTHING_JUDGED)
    outcomes = Counter(element.tag for case in suite.iter("testcase") for element in case)
    suite.set("tests", str(len(list(suite.iter("testcase")))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(outcomes[tag]))
    return suite


def _title(found: Acceptance) -> str:
    """The answer in a line, behind what must be known first, such as that it is simulated."""
    return behind_label(found.label, found.sentence)


def _said(found: Acceptance, caveats: Sequence[str]) -> Iterator[str]:
    """What the terminal prints beside the figures."""
    yield as_sentence(_title(found))
    yield from (f"CAVEAT  {sentence}" for sentence in caveats)
    knees = (one.sentence for one in found.figures if one.quantity == USERS and one.sentence)
    yield from map(as_sentence, (*knees, *found.matching, found.drift))
    yield from (f"{sentence}." for sentence in found.differences)  # they begin with a key's name


def _properties(
    found: Acceptance, results: Results, baseline: Results
) -> Iterator[tuple[str, str]]:
    yield "judgement", found.judgement
    yield "baseline", found.baseline
    yield "baseline.started_at", baseline.campaign.started_at
    yield "baseline.kernel", baseline.campaign.host.kernel
    for one in found.figures:
        if one.quantity == USERS:
            base, now, *_ = figures_of(one)
            yield f"knee.{one.storage}", f"{now} users, baseline {base}"
    host = results.campaign.host
    yield "machine", f"{host.cpu}, {host.cores} cores, {size(host.memory_bytes)}"
    yield "kernel", host.kernel
    yield "system", host.system
    yield "kneebench", results.campaign.kneebench
    yield "started_at", results.campaign.started_at
    yield from ((f"tag.{name}", value) for name, value in results.campaign.tags.items())


def _case(suite: ElementTree.Element, one: Judged, measured_s: float) -> None:
    """The names are the same for every campaign, so that a CI system shows a figure's history."""
    case = _inner(suite, "testcase", classname=f"kneebench.{one.storage}", name=one.called)
    case.set("time", f"{measured_s:.0f}")
    sentence = as_sentence(one.sentence)
    by_90 = one.ratio and one.judgement in SURE
    sure = "95% CI; the 90% CI decides" if by_90 else "95% CI"
    names = ("baseline", "now", f"ratio ({sure})", "margin")
    row = ", ".join(f"{name}: {cell}" for name, cell in zip(names, figures_of(one), strict=True))
    if outcome := OUTCOMES.get(one.judgement):
        element = _inner(case, outcome, message=sentence)
        if outcome != "skipped":
            element.set("type", one.judgement)
            element.text = visible(f"{sentence}\n{row}")
    else:
        _inner(case, "system-out").text = visible(f"{sentence}\n{row}")


def _failed_measurement(suite: ElementTree.Element, results: Results, code: int) -> None:
    """The case of a campaign that ended with an error of its own, whatever its figures are."""
    reasons = (*failed_checks(results), *without_figure(results), *invalid_rungs(results))
    message = as_sentence(next(iter(reasons), f"the campaign ended with exit code {code}"))
    _error(suite, MEASUREMENT, message, f"exit code {code}")


def _error(suite: ElementTree.Element, name: str, message: str, kind: str) -> None:
    """A case that is no figure's, with an error."""
    case = _inner(suite, "testcase", classname="kneebench.accept", name=name, time="0")
    _inner(case, "error", message=message, type=kind).text = visible(message)


def _seconds(results: Results) -> float:
    """From the campaign's start to the end of its last rung. A simulated campaign takes less than
    what it simulates: its rungs' own time.
    """
    rungs = [rung for climb in results.climbs for rung in climb.rungs]
    starts = [_time(rung.started_at) for rung in rungs]
    last = rungs[starts.index(max(starts))] if rungs else None
    began = _time(results.campaign.started_at)
    real_s = max(0.0, max(starts) - began) + _took_s(last) if last else 0.0
    return max(real_s, sum(map(_took_s, rungs)))


def _measured_s(results: Results, one: Judged) -> float:
    """The time of the runs behind a figure, their warm-ups included."""
    climbs = [climb for climb in results.climbs if called(climb) == one.storage]
    return sum(_took_s(rung) for climb in climbs for rung in climb.of(one.phase))


def _took_s(rung: Rung) -> float:
    return rung.warm_up_s + rung.tally.window_s


def _time(iso: str) -> float:
    try:
        return datetime.fromisoformat(iso).timestamp()
    except ValueError:
        return 0.0


def _inner(parent: ElementTree.Element, tag: str, /, **attributes: str) -> ElementTree.Element:
    shown = {key: visible(value) for key, value in attributes.items()}
    return ElementTree.SubElement(parent, tag, shown)
