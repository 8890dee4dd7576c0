"""The command line, on the simulated engine: what is printed, where, and the exit codes."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kneebench.campaign import flow
from kneebench.cli import app, printing_plans
from kneebench.commands import plans, running
from kneebench.commands.plan_selection import selected_study
from kneebench.errors import PlanError
from kneebench.lab.host import host
from kneebench.plan.default import sized_plan
from kneebench.plan.preset import preset_text, presets
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from kneebench.plan.writer import to_toml
from kneebench.records import Check
from kneebench.results import Store, load
from kneebench.results import campaigns as listed_in
from kneebench.screen.campaign_list import CampaignList
from tests.remarks import invalid
from tests.simulated_campaign import finished, nightly
from tests.terminal import drawn

SHORT = (
    preset_text("simulated")
    .replace("[1, 256]", "[2, 64]")
    .replace("= 1.5", "= 2")
    .replace('"20s"', '"10s"')
    .replace('"60s"', '"10s"')
)
"""The preset with fewer and shorter rungs."""
FEW = SHORT.replace("[2, 64]", "[2, 4]").replace("repeats       = 3", "repeats       = 1")
"""The same with as few as there can be."""
LONG = SHORT.replace('"10s"', '"2min"').replace("repeats       = 3", "repeats       = 50")
"""So long that, although its clock is simulated, somebody has time to stop it."""


@pytest.fixture(autouse=True)
def place(own_place: Path) -> Path:
    """A directory of its own, with a plan."""
    (own_place / "plan.toml").write_text(SHORT)
    return own_place


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished campaign."""
    root = tmp_path_factory.mktemp("campaigns")
    finished(parse_plan(SHORT), root)
    return root


def call(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, list(words))


def name_in(root: Path) -> str:
    (folder,) = (file.parent for file in root.glob("*/campaign.json"))
    return folder.name


def started(*words: str, **how: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kneebench", *words],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **how,
    )


# --- help -----------------------------------------------------------------------------------------


def test_help_shows_examples_of_the_main_job_and_the_exit_codes() -> None:
    output = call("--help").output
    assert "kneebench run plan.toml" in output
    assert "Exit codes" in output


def test_the_list_of_commands_has_each_first_sentence_as_a_whole() -> None:
    for words in (("--help",), ("plan", "--help")):
        said = CliRunner().invoke(app, words, env={"COLUMNS": "80"}).output.split("Commands:")[1]
        assert "..." not in said
        assert all(len(line) <= 80 for line in said.splitlines())


def test_what_is_printed_into_a_file_has_no_blanks_at_the_ends_of_lines(place: Path) -> None:
    (place / "plan.toml").write_text(preset_text("simulated"))
    said = call("check", "plan.toml").stdout
    assert "Ready: 0 errors" in said
    assert [line for line in said.splitlines() if line != line.rstrip()] == []


def test_a_path_with_umlauts_is_measured_without_a_utf8_locale_and_one_of_other_bytes_refused(
    place: Path,
) -> None:
    (place / "plan.toml").write_text(to_toml(nightly("1ms")))
    posix = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for folder, code in (("ümläut".encode(), 0), (b"\xfcml\xe4ut", 2)):
        words = ["run", "plan.toml", "--yes", "--quiet", "--no-brief", "--out"]
        done = subprocess.run(
            [sys.executable.encode(), b"-m", b"kneebench", *map(str.encode, words), folder],
            cwd=place,
            env=posix,
            check=False,
            capture_output=True,
        )
        assert done.returncode == code, done.stderr
    assert b"its name is not UTF-8; rename it" in done.stderr
    (found,) = (place / "ümläut").glob("*/finished.json")
    assert "--out 'ümläut'" in (found.parent / "campaign.json").read_text(encoding="utf-8")


