"""kneebench accept: what is run or taken, the answer, exit codes, JSON and JUnit XML, and messages
for what cannot be judged.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import kneebench
from kneebench.analysis.acceptance import Margins, judged
from kneebench.analysis.fixed_rate import fixed_rate_latency
from kneebench.analysis.judged import Judged
from kneebench.brief.campaigns import AcceptancePage
from kneebench.brief.terminal import told
from kneebench.cli import app
from kneebench.commands.accepting import _plan
from kneebench.commands.run_options import Changes, Consent
from kneebench.errors import CANNOT_SAY, WORSE, CheckFailed, InvalidMeasurement, PlanError
from kneebench.plan.preset import preset_text
from kneebench.plan.reader import parse_plan
from kneebench.records import Check, NoiseFloor, Results, Rung
from kneebench.results import load
from kneebench.results.acceptance import Acceptance, accept, at_the_same_rate, plan_of, rate_warning
from kneebench.results.campaign_folders import resumable
from kneebench.screen.junit import junit
from tests.recordings import each, recorded, resolve_document, with_order, with_throughput
from tests.simulated_campaign import finished

PLAN = preset_text("simulated")
SLOWER = PLAN.replace('"1600us"', '"2200us"')
"""The slow drive's reads take longer."""
USUAL = Margins(0.05, 0.10, 0.25)


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    return own_place


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a campaign called before, and one of the same figures called again."""
    root = tmp_path_factory.mktemp("accept")
    finished(parse_plan(PLAN), root).rename(root / "before")
    again(root / "before", root / "again")
    return root


def again(folder: Path, to: Path) -> None:
    """The same figures as another campaign."""
    shutil.copytree(folder, to)
    head = json.loads((to / "campaign.json").read_text())
    (to / "campaign.json").write_text(json.dumps({**head, "id": to.name}))


def call(*words: object) -> Result:
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    return runner.invoke(app, ["accept", *map(str, words)])


def before(root: Path) -> Results:
    return renamed(load(root / "before"), "before")


def renamed(results: Results, id_: str, **plan: object) -> Results:
    head = results.campaign
    both = {**head.plan, **plan}
    resolved = resolve_document(both)
    changed = head.model_copy(update={"id": id_, "plan": both, "resolved": resolved})
    return results.model_copy(update={"campaign": changed})


def storages_called(results: Results, *names: str) -> Results:
    """The campaign with other names for its first storages, and without the rest."""
    climbs = tuple(
        climb.model_copy(
            update={"configuration": climb.configuration.model_copy(update={"storage": name})}
        )
        for climb, name in zip(results.climbs, names, strict=False)
    )
    return results.model_copy(update={"climbs": climbs})


# --- what is run ----------------------------------------------------------------------------------


@pytest.mark.long
def test_without_a_plan_the_baselines_own_is_run_again_at_the_baselines_rate(
    root: Path, place: Path
) -> None:
    answer = call("before", "--in", root, "--out", "kneebench-results", "--no-brief", "--yes")
    assert answer.exit_code == 0, answer.output
    assert "Simulated. Same as the baseline within the margins: all 8 figures" in answer.stdout
    assert "no interval covers drift between them" in answer.stdout
    (folder,) = place.glob("kneebench-results/*")
    rates = {
        found.rate_per_s
        for one in (load(folder), before(root))
        for climb in one.climbs
        if (found := fixed_rate_latency(climb))
    }
    assert len(rates) == 1


def test_a_plan_with_a_slower_drive_is_worse_and_ends_with_6(root: Path, place: Path) -> None:
    (place / "slower.toml").write_text(SLOWER)
    answer = call(
        "before", "slower.toml", "--in", root, "--out", "new", "--no-brief", "--junit", "ci.xml"
    )
    assert answer.exit_code == WORSE == 6, answer.output
    assert re.search(r"worse +slow drive +NOPM at the knee", answer.stdout), answer.stdout
    assert re.search(r"same +fast drive +NOPM at the knee", answer.stdout), answer.stdout
    suite = ElementTree.parse(place / "ci.xml").getroot()[0]
    failed = [
        case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None
    ]
    assert failed[:2] == ["NOPM at the knee", "mean latency at 883/s"]
    assert suite.get("failures") == str(len(failed))


@pytest.mark.long
def test_a_preset_is_run_by_its_name(root: Path) -> None:
    answer = call(root / "before", "simulated", "--no-brief")
    assert answer.exit_code == 0, answer.output
    assert "results: kneebench-results/" in answer.stderr


def test_a_plan_that_could_not_be_judged_is_refused_before_it_is_run(
    root: Path, place: Path
) -> None:
    (place / "other.toml").write_text(PLAN.replace("warehouses = 400", "warehouses = 300"))
    answer = call("before", "other.toml", "--in", root)
    assert answer.exit_code == 2
    assert "workload.warehouses is 400 in the first and 300 in the second" in answer.stderr
    (place / "names.toml").write_text(PLAN.replace("slow drive", "a").replace("fast drive", "b"))
    answer = call("before", "names.toml", "--in", root)
    assert answer.exit_code == 2
    assert "no storage is in both (slow drive, fast drive vs. a, b)" in answer.stderr
    assert not (place / "kneebench-results").exists()


@pytest.mark.parametrize("judged_by", [(), ("simulated",), ("plan.toml",)])
def test_options_set_keys_of_the_plan_that_is_run(
    judged_by: tuple[str, ...], root: Path, place: Path
) -> None:
    (place / "plan.toml").write_text(PLAN)
    changes = Changes("after", ["firmware=1.3"], ["ladder.repeats=4"])
    plan = _plan([*judged_by], before(root), root, changes.keys, Consent(yes=True))
    assert plan
    assert (plan.name, plan.written.tags, plan.ladder.repeats) == ("after", {"firmware": "1.3"}, 4)
    assert plan.ladder.latency_rate.startswith("882.9")


def test_a_key_cannot_be_set_where_nothing_is_run(root: Path) -> None:
    answer = call("before", "again", "--in", root, "--tag", "firmware=1.3")
    assert answer.exit_code == 2
    assert "--tag firmware=1.3: a campaign that was measured keeps its plan" in answer.stderr


def test_the_rate_of_a_plan_is_kept_and_a_share_is_replaced(root: Path) -> None:
    base = before(root)
    study = plan_of(base)
    own = study.changed(ladder=study.ladder.model_copy(update={"latency_rate": "9/s"}))
    assert at_the_same_rate(own, base).ladder.latency_rate == "9/s"
    assert "ladder.latency_rate is 9/s, the baseline's rate is 883/s" in rate_warning(own, base)
    assert rate_warning(at_the_same_rate(study, base), base) == ""
    assert at_the_same_rate(study, base).ladder.latency_rate.startswith("882.9")


def shown(found: Acceptance) -> list[Judged]:
    """The figures without the users at the knee, which are shown only."""
    return [one for one in found.figures if one.quantity != "users"]


# --- what is taken --------------------------------------------------------------------------------


def test_a_finished_campaign_is_taken_and_nothing_is_run(root: Path, place: Path) -> None:
    answer = call("before", "again", "--in", root, "--json")
    assert answer.exit_code == 0
    found = json.loads(answer.stdout)
    assert (found["judgement"], found["exit_code"], found["simulated"]) == ("same", 0, True)
    assert [one["quantity"] for one in found["figures"][:5]] == [
        "nopm",
        "users",
        "latency.mean",
        "latency.p999",
        "log.write_latency",
    ]
    assert not (place / "kneebench-results").exists()


def test_a_margin_too_narrow_for_the_runs_is_cannot_say_with_the_rounds_it_needs(
    root: Path,
) -> None:
    answer = call("before", "again", "--in", root, "--margin", "0.015", "--json")
    assert answer.exit_code == CANNOT_SAY == 7
    found = json.loads(answer.stdout)
    assert re.search(r"it needs about [0-9]+ more round", found["sentence"])
    assert found["figures"][0]["more_rounds"] >= 1
    assert found["figures"][2]["judgement"] == "same"


@pytest.mark.parametrize(("floor", "answer"), [(0.10, "worse"), (0.60, "cannot say")])
def test_a_difference_within_the_machines_noise_floor_is_neither_worse_nor_better(
    floor: float, answer: str
) -> None:
    one = recorded()
    memory = one.climbs[1]
    known = NoiseFloor(shares={"nopm": floor}, pairs=5, measured_at=one.campaign.started_at)
    slower = each(one, 1, lambda rung: with_throughput(rung, 0.7 * per_s(rung)), "final_run")
    slow = slower.climbs[1].model_copy(update={"noise_floor": known})
    nopm, *_ = judged(slow, memory, Margins(0.05, 0.1, 0.25))
    assert nopm.judgement == answer
    assert ("noise floor of 60%" in nopm.sentence) == (answer == "cannot say")
    back, *_ = judged(memory, slow, Margins(0.05, 0.1, 0.25))
    assert back.judgement == answer.replace("worse", "better")


def per_s(rung: Rung) -> float:
    return rung.tally.window.completed / rung.tally.window_s


def test_the_margins_are_those_of_the_campaigns_plan(root: Path, place: Path) -> None:
    shutil.copytree(root / "before", place / "narrow")
    head = json.loads((place / "narrow" / "campaign.json").read_text())
    head["id"] = "narrow"
    head["plan"]["accept"]["margin"] = 0.015
    (place / "narrow" / "campaign.json").write_text(json.dumps(head))
    assert call("before", "narrow", "--in", root).exit_code == CANNOT_SAY
    assert call("before", "narrow", "--in", root, "--margin", "0.05").exit_code == 0


def test_latencies_at_different_rates_are_not_judged_and_log_writes_are_those_at_the_knee() -> None:
    one = recorded()
    faster = one
    for climb in range(len(one.climbs)):
        faster = each(faster, climb, lambda rung: with_order(rung, rate_per_s=990.0), "fixed_rate")
    faster = renamed(faster, "after")
    rate_per_s = one.climbs[0].of("fixed_rate")[0].order.rate_per_s
    figures = shown(accept(baseline=one, campaign=faster, margins=USUAL))[:4]
    assert [figure.judgement == "not judged" for figure in figures] == [False, True, True, False]
    rates = f"({rate_per_s:,.0f}/s in the baseline, 990/s now)"
    assert f"the rates differ {rates}" in figures[1].sentence
    assert figures[3].called == "mean log write at the knee"


def test_without_a_fixed_rate_latencies_are_not_judged_and_no_rate_is_named() -> None:
    one = recorded()
    climbs = [
        climb.model_copy(
            update={"rungs": [one for one in climb.rungs if one.order.phase != "fixed_rate"]}
        )
        for climb in one.climbs
    ]
    bare = one.model_copy(update={"climbs": climbs})
    figures = shown(accept(baseline=bare, campaign=renamed(bare, "after"), margins=USUAL))[:4]
    assert [figure.judgement == "not judged" for figure in figures] == [False, True, True, False]
    assert figures[1].called == "mean latency at the fixed rate"


def test_the_title_says_where_more_rounds_alone_would_not_decide(root: Path) -> None:
    base = before(root)
    climbs = [
        climb.model_copy(update={"rungs": tuple(r for r in climb.rungs if r.order.repeat < 2)})
        for climb in base.climbs
    ]
    once = base.model_copy(update={"climbs": tuple(climbs)})
    found = accept(baseline=once, campaign=renamed(once, "after"), margins=USUAL)
    assert found.sentence == (
        "Cannot say: 6 of 6 figures undecided; more rounds alone would not decide 6 of them"
    )
    assert "one run has no interval: measure at least 3" in found.figures[0].sentence
    assert re.search(
        "it needs about [1-9] more round",
        accept(baseline=base, campaign=renamed(once, "after"), margins=USUAL).sentence,
    )


def test_p999_of_too_few_transactions_is_not_judged(root: Path) -> None:
    base = before(root)
    climbs = [
        climb.model_copy(
            update={
                "rungs": tuple(
                    r for r in climb.rungs if r.order.phase != "fixed_rate" or r.order.repeat == 1
                )
            }
        )
        for climb in base.climbs
    ]
    found = accept(
        baseline=base,
        campaign=renamed(base.model_copy(update={"climbs": tuple(climbs)}), "after"),
        margins=USUAL,
    )
    assert found.figures[3].judgement == "not judged"
    assert "transactions fewer than 100 exceed it" in found.figures[3].sentence


def test_an_unfinished_campaign_is_resumed_also_with_other_margins(root: Path) -> None:
    kept = before(root).campaign.plan
    assert resumable(kept, {**kept, "accept": {"margin": 0.2}})
    assert not resumable(kept, {**kept, "seed": 1})


def test_from_python_a_campaign_is_accepted_within_the_margins_of_its_plan(root: Path) -> None:
    base = before(root)
    assert kneebench.accept(baseline=base, campaign=renamed(base, "after")).judgement == "same"
    narrow = renamed(base, "narrow", accept={"margin": 0.015})
    assert kneebench.accept(baseline=base, campaign=narrow).exit_code == CANNOT_SAY
    unknown = renamed(base, "newer", accept={"margin": 0.015, "unknown": 1})
    assert kneebench.accept(baseline=base, campaign=unknown).judgement == "same"


# --- which storages -------------------------------------------------------------------------------


def test_storages_without_a_partner_are_named_and_the_others_are_judged(root: Path) -> None:
    base = before(root)
    found = accept(
        baseline=base,
        campaign=storages_called(renamed(base, "after"), "slow drive", "new"),
        margins=USUAL,
    )
    assert {one.storage for one in found.figures} == {"slow drive"}
    assert found.matching == (
        "New is not judged: before has no storage of this name",
        "Fast drive is not judged: after has no storage of this name",
    )


def test_the_only_storage_matches_the_only_one_whatever_its_name_is(root: Path) -> None:
    base = before(root)
    one, other = (storages_called(renamed(base, name), name) for name in ("old", "new"))
    found = accept(baseline=one, campaign=other, margins=USUAL)
    assert found.judgement == "same"
    assert found.matching == ("New is judged against old: each campaign has only one storage",)


# --- JUnit XML ------------------------------------------------------------------------------------


def test_junit_counts_worse_as_failure_cannot_say_as_error_and_not_judged_as_skipped(
    root: Path,
) -> None:
    found = accept(baseline=before(root), campaign=renamed(before(root), "after"), margins=USUAL)
    answers = ("worse", "cannot say", "not judged", "better")
    figures = tuple(
        one.model_copy(update={"judgement": answer, "storage": 'a<b>&"\x1b'})
        for one, answer in zip(shown(found), answers, strict=False)
    )
    odd = found.model_copy(update={"figures": figures})
    base = before(root)
    text = junit([odd], [base], base)
    top = ElementTree.fromstring(text.partition("\n")[2])
    suite = top[0]
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == [
        "4",
        "1",
        "1",
        "1",
    ]
    kinds = [
        [element.tag for element in case if element.tag != "system-out"]
        for case in suite.iter("testcase")
    ]
    assert kinds == [["failure"], ["error"], ["skipped"], []]
    assert suite.get("timestamp") == base.campaign.started_at
    assert (suite.findtext("system-out") or "").startswith("Simulated. Same as the baseline")


def errors_in(file: Path) -> list[str]:
    """The messages of a document without an answer."""
    suite = ElementTree.parse(file).getroot()[0]
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["1", "0", "1"]
    return [element.get("message", "") for element in suite.iter("error")]


def test_without_an_answer_the_junit_file_has_the_error_and_not_an_earlier_one(
    root: Path, place: Path
) -> None:
    file = place / "ci.xml"
    shutil.copytree(root / "before", place / "damaged")
    (place / "damaged" / "finished.json").write_text("{")
    for words, code, said in (
        (("nosuch",), 2, "nosuch: no such campaign"),
        (("before", "nosuch.toml"), 2, "nosuch.toml: no such file"),
        (("before", "before", "--margin", "5"), 2, "--margin: 5 is out of range"),
        (("damaged",), 1, "damaged/finished.json: the file is damaged"),
    ):
        file.write_text("<testsuites><!-- yesterday's --></testsuites>")
        at = place if words[0] == "damaged" else root
        answer = call(*words, "--in", at, "--junit", file)
        assert answer.exit_code == code, answer.output
        (message,) = errors_in(file)
        assert said in message
        assert message in answer.stderr


def test_a_killed_accept_leaves_a_junit_file_that_says_unfinished(root: Path, place: Path) -> None:
    file = place / "ci.xml"
    program = (
        "import os, signal; from kneebench.cli import app; "
        " from kneebench.commands import accepting;"
        " accepting.load_named = lambda *words: os.kill(os.getpid(), signal.SIGKILL); app()"
    )
    words = ["accept", "before", "before", "--in", str(root), "--junit", str(file)]
    done = subprocess.run([sys.executable, "-c", program, *words], check=False)
    assert done.returncode == -signal.SIGKILL
    assert errors_in(file) == ["kneebench accept has not finished"]


def test_an_answer_can_be_written_to_a_stream_which_stays_what_it_is(
    root: Path, place: Path
) -> None:
    os.mkfifo(place / "pipe")
    read = os.open(place / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    answer = call("before", "again", "--in", root, "--junit", "pipe")
    written = os.read(read, 1_000_000).decode()
    os.close(read)
    assert answer.exit_code == 0, answer.output
    suite = ElementTree.fromstring(written.partition("\n")[2])[0]
    assert suite.get("errors") == "0"
    assert (place / "pipe").is_fifo()


# --- what cannot be judged ------------------------------------------------------------------------


def test_a_baseline_and_a_campaign_that_are_not_there_are_named(root: Path) -> None:
    for words, said in (
        (("nosuch",), "nosuch: no such campaign; looked in"),
        (("before", "nosuch"), "nosuch: no such campaign; looked in"),
        (("before", "before", "--margin", "5"), "--margin: 5 is out of range"),
        (("before", "before", "--junit", "no/x.xml"), "cannot write no/x.xml: no directory no"),
    ):
        answer = call(*words, "--in", root)
        assert answer.exit_code == 2
        assert said in answer.stderr


def test_accept_without_arguments_names_the_missing_one() -> None:
    answer = call()
    assert answer.exit_code == 2
    assert "Missing argument" in answer.stderr


@pytest.mark.parametrize("name", ["staging", "measuring", "staging area"])
def test_a_campaign_whose_name_ends_in_ing_is_named_as_it_is(root: Path, name: str) -> None:
    for words in ((name,), ("before", name)):
        answer = call(*words, "--in", root)
        assert answer.exit_code == 2
        assert answer.stderr.startswith(f"kneebench: {name}: no such campaign")


def test_baseline_and_campaign_are_named_in_python_so_that_none_is_taken_for_the_other(
    root: Path,
) -> None:
    base = before(root)
    with pytest.raises(TypeError, match="positional"):
        kneebench.accept(renamed(base, "after"), base)
    found = kneebench.accept(baseline=base, campaign=renamed(base, "after"))
    assert (found.baseline, found.campaign) == ("before", "after")
    for both in ({"baseline": 5, "campaign": base}, {"baseline": base, "campaign": [base]}):
        with pytest.raises(TypeError, match=r"a Results is required.*kneebench\.load\(folder\)"):
            kneebench.accept(**both)


def test_an_unfinished_baseline_and_one_without_final_runs_are_refused(root: Path) -> None:
    base = before(root)
    with pytest.raises(
        PlanError, match="cannot use before for acceptance: the campaign is unfinished"
    ):
        accept(baseline=base.model_copy(update={"finished": False}), campaign=base, margins=USUAL)
    bare = tuple(
        climb.model_copy(update={"rungs": climb.of("search", "bisection")}) for climb in base.climbs
    )
    with pytest.raises(InvalidMeasurement, match="it has no valid final runs"):
        accept(baseline=base.model_copy(update={"climbs": bare}), campaign=base, margins=USUAL)


def test_a_rate_beyond_the_knee_is_lowered_before_it_is_measured_again(root: Path) -> None:
    base = before(root)
    late = Check(name="unstarted", passed=False, seen="9", limit="0", sentence="9 never started.")

    def beyond(rung: Rung) -> Rung:
        fixed = rung.order.phase == "fixed_rate"
        return rung.model_copy(update={"checks": (late,)}) if fixed else rung

    climbs = [
        one.model_copy(update={"rungs": tuple(map(beyond, one.rungs))}) for one in base.climbs
    ]
    broken = base.model_copy(update={"climbs": tuple(climbs)})
    wanted = (
        r"set ladder.latency_rate below the lowest knee \([\d,]+/s is 70% of it\), then measure"
    )
    with pytest.raises(CheckFailed, match=wanted):
        accept(baseline=base, campaign=broken, margins=USUAL)


def test_a_campaign_that_failed_a_self_check_has_no_answer(root: Path) -> None:
    base = before(root)
    lost = Check(name="orders", passed=False, seen="1", limit="0", sentence="an order is lost")
    first = base.climbs[0].model_copy(update={"checks": (lost,)})
    broken = base.model_copy(update={"climbs": (first, *base.climbs[1:])})
    for pair in ((broken, base), (base, broken)):
        with pytest.raises(CheckFailed, match="an order is lost"):
            accept(campaign=pair[0], baseline=pair[1], margins=USUAL)


def test_a_plan_of_another_version_or_with_a_command_not_kept_cannot_be_run_again(
    root: Path,
) -> None:
    with pytest.raises(PlanError, match="another version wrote it; name a plan file"):
        plan_of(renamed(before(root), "old", unknown=1))


# --- knees apart ----------------------------------------------------------------------------------


def night_with_knee_at_12(base: Results, by: float = 0.967) -> Results:
    """Another night of the slow drive: 12 users have 97% of its best throughput, and its climb
    takes them for the knee, where the baseline took 18. `by`: its NOPM over the baseline's.
    """
    moved = each(
        base,
        0,
        lambda rung: with_order(with_throughput(rung, by * rung.tally.throughput_per_s), users=12),
        "final_run",
    )
    climb = moved.climbs[0].model_copy(update={"knee_users": 12, "bracket": (8, 18)})
    night = moved.model_copy(update={"climbs": (climb, *moved.climbs[1:])})
    return renamed(night, "night")


def test_knees_apart_within_their_uncertainty_are_compared_at_the_baselines_users(
    root: Path,
) -> None:
    base = before(root)
    assert base.climbs[0].knee_users == 18
    found = accept(baseline=base, campaign=night_with_knee_at_12(base), margins=USUAL)
    assert found.exit_code == 0, found.sentence
    nopm, users = found.figures[:2]
    assert (nopm.quantity, nopm.judgement, nopm.at_users) == ("nopm", "same", 18)
    assert "the baseline's at its 18 users (90% CI" in nopm.sentence
    assert nopm.ratio and nopm.campaign and nopm.baseline
    carried = nopm.ratio.value / (nopm.campaign.value / nopm.baseline.value)
    assert 1 < carried <= 1 / 0.97 + 1e-9
    assert users.quantity == "users" and users.campaign and users.baseline
    assert (users.campaign.value, users.baseline.value) == (12, 18)
    for by, answers in ((0.967 * 0.9, {WORSE}), (0.967 * 0.94, {WORSE, CANNOT_SAY})):
        night = night_with_knee_at_12(base, by)
        worse = accept(baseline=base, campaign=night, margins=USUAL)
        assert worse.exit_code in answers, worse.sentence


def test_both_knees_are_shown_in_table_page_json_and_junit(root: Path, place: Path) -> None:
    base = before(root)
    night = night_with_knee_at_12(base)
    found = accept(baseline=base, campaign=night, margins=USUAL)
    page = AcceptancePage([found], base, [night]).html()
    assert re.search(
        r"users at the knee</td><td[^>]*>18 \(8 to 18\)</td><td[^>]*>12 \(8 to 18\)<", page
    )
    console = Console(width=160, file=io.StringIO(), record=True)
    console.print(*told(AcceptancePage([found], base, [night])))
    said = console.export_text()
    assert re.search(r"slow drive +users at the knee +18 \(8 to 18\) +12 \(8 to 18\)", said), said
    assert said.count("Slow drive: the knee is at 12 (8 to 18) users, the baseline's at 18") == 1
    assert "fast drive: the knee" not in said.lower()
    (suite,) = ElementTree.fromstring(junit([found], [night], base))
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert properties["knee.slow drive"] == "12 (8 to 18) users, baseline 18 (8 to 18)"
    assert "users at the knee" not in [case.get("name") for case in suite.iter("testcase")]
    assert call("before", "again", "--in", root, "--json").exit_code == 0


# --- real campaigns -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plateau", "noisy", "log_bound"])
def test_a_real_campaign_is_never_worse_than_an_equal_one(name: str, tmp_path: Path) -> None:
    results = recorded(name)
    if not results.finished:
        pytest.skip("interrupted")
    found = accept(baseline=results, campaign=renamed(results, "after"), margins=USUAL)
    answers = {one.judgement for one in found.figures}
    assert answers <= {"same", "cannot say", "not judged"}
    assert all(one.more_rounds != 0 for one in found.figures)
    junit([found], [results], results)
