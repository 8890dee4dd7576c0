"""User-facing text is in plain technical English: README, docs, `--help`, plan descriptions,
messages.

Each rule is a banned form with what to write instead, and with an example that it must catch.
Docstrings and the names of tests are held against the rules whose words no code needs (IN_CODE).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from kneebench.campaign.preflight import refuse
from kneebench.databases.engine import finding_of
from kneebench.docs_generator import cli_reference
from kneebench.errors import PlanError, Refused
from kneebench.plan.json_schema import tables
from kneebench.records import Finding

ROOT = Path(__file__).parent.parent
CODE = ROOT / "python" / "kneebench"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM = re.compile(
    r"\b(SELECT|CREATE|DROP|FROM|SET|COPY|GRANT|COMMENT|ORDER"
    r" BY|VACUUM|BEGIN)\b|\\[sdwb(]|\(\?|^<svg "
)
"""Literals that a program reads: SQL, regular expressions, markup."""


class Rule(NamedTuple):
    """`caught` is an example of the banned form."""

    banned: str
    instead: str
    caught: str


RULES = (
    Rule(
        r"\bg(o|oes|oing|one|ood) on (with|from)\b|\bGo on\?|\bgo(es)? on (at|as)\b",
        "resume, continue",
        "its climb was gone on with",
    ),
    Rule(r"\banew\b|\bfresh campaign\b", "again; new", "a fresh campaign begins"),
    Rule(r"\bgone\b", "elapsed; lost; no longer exists", "0:02 gone, about 14 s left in all"),
    Rule(r"\bscout", "search", "scouting rungs are one short measurement each"),
    Rule(r"\b(the|a|its) report('s)?\b", "final runs", "the knee as the report measured it again"),
    Rule(r"\b(at|the) one rate\b|\bone rate\b", "fixed rate", "mean latency at one rate"),
    Rule(r"\bverdicts?\b", "stop reason", "without a verdict yet"),
    Rule(
        r"\bmarks the (climb|rung)\b|\bis marked\b|\ba mark, not a stop\b",
        "flag",
        "so it marks the climb and did not stop it",
    ),
    Rule(
        r"\bkneebench parts\b|\bshelf of\b|\bthere is no part\b",
        "components",
        "names from the shelf of meters (`kneebench parts`)",
    ),
    Rule(
        r"(?<!base )(?<!full-page )\b[Ii]mage (is|was|and|of the loaded|that|being|lies)\b",
        "base image",
        "the image of the loaded database",
    ),
    Rule(
        r"\b[Tt]he client\b|\bClient (CPU|delay)\b|\bat the client\b",
        "load generator",
        "The client committed 5 New-Orders",
    ),
    Rule(r"\bdrift rung\b", "drift check", "a drift rung"),
    Rule(r"(?<=[0-9}]) %(?! [0-9(])", "95%, without a space", "69 % of the time"),
    Rule(r"(?<=[0-9] )us\b", "µs", "210 us"),
    Rule(r"\bper cent\b", "percent", "some per cent of it"),
    Rule(
        r"\b(warehouses|commits|reads|rungs|transactions|event|one|column|MB|CPU|NOPM|file) an? "
        r"(user|flush|transaction|climb|second|minute|line|core|storage)\b",
        "per",
        "0.9 warehouses a user at the knee",
    ),
    Rule(r"\b(is|be) content\b", "reports no error", "before check is content"),
    Rule(r"\b(lie|lies|lay|lying)\b", "be", "the knee may lie at fewer users"),
    Rule(r"\bso many\b", "this many, the number of", "so many of them"),
    Rule(
        r"\basked (of|whole)\b|\b(is|are|be) asked\b|\bshall be\b",
        "check, measure, request",
        "conditions are asked of the data",
    ),
    Rule(r"\btells?\b|\btold\b", "print, report, show", "a finding is told to the user"),
    Rule(r"\b(wants?|wished for)\b", "require, need; goal", "20 is wished for"),
    Rule(
        r"\bnobody\b|\bsomebody\b|\bwe (may|can|cannot|measured)\b|\bof ours\b",
        "name who; managed",
        "we may not write there",
    ),
    Rule(
        r"\bfore(see|saw|seen)\b",
        "handled error; internal error",
        "something else that was foreseen",
    ),
    Rule(
        r"\bHad (it|the|a|one)\b|\bwere (they|it) to\b|\bshould (it|they|that) fail\b",
        "if X, then Y",
        "Had the first rung done more now",
    ),
    Rule(
        r"\bTo be read with care\b|\bWhat was short\b|\bTo repeat it\b|\bIn bold\b",
        "Caveats; Bottlenecks; Reproduce; Bold",
        "To repeat it",
    ),
    Rule(r"\b(was|is|were) short\b|\b[Ss]hort of\b", "bottleneck, limited by", "the log was short"),
    Rule(r"\bflat out\b", "saturated", "all cores are flat out"),
    Rule(r"\bput(s)? (\w+ ){0,2}back\b", "restore, undo", "the machine was put back"),
    Rule(r"\b(of (its|their|your|our) own)\b(?= )", "its own", "a server of its own runs"),
    Rule(r"\bcharged to\b", "the run includes", "copy-on-write is charged to the runs"),
    Rule(r"\bsteps running\b|\brungs running\b", "consecutive", "on 2 steps running"),
    Rule(
        r"\bwhile (reading|writing|looking|making|using|starting|opening|checking)\b",
        "cannot read ...",
        "while writing the brief to x.pdf",
    ),
    Rule(r"\bother programs\b", "other processes", "other programs used 24%"),
    Rule(r"\bat work on\b", "active", "another kneebench is at work on this machine"),
    Rule(
        r"\bthe most that the plan allows\b",
        "Stopped after 14 rounds, the plan's limit",
        "Rounds ended after the most that the plan allows (14)",
    ),
    Rule(r"\bratio restates\b", "the ratio only repeats the limits", "a ratio restates them"),
    Rule(r"\bThis counts all\b", "Every write counts", "This counts all that was written to them"),
    Rule(
        r"\bof too few\b",
        "Too few transactions to compare P99.9",
        "P99.9 latency, of too few transactions to compare",
    ),
    Rule(
        r"\bmeasured other\b",
        "Final runs and climb disagree at the knee",
        "The final runs measured other NOPM than the climbs at their knees",
    ),
    Rule(
        r"\bstops paying is by\b|\bread off the CIs\b",
        "rests on the noise of all configurations together",
        "Where more stops paying is by the noise of all together",
    ),
    Rule(
        r"\bfinds\s+back\b",
        "The page reconnects by itself",
        "A browser that lost its connection finds back",
    ),
    Rule(r"\bstood still\b", "stalled", "the load generator stood still"),
)


IN_CODE = (
    "percent",
    "other processes",
    "consecutive",
    "saturated",
    "search",
    "stalled",
    "drift check",
    "again; new",
    "µs",
    "if X, then Y",
)
"""Docstrings and names of tests follow the rules with these replacements."""


class Text(NamedTuple):
    """One piece of user-facing text, and where it is."""

    where: str
    text: str


def pages() -> Iterator[Text]:
    """README and docs, a line each; the name of a field in a table is no word of a sentence."""
    for page in PAGES:
        yield from (
            Text(f"{page.name}:{number}", re.sub(r"^\| `\w+` \|", "|", line))
            for number, line in enumerate(page.read_text().splitlines(), start=1)
        )


def presets() -> Iterator[Text]:
    """Plans to start from, a line each."""
    for plan in sorted((CODE / "plan" / "presets").glob("*.toml")):
        yield from (
            Text(f"{plan.name}:{number}", line)
            for number, line in enumerate(plan.read_text().splitlines(), start=1)
        )


def helps() -> Iterator[Text]:
    """The help of every command."""
    yield from (
        Text(f"--help, line {number}", line)
        for number, line in enumerate(cli_reference().splitlines(), start=1)
    )


def descriptions() -> Iterator[Text]:
    """Descriptions of the plan's keys."""
    yield from (
        Text(f"plan key {key.name}", key.description) for table in tables() for key in table.keys
    )