def test_help_answers_without_importing_what_is_heavy() -> None:
    heavy = (
        "{'pydantic', 'rich.console', 'duckdb', 'altair', 'scipy', 'numpy', 'psycopg', 'psutil',"
        " 'jinja2'}"
    )
    code = f"import sys; import kneebench.cli; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_mistyped_command_is_told_the_near_one_and_exits_with_2() -> None:
    answer = call("rnu")
    assert answer.exit_code == 2
    assert "run" in answer.output


# --- run ------------------------------------------------------------------------------------------


def test_run_prints_its_progress_an_answer_for_each_storage_and_where_the_brief_is(
    place: Path, blank_figures: None
) -> None:
    """Its progress on stderr, in plain lines without a terminal."""
    answer = call("run", "plan.toml")
    assert answer.exit_code == 0, answer.output
    assert "SIMULATED" in answer.stdout
    assert re.search(r"slow drive +fast drive", answer.stdout), answer.stdout
    assert re.search(r"knee, users +\d+ \(\d+ to \d+\) +\d+ \(", answer.stdout), answer.stdout
    assert "not comparable with TPC" in answer.stdout
    (brief,) = place.glob("kneebench-results/*/brief.html")
    assert str(brief.relative_to(place)) in answer.stdout
    assert re.search(
        r"^ +\d+:\d\d slow drive: search, 2 users: [\d,]+ NOPM", answer.stderr, re.MULTILINE
    ), answer.stderr
    assert "slow drive: Plateau: " in answer.stderr


def test_run_with_json_prints_one_event_a_line_and_the_result_last(place: Path) -> None:
    (place / "plan.toml").write_text(FEW)
    answer = call("run", "plan.toml", "--json", "--no-brief")
    events = [json.loads(line) for line in answer.stdout.splitlines()]
    rungs = [event for event in events if event["kind"] == "rung"]
    assert {"storage", "users", "nopm", "mean_s", "p999_s"} <= set(rungs[0]["data"])
    assert events[-1]["kind"] == "result"
    assert events[-1]["data"]["finished"]
    assert [found["storage"] for found in events[-1]["data"]["configurations"]] == [
        "slow drive",
        "fast drive",
    ]


def test_run_in_a_terminal_shows_a_live_table(place: Path) -> None:
    (place / "plan.toml").write_text(FEW)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kneebench", "run", "plan.toml", "--no-brief"],
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert process.wait() == 0
    assert b"\x1b[" in seen
    assert b"NOPM" in seen
    assert b"slow drive" in seen


def test_run_with_a_wrong_plan_says_what_is_wrong_and_exits_with_2(place: Path) -> None:
    (place / "plan.toml").write_text(SHORT.replace("step ", "stepp "))
    answer = call("run", "plan.toml")
    assert answer.exit_code == 2
    assert "did you mean" in answer.stderr
    assert "Traceback" not in answer.output
    assert not (place / "kneebench-results").exists()


def test_run_with_a_part_that_is_not_there_names_those_that_are(place: Path) -> None:
    (place / "plan.toml").write_text('meters = ["cors"]\n' + SHORT)
    answer = call("run", "plan.toml")
    assert answer.exit_code == 2
    assert 'did you mean "cores"' in answer.stderr


ARGV_REPLACED = """
import runpy, sys, threading, time
def replace():
    while "kneebench.cli" not in sys.modules:
        time.sleep(0.01)
    runpy.run_path("some-mib.py")
threading.Thread(target=replace, daemon=True).start()
sys.argv[0] = sys.argv.pop(1)
from kneebench.__main__ import main
main()
"""
"""A thread has `sys.argv[0]` replaced, as pysnmp's do where they load a MIB."""


