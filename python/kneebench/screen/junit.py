"""An acceptance as JUnit XML, for CI systems: one suite for the campaign, one case for each figure.

"worse" is a failure. "cannot say" is an error and not skipped: a reader counts skipped cases as
passed, and nothing was shown. A figure that is not judged is skipped, with the reason.
"""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree

from kneebench.analysis.judged import Judged
from kneebench.analysis.wording import DERIVED, as_sentence
from kneebench.results.acceptance import Acceptance
from kneebench.screen.accepted import title
from kneebench.visible import visible

OUTCOMES = {"worse": "failure", "cannot say": "error", "not judged": "skipped"}
"""Elements of a test case by the answer; an accepted figure has none."""


def junit(found: Acceptance, started_at: str = "") -> str:
    """The document as text, in the form that Jenkins and GitLab read."""
    outcomes = Counter(OUTCOMES.get(one.judgement, "") for one in found.figures)
    counts = {
        "tests": str(len(found.figures)),
        "failures": str(outcomes["failure"]),
        "errors": str(outcomes["error"]),
    }
    root = ElementTree.Element("testsuites", {"name": "kneebench accept", **counts})
    suite = _inner(root, "testsuite", name=found.campaign, **counts, time="0")
    suite.set("skipped", str(outcomes["skipped"]))
    if started_at:
        suite.set("timestamp", visible(started_at))
    properties = _inner(suite, "properties")
    for name, value in (("baseline", found.baseline), ("judgement", found.judgement)):
        _inner(properties, "property", name=name, value=value)
    for one in found.figures:
        _case(suite, one)
    sentences = (title(found), *found.matching, found.drift, *found.differences, DERIVED)
    _inner(suite, "system-out").text = visible("\n".join(map(as_sentence, sentences)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def junit_without_answer(campaign: str, kind: str, message: str) -> str:
    """The document of an acceptance without an answer: one case, with an error. A CI system then
    neither counts it as passed nor shows the answer of an earlier one.
    """
    counts = {"tests": "1", "failures": "0", "errors": "1"}
    root = ElementTree.Element("testsuites", {"name": "kneebench accept", **counts})
    suite = _inner(root, "testsuite", name=campaign, **counts, time="0", skipped="0")
    case = _inner(suite, "testcase", classname="kneebench.accept", name="answer", time="0")
    _inner(case, "error", message=message, type=kind).text = visible(message)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, one: Judged) -> None:
    """The names are the same for every campaign, so that a CI system shows a figure's history."""
    case = _inner(suite, "testcase", classname=f"kneebench.{one.storage}", name=one.called)
    case.set("time", "0")
    sentence = as_sentence(one.sentence)
    if outcome := OUTCOMES.get(one.judgement):
        element = _inner(case, outcome, message=sentence)
        if outcome != "skipped":
            element.set("type", one.judgement)
            element.text = visible(sentence)
    else:
        _inner(case, "system-out").text = visible(sentence)


def _inner(parent: ElementTree.Element, tag: str, /, **attributes: str) -> ElementTree.Element:
    shown = {key: visible(value) for key, value in attributes.items()}
    return ElementTree.SubElement(parent, tag, shown)