def literals() -> Iterator[Text]:
    """String literals with a space; an f-string is one of them, with {} for its values."""
    for file in sorted(CODE.rglob("*.py")):
        tree = ast.parse(file.read_text())
        yield from (
            Text(f"{file.relative_to(CODE)}:{node.lineno}", text)
            for node, text in _said(tree)
            if " " in text and not PROGRAM.search(text)
        )


def _said(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            yield (
                node,
                "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "{}"
                    for part in node.values
                ),
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in skipped
        ):
            yield node, node.value


def docstrings(rules: Sequence[Rule]) -> Iterator[Text]:
    """Docstrings of code and tests, and the names of tests, of files that have a banned form at all
    (to parse every file takes 20 s).
    """
    banned = [re.compile(rule.banned) for rule in rules]
    for place in (CODE, ROOT / "tests", ROOT / "bench"):
        for file in sorted(place.rglob("*.py")):
            text = file.read_text()
            words = " ".join(text.replace("_", " ").split())  # as lines of a docstring are joined
            if not any(one.search(text) or one.search(words) for one in banned):
                continue
            for node in ast.walk(ast.parse(text)):
                where = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    yield Text(where, ast.get_docstring(node) or "")
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    yield Text(where, node.name.replace("_", " "))


def faults(texts: Iterator[Text], rules: Sequence[Rule] = RULES) -> list[str]:
    """What each banned form says, where, and what to write instead."""
    return [
        f"{one.where}: {found[0]!r} in {one.text.strip()[:100]!r}; write: {rule.instead}"
        for one in texts
        for rule in rules
        if (found := re.search(rule.banned, one.text))
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.caught)
def test_every_rule_catches_the_example_it_is_for(rule: Rule) -> None:
    assert re.search(rule.banned, rule.caught)