def test_ctrl_c_ends_cleanly_with_130_and_the_same_command_resumes(place: Path) -> None:
    (place / "plan.toml").write_text(LONG)
    (place / "some-mib.py").write_text("import time; time.sleep(600)")
    kept, words = 0, ["run", "plan.toml", "--no-brief"]
    module = f"{Path(sys.executable).name} -m kneebench"
    for number, started, program in (
        (signal.SIGINT, "kneebench", "kneebench"),
        (signal.SIGTERM, "/there/kneebench/__main__.py", module),
    ):
        command = [sys.executable, "-c", ARGV_REPLACED, started, *words]
        process = subprocess.Popen(command, cwd=place, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while len(rungs := list(place.glob("kneebench-results/*/rungs/*.json"))) <= kept:
            assert process.poll() is None and time.monotonic() < deadline, "no rung was kept"
            time.sleep(0.05)
        kept = len(rungs)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        assert f"Resume with: {program} run plan.toml --no-brief\n" in errors
        assert "Traceback" not in errors
    [folder] = place.glob("kneebench-results/*")
    head = json.loads((folder / "campaign.json").read_text())
    assert head["command"] == "kneebench run plan.toml --no-brief"


def test_a_failed_check_exits_with_4_and_is_told_first(
    campaigns: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = load(campaigns / name_in(campaigns))
    failed = Check(
        name="condition 3",
        passed=False,
        seen="1",
        limit="0",
        sentence="Condition 3: one order too many.",
    )
    broken = results.model_copy(
        update={
            "climbs": (
                results.climbs[0].model_copy(update={"checks": (failed,)}),
                *results.climbs[1:],
            )
        }
    )
    monkeypatch.setattr(flow, "run", lambda *words, **options: broken)
    answer = call("run", "plan.toml", "--no-brief")
    assert answer.exit_code == 4
    assert answer.stdout.index("one order too many") < answer.stdout.index("NOPM")


def test_an_invalid_rung_exits_with_3(campaigns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = load(campaigns / name_in(campaigns))
    climb = results.climbs[0]
    broken_rung = invalid(climb.rungs[0], "the load generator used 93% of its cores")
    broken = results.model_copy(
        update={
            "climbs": (
                climb.model_copy(update={"rungs": (broken_rung, *climb.rungs[1:])}),
                *results.climbs[1:],
            )
        }
    )
    monkeypatch.setattr(flow, "run", lambda *words, **options: broken)
    answer = call("run", "plan.toml", "--no-brief")
    assert answer.exit_code == 3
    assert "93% of its cores" in answer.stdout


def test_what_was_not_foreseen_is_one_message_and_a_file_with_the_traceback(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: object, **options: object) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(flow, "run", fail)
    answer = call("run", "plan.toml")
    assert answer.exit_code == 1
    assert "ZeroDivisionError: of all things" in answer.stderr
    assert "Traceback" not in answer.stderr
    (file,) = (place / "state" / "kneebench" / "tracebacks").glob("*.txt")
    assert "Traceback" in file.read_text()


def test_a_full_disk_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*words: object, **options: object) -> None:
        Path("/dev/full").write_text("x")

    monkeypatch.setattr(flow, "run", fail)
    answer = call("run", "plan.toml")
    assert answer.exit_code == 2
    assert "No space left" in answer.stderr
    assert "free some space" in answer.stderr


def test_a_folder_for_results_that_is_a_file_is_a_message_with_2(place: Path) -> None:
    answer = call("run", "plan.toml", "--out", "plan.toml")
    assert answer.exit_code == 2
    assert "cannot write plan.toml" in answer.stderr
    assert "internal error" not in answer.stderr


def test_a_state_folder_that_cannot_be_used_is_a_message_and_a_traceback_goes_elsewhere(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: object, **options: object) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setenv("XDG_STATE_HOME", str(place / "plan.toml"))
    answer = call("run", "plan.toml")
    assert answer.exit_code == 2
    assert "plan.toml" in answer.stderr
    monkeypatch.setattr(plans, "selected_study", fail)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    answer = call("plan", "default")
    assert answer.exit_code == 1
    assert "Traceback" in next(place.glob("kneebench-*.txt")).read_text()


def test_run_without_a_plan_goes_on_with_the_default_plan_that_it_began(place: Path) -> None:
    begun = sized_plan(Path(), warehouses=7)
    Store.create(place / "mine", Study(begun), host()).close()
    assert selected_study(None, place / "mine").workload.warehouses == 7
    elsewhere = begun.model_copy(
        update={"question": sized_plan(Path("/elsewhere"), warehouses=7).question}
    )
    Store.create(place / "others", Study(elsewhere), host()).close()
    assert selected_study(None, place / "others").workload.warehouses != 7


def test_run_removes_what_a_killed_run_left_before_it_asks_what_is_free(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = place / "left"
    code = "import os, sys; from pathlib import Path; from kneebench.lab.journal import Journal\n"
    code += "with Journal().directory(Path(sys.argv[1]), 'data in memory'):\n    os._exit(9)"
    subprocess.run([sys.executable, "-c", code, str(left)], check=False)
    assert left.exists()

    def free(*words: object, **more: object) -> None:
        assert not left.exists()
        raise PlanError("cannot look", seen="enough")

    monkeypatch.setattr(running, "selected_study", free)
    answer = call("run")
    assert answer.exit_code == 2, answer.output
    assert f"cleaning up after an earlier run: data in memory ({left})" in answer.stderr


def test_an_answer_does_not_fail_at_a_terminal_that_lacks_its_characters(
    campaigns: Path, place: Path
) -> None:
    folder = place / "copied"
    shutil.copytree(campaigns / name_in(campaigns), folder)
    head = folder / "campaign.json"
    head.write_text(head.read_text().replace("What would", "Caf\u00e9 \u6f22: what would"))
    shown = started("show", str(folder), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    said, wrong = shown.communicate(timeout=60)
    assert (shown.returncode, wrong) == (0, "")
    assert "Caf\\xe9" in said


def test_a_brief_is_written_to_a_page_or_a_document_in_a_directory_that_is_there(
    campaigns: Path, place: Path
) -> None:
    folder = str(campaigns / name_in(campaigns))
    for out, said in (
        ("brief.docx", "use .html, .pdf, .md or .json"),
        ("nowhere/brief.html", "no directory nowhere"),
    ):
        answer = call("brief", folder, "--out", out)
        assert answer.exit_code == 2
        assert said in answer.stderr
    assert not (place / "nowhere").exists()


# --- check ----------------------------------------------------------------------------------------


def test_check_says_what_would_be_done_and_changes_nothing(place: Path) -> None:
    answer = call("check", "plan.toml")
    assert answer.exit_code == 0, answer.output
    assert "duration" in answer.stdout
    assert sorted(path.name for path in place.iterdir() if path.name != "state") == ["plan.toml"]


def test_check_refuses_to_measure_beside_another_and_warns_of_one_place_for_two(
    place: Path,
) -> None:
    (place / "plan.toml").write_text(
        '[storages]\na = { path = "/dev/shm" }\nb = { path = "/dev/shm" }'
    )
    code = "import sys; from pathlib import Path; from kneebench.lab.journal import Journal\n"
    code += (
        "with Journal().directory(Path(sys.argv[1]), 'data'):\n    print('ready', flush=True);"
        " sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(place / "data")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout
    other.stdout.readline()
    found = json.loads(call("check", "plan.toml", "--json").stdout)
    other.communicate("", timeout=60)
    (beside,) = [one for one in found if one["level"] == "refused"]
    assert f"another kneebench run is active (PID {other.pid})" in beside["seen"]
    assert [one["seen"] for one in found if one["subject"] == "a, b"] == [
        "they share one file system, /dev/shm"
    ]
    assert not [
        one
        for one in json.loads(call("check", "plan.toml", "--json").stdout)
        if one["level"] == "refused"
    ]


def test_check_warns_of_fewer_than_four_warehouses_a_user(place: Path) -> None:
    (place / "plan.toml").write_text(SHORT.replace("warehouses = 400", "warehouses = 40"))
    found = json.loads(call("check", "plan.toml", "--json").stdout)
    assert next(one["seen"] for one in found if one["subject"] == "users").endswith(
        "40 warehouses are enough for 10 users"
    )
    (place / "plan.toml").write_text(SHORT.replace("warehouses = 400", "warehouses = 2"))
    found = json.loads(call("check", "plan.toml", "--json").stdout)
    assert next(one["seen"] for one in found if one["subject"] == "users").endswith(
        "2 warehouses are too few for any user"
    )


def test_check_exits_with_2_when_something_is_missing(place: Path) -> None:
    (place / "plan.toml").write_text(SHORT + "\n[storages.third]\npath = '.'\n")
    answer = call("check", "plan.toml")
    assert answer.exit_code == 2
    assert "error" in answer.stdout


def test_check_tells_of_cores_that_are_not_there(place: Path) -> None:
    (place / "plan.toml").write_text(
        SHORT.replace("warehouses = 400", "warehouses = 400\nload_generator_cores = [4095]")
    )
    answer = call("check", "plan.toml")
    assert answer.exit_code == 2
    assert "core 4095" in answer.stdout


def test_check_ends_with_one_line_that_says_ready_or_not_how_long_and_how_much(place: Path) -> None:
    assert (
        call("check", "plan.toml")
        .stdout.splitlines()[-1]
        .startswith("Ready: 0 errors, 0 warnings. About ")
    )
    (place / "plan.toml").write_text(
        f'[storages]\na = {{ path = "{place}" }}\nb = {{ path = "{place}/none" }}'
    )
    last = call("check", "plan.toml").stdout.splitlines()[-1]
    assert re.match(r"Not ready: 1 error, [123] warnings?\. About ", last), (
        "another warning where the machine is busy"
    )
    assert "; writes up to " in last
    assert "; keeps " in last


def test_check_reads_in_80_columns_as_the_tutorial_shows_it(place: Path) -> None:
    (place / "plan.toml").write_text(preset_text("simulated"))
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb"}
    environment.pop("COLUMNS", None)
    with subprocess.Popen(
        [sys.executable, "-m", "kneebench", "check", "plan.toml"],
        stdin=slave,
        stdout=slave,
        env=environment,
    ) as process:
        assert process.wait(60) == 0
    seen = [line.rstrip() for line in os.read(master, 65536).decode().splitlines()]
    os.close(master)
    os.close(slave)
    tutorial = (Path(__file__).parent.parent / "docs" / "tutorial.md").read_text()
    shown = (
        tutorial.partition("## 2. Check")[2]
        .partition("```console\n")[2]
        .partition("```")[0]
        .splitlines()[1:]
    )
    assert [line for line in shown if line not in (*seen, "...")] == []


@pytest.mark.parametrize(("width", "lines_each"), [(160, 1), (60, 3), (42, 4)])
def test_the_name_of_a_listed_campaign_is_never_broken(
    campaigns: Path, width: int, lines_each: int
) -> None:
    lines = drawn(CampaignList(listed_in(campaigns)), width=width).splitlines()
    [line] = [one for one in lines if name_in(campaigns) in one]
    assert len(lines) == lines_each + (width == 160), "a heading where each has one line"
    assert (line == name_in(campaigns)) == (width < 160)


# --- plans ----------------------------------------------------------------------------------------


def test_a_printed_preset_can_be_checked(place: Path) -> None:
    (place / "preset.toml").write_text(call("plan", "preset", "simulated").stdout)
    assert call("check", "preset.toml").exit_code == 0


def test_the_help_of_presets_has_a_line_for_each_that_there_is() -> None:
    listed = call("plan", "preset", "--help").stdout.split("Presets:")[1].split("Plans after")[0]
    assert sorted(line.split()[0] for line in listed.strip().splitlines()) == presets()


def test_the_printed_schema_is_json_and_an_unknown_preset_exits_with_2() -> None:
    assert json.loads(call("plan", "schema").stdout)["title"] == "Plan"
    assert call("plan", "preset", "none").exit_code == 2


# --- what was measured ----------------------------------------------------------------------------


def test_list_show_brief_and_compare_need_only_the_folder(campaigns: Path, place: Path) -> None:
    name = name_in(campaigns)
    assert json.loads(call("list", "--in", str(campaigns), "--json").stdout)[0]["id"] == name
    assert name in call("list", "--in", str(campaigns)).stdout
    shown = call("show", name, "--in", str(campaigns))
    assert shown.exit_code == 0, shown.output
    assert "search" in shown.stdout
    assert json.loads(call("show", str(campaigns / name), "--json").stdout)["finished"]
    written = call("brief", name, "--in", str(campaigns), "--out", str(place / "brief.json"))
    assert written.exit_code == 0, written.output
    assert json.loads((place / "brief.json").read_text())
    compared = call("compare", name, name, "--in", str(campaigns), "--json")
    assert compared.exit_code == 0, compared.output
    document = json.loads(compared.stdout)
    assert (len(document["storages"]), document["differences"]) == (4, [])


def test_compare_says_what_else_differs_than_the_storages(campaigns: Path, place: Path) -> None:
    name = name_in(campaigns)
    shutil.copytree(campaigns / name, place / "other")
    head = json.loads((place / "other" / "campaign.json").read_text())
    (place / "other" / "campaign.json").write_text(
        json.dumps({**head, "id": "other", "host": {**head["host"], "kernel": "6.99"}})
    )
    words = ("compare", str(campaigns / name), str(place / "other"))
    assert f"kernel is {head['host']['kernel']} in {name} and 6.99 in other" in call(*words).stdout
    assert [
        sentence.split()[0] for sentence in json.loads(call(*words, "--json").stdout)["differences"]
    ] == ["kernel"]


def test_a_campaign_that_is_not_there_exits_with_2_and_says_how_to_find_those_that_are() -> None:
    answer = call("show", "nothing")
    assert answer.exit_code == 2
    assert "kneebench list" in answer.stderr
    assert "no campaigns" in call("list").stdout


def test_clean_says_when_nothing_was_left_over() -> None:
    assert call("clean").stdout == "nothing to clean up\n"


def test_clean_tells_what_it_could_not_remove_and_does_not_say_that_nothing_was_left(
    place: Path,
) -> None:
    code = "import os; from pathlib import Path; from kneebench.lab.journal import Journal\n"
    code += (
        "with Journal().directory(Path('left').absolute(), 'data'):\n   "
        " os.remove('left/.kneebench-made-this'); os.mkdir('left/theirs'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False, cwd=place)
    answer = call("clean")
    assert (answer.exit_code, answer.stdout) == (0, "")
    assert "cannot remove data (" in answer.stderr


def test_components_lists_every_shelf() -> None:
    found = json.loads(call("components", "--json").stdout)
    by_driver = {"db2", "odbc", "oracle"}
    protocols = ["mariadb", "mysql", "postgres", "simulated", "sqlserver"]
    assert found["engine"] == sorted({*protocols, *by_driver})
    assert {"plateau", "log_latency", "saturation", "errors", "budget"} <= set(found["stop"])
    for shelf in found:
        assert shelf in call("components").stdout


def test_a_folder_that_is_not_there_is_not_called_empty(place: Path) -> None:
    (place / "bare").mkdir()
    assert (
        call("list", "--in", "bare").output == "no campaigns in bare; `kneebench run` creates one\n"
    )
    assert (
        call("list", "--in", "nowhere").output
        == "no campaigns in nowhere (no such folder); `kneebench run` creates one\n"
    )


COMMANDS = [one.name or "" for one in app.registered_commands]
COMMANDS += [f"plan {one.name}" for one in printing_plans.registered_commands]


@pytest.mark.parametrize("command", ["", "plan", *COMMANDS])
def test_help_fits_80_columns(command: str) -> None:
    said = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "80"})
    assert said.exit_code == 0
    assert [line for line in said.stdout.splitlines() if len(line) > 80] == []