@pytest.mark.parametrize(
    "source", [pages, presets, helps, descriptions, literals], ids=lambda source: source.__name__
)
def test_user_facing_text_has_no_banned_form(source: object) -> None:
    found = faults(source())
    assert not found, "\n".join(["write it otherwise:", *found])


def test_docstrings_and_names_of_tests_have_none_of_the_forms_that_no_code_needs() -> None:
    rules = [rule for rule in RULES if rule.instead in IN_CODE]
    assert len(rules) == len(IN_CODE)
    found = faults(docstrings(rules), rules)
    assert not found, "\n".join(["write it otherwise:", *found])


def test_descriptions_of_plan_keys_begin_with_a_noun_or_a_verb() -> None:
    bad = [
        one
        for one in descriptions()
        if re.match(r"(?i)(of|what|which|whether|the|a|an)\b", one.text)
        or not re.match(r"[A-Z\"\[]", one.text)
    ]
    assert not bad, bad


def test_titles_of_sections_begin_with_a_capital() -> None:
    found = [
        title
        for file in sorted((CODE / "brief" / "sections").glob("*.py"))
        for title in re.findall(r'\btitle=f?"([^"]*)"', file.read_text())
    ]
    assert found
    assert [title for title in found if title[:1].islower()] == []


def test_the_rules_would_fail_on_the_sentences_they_replaced() -> None:
    old = (
        "to read: memory had 1.80x the NOPM at the knee of disk, at 3 against 8 users and 0.35x at"
        " one rate; 0.9 warehouses a user"
    )
    assert len(faults(iter([Text("old", old)]))) == 2


ERRORS = ("KneebenchError", "PlanError", "Refused", "InvalidMeasurement", "CheckFailed")
BASE_VERBS = [
    "add",
    "build",
    "check",
    "choose",
    "clean",
    "compare",
    "end",
    "reach",
    "connect",
    "copy",
    "count",
    "create",
    "drop",
    "emulate",
    "erase",
    "find",
    "gather",
    "ignore",
    "install",
    "limit",
    "list",
    "listen",
    "load",
    "locate",
    "lock",
    "make",
    "measure",
    "open",
    "pack",
    "place",
    "predict",
    "prepare",
    "profile",
    "prove",
    "read",
    "remove",
    "resolve",
    "restore",
    "resume",
    "run",
    "save",
    "set",
    "shut",
    "size",
    "skip",
    "start",
    "undo",
    "use",
    "verify",
    "wait",
    "warm",
    "write",
]


def test_an_error_names_what_could_not_be_done_where_it_is_raised() -> None:
    """By "cannot" and a verb without its ending, or by the object that is wrong."""
    said = {
        (file.name, node.value)
        for file in CODE.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ERRORS and call.args
        for node in ast.walk(call.args[0])
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert [one for one in said if re.match(r"[a-z]+ing ", one[1])] == []
    verbs = {words.split()[1] for _, words in said if words.startswith("cannot ")}
    assert {"emulate", "write"} <= verbs
    assert verbs <= {*BASE_VERBS}


@pytest.mark.parametrize("name", ["staging", "staging: precondition", "measuring, 2 users"])
def test_what_a_user_named_is_no_verb_in_the_error_of_a_finding(name: str) -> None:
    with pytest.raises(PlanError) as wrong:
        refuse([Finding(level="error", subject=name, seen="seen", do="do")])
    assert str(wrong.value) == f"{name}: seen; do"
    wrong.value.also("more")
    assert str(wrong.value) == f"{name}: seen; do; more"


def test_a_finding_of_an_error_has_its_words_and_so_has_the_error_of_the_finding() -> None:
    error = PlanError("cannot find the drive sdx", seen="it is missing")
    finding = finding_of(error)
    assert finding.subject == "cannot find the drive sdx"
    with pytest.raises(PlanError) as again:
        refuse([finding])
    assert str(again.value) == str(error)


def test_a_run_is_refused_with_the_exit_code_of_check_whatever_comes_first() -> None:
    error = Finding(level="error", subject="disk", seen="full", do="free some")
    refusal = Finding(level="refused", subject="sdb", seen="in use", do="use another drive")
    with pytest.raises(Refused, match="sdb: in use"):
        refuse([error, refusal])
    with pytest.raises(PlanError, match="disk: full"):
        refuse([Finding(level="ok", subject="plan", seen="fine"), error])
