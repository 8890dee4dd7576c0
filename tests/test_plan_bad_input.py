"""Bad plans: each is told with its file, most with line and key; none ends as anything but a plan
or a PlanError, or takes long.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kneebench.campaign.preflight import preflight_checks, shelves
from kneebench.databases.several import engine_of
from kneebench.errors import PlanError
from kneebench.lab.host import host
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.duration import expected
from kneebench.plan.faults import MOST_SHOWN, Fault, PlanFaults
from kneebench.plan.preset import preset_text, presets
from kneebench.plan.reader import MOST_BYTES, parse_plan, read_plan
from kneebench.plan.study import Study
from kneebench.plan.writer import to_toml

DISK = 'storages.disk.path = "."\n'
SIMULATED = 'database.engine = "simulated"\nstorages.a.simulated.'
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
PATIENCE_S = 30.0
"""For what takes milliseconds on a machine at rest."""

URL = "a host name|one host|a port from|percent-encoded|without control characters"
IMPOSSIBLE_HOSTS = (
    "a..b",
    "..",
    "*",
    "ho st",
    "[zz]",
    "[::1",
    "a,b",
    "h:0",
    "h:99999",
    "%00",
    "%ff",
    "%1b[31m",
    70 * "x",
    80 * "\u00fc",
    "%2e%2e%2f" + 300 * "x",
)
BAD = {
    "4,300 digits": ("seed = " + 5_000 * "9" + "\n" + DISK, 1, "", "at most 19 digits"),
    "64 bits": ("\nseed = 0x" + 50_000 * "f" + "\n" + DISK, 2, "seed", "at most 64 bits"),
    "a size of three parts": (
        DISK + 'database.settings.max_wal_size = "1.2.3GB"',
        2,
        "database.settings.max_wal_size",
        "a size with its unit",
    ),
    "a size of none": (
        DISK + 'database.settings.shared_buffers = ".GB"',
        2,
        "database.settings.shared_buffers",
        "a size with its unit",
    ),
    "a setting that is a file": (
        DISK + 'database.settings.include = "/etc/x"',
        2,
        "database.settings.include",
        "the name of a server setting",
    ),
    "a setting that is a line": (
        DISK + "database.settings.'port = 1 #' = 1",
        2,
        'database.settings."port = 1 #"',
        "the name of a server setting",
    ),
    "a scheduler that is a path": (
        'storages.a.drives = ["sda"]\nstorages.a.drive_settings.scheduler = "../../x"',
        2,
        "storages.a.drive_settings.scheduler",
        "the name of an I/O scheduler",
    ),
    "an option of mkfs that is a path": (
        'storages.a.drives = ["sda"]\nstorages.a.file_system.mkfs = ["/dev/sdb"]',
        2,
        "storages.a.file_system.mkfs",
        'not "/dev/sdb"; for xfs: -b',
    ),
    "a mount option of another file system": (
        'storages.a.drives = ["sda"]\nstorages.a.file_system.mount = ["nodatacow"]',
        2,
        "storages.a.file_system.mount",
        'not "nodatacow"; for xfs: allocsize',
    ),
    "NUL in a path": (
        'storages.disk.path = "a\\u0000b"',
        1,
        "storages.disk.path",
        "without control characters",
    ),
    "a long name in a path": (
        f'storages.disk.path = "{300 * "x"}"',
        1,
        "storages.disk.path",
        "255 bytes per component",
    ),
    "a long path": (
        f'storages.disk.path = "{3000 * "x/"}"',
        1,
        "storages.disk.path",
        "at most 4000 bytes",
    ),
    "an escape in a name": (
        'seed = 1\nstorages."a\\u001b[31m".path = "."',
        2,
        'storages."a\\U0000001B[31m"',
        "without control characters",
    ),
    "a reversed name": (
        'storages."a\\u202eb".path = "."',
        1,
        'storages."a\\U0000202Eb"',
        "without control characters",
    ),
    "no character in a name": (
        'storages."a\\uffff".path = "."',
        1,
        'storages."a\\U0000FFFF"',
        "without control characters",
    ),
    "an escape in the question": (
        'question = "\\u001b]0;x\\u0007"\n' + DISK,
        1,
        "question",
        "without control characters",
    ),
    "a long name": (
        f'storages.{300 * "x"}.path = "."',
        1,
        f"storages.{300 * 'x'}",
        "at most 100 characters",
    ),
    "a window of ages": (
        DISK + 'ladder.window = "100000000000000h"',
        2,
        "ladder.window",
        "at most 168h",
    ),
    "a warm-up of ages": (
        DISK + 'ladder.warm_up = "100000000000000h"',
        2,
        "ladder.warm_up",
        "at most 168h",
    ),
    "a budget of ages": (
        DISK + f'ladder.budget = "{400 * "9"}h"',
        2,
        "ladder.budget",
        "at most 720h",
    ),
    "5,000 cores": (
        DISK + f"workload.load_generator_cores = {list(range(5_000))}",
        2,
        "workload.load_generator_cores",
        "at most 1024 entries",
    ),
    "a rate without a unit": (
        DISK + "ladder.latency_rate = 800",
        2,
        "ladder.latency_rate",
        "a rate above 0 with its unit",
    ),
    "a rate of nothing": (
        DISK + 'ladder.latency_rate = "0/s"',
        2,
        "ladder.latency_rate",
        "a rate above 0 with its unit",
    ),
    "a rate per hour": (
        DISK + 'ladder.latency_rate = "800/h"',
        2,
        "ladder.latency_rate",
        "/s, /min",
    ),
    "a rate and a share": (
        DISK + 'ladder.latency_rate = "800/s"\nladder.fixed_rate_share = 0.5',
        2,
        "ladder.latency_rate",
        "not both",
    ),
    "a margin in percent": (DISK + "accept.margin = 5", 2, "accept.margin", "above 0 below 1"),
    "a core below none": (DISK + "database.cores = [-1]", 2, "database.cores", "from 0 below 8192"),
    "simulated cores beyond all": (
        SIMULATED + "cores = 9223372036854775807",
        2,
        "storages.a.simulated.cores",
        "from 1 to 4096",
    ),
    "simulated key of another engine": (
        'database.engine = "simulated"\ndatabase.bin_dir = "x"\nstorages.a.simulated.cores = 1',
        2,
        "database.bin_dir",
        "one of: engine, settings, restore",
    ),
    "a build of an engine that has external servers alone": (
        'database.engine = "sqlserver"\ndatabase.bin_dir = "x"\nstorages.a.url = "mssql://a@b/x"',
        2,
        "database.bin_dir",
        "one of: engine, settings, restore",
    ),
    "a memory limit of an external server": (
        'storages.a.url = "postgresql://me@db/x"\ndatabase.memory = "1GiB"',
        2,
        "database.memory",
        "only a managed server uses it",
    ),
    "simulated server": (
        SIMULATED + "cores = 1\ndatabase.cores = [1]",
        3,
        "database.cores",
        "one of: engine, settings, restore",
    ),
    "a simulated storage by url": (
        'database.engine = "simulated"\nstorages.a.url = "postgresql://me@db/x"',
        2,
        "storages.a.url",
        "no value: this engine has no external servers",
    ),
    "simulated 2^63": (
        SIMULATED + "warm_after = 9223372036854775808",
        2,
        "storages.a.simulated.warm_after",
        "at most 64 bits",
    ),
    "simulated infinity": (
        SIMULATED + "reads_per_transaction = inf",
        2,
        "storages.a.simulated.reads_per_transaction",
        "from 0 to 10000",
    ),
    "a copy by url": (
        'database.url = "postgresql:///x"\ndatabase.restore = "copy"',
        2,
        "database.restore",
        '"template", "command" or "none"',
    ),
    "what results keep of a command": (
        (
            'database.url = "postgresql:///x"\ndatabase.restore ='
            ' "command"\ndatabase.restore_command = "back [not kept, hash 0123456789abcdef]"'
        ),
        3,
        "database.restore_command",
        "the command itself",
    ),
    **{
        f"the host {host[:12]}": (
            f'\ndatabase.url = "postgresql://me@{host}/x"',
            2,
            "database.url",
            URL,
        )
        for host in IMPOSSIBLE_HOSTS
        if host != "[::1"
    },
    "an open bracket": (
        'database.url = "postgresql://me@[::1/x"',
        1,
        "database.url",
        "without password",
    ),
}
DEEP = {
    "tables": "[" + ".".join(980 * ["a"]) + "]\nx = 1",
    "very deep tables": "[" + ".".join(100_000 * ["a"]) + "]\nx = 1",
    "inline tables": "a = " + 300 * "{ a = " + "1" + 300 * "}",
    "lists": "meters = " + 900 * "[" + 900 * "]",
    "open lists": "a = " + 5_000 * "[",
}


def faults(text: str) -> tuple[Fault, ...]:
    with pytest.raises(PlanFaults) as caught:
        parse_plan(text, "plan.toml", shelves())
    assert not CONTROL.search(str(caught.value))
    return caught.value.faults


@pytest.mark.parametrize("name", BAD)
def test_a_value_that_no_plan_can_have_is_told_with_its_line_its_key_and_what_is_allowed(
    name: str,
) -> None:
    text, line, key, allowed = BAD[name]
    (fault,) = faults(text)
    assert (fault.line, fault.key) == (line, key)
    assert re.search(allowed, fault.allowed), fault.allowed


@pytest.mark.parametrize("name", DEEP)
def test_tables_and_lists_that_are_too_deep_are_told_with_the_file(name: str) -> None:
    with pytest.raises(PlanError, match=r"cannot read plan\.toml.*nested too deeply"):
        parse_plan(DEEP[name], "plan.toml")


def test_text_that_is_odd_but_plain_is_taken() -> None:
    plan = parse_plan(
        'question = "Größe \U0001f418 ‒ \u200d?"\n[storages."2x »NVMe«"]\npath = "größe'
        ' nach\u00a0maß"\n'
    )
    assert list(plan.storages) == ["2x »NVMe«"]
    command = (
        'database = { url = "postgresql://[::1]:5433/x", restore = "command", restore_command ='
        ' """\n\tpg_restore \\\n  --clean\n""" }'
    )
    assert Study(parse_plan(command)).only_database.restore == "command"
    for place in (
        "db_1.example",
        "10.0.0.1:5432",
        "größe.example",
        "%2Frun%2Fpostgresql",
        "",
        "db.example.",
    ):
        assert Study(parse_plan(f'database.url = "postgresql://me@{place}/x"')).only_database.urls


def test_ten_thousand_faults_are_told_in_twenty_and_a_count_within_seconds() -> None:
    began = time.monotonic()
    with pytest.raises(PlanFaults) as caught:
        parse_plan("".join(f"key_{n} = {n}\n" for n in range(10_000)) + DISK, "plan.toml")
    assert time.monotonic() - began < PATIENCE_S
    assert [fault.line for fault in caught.value.faults] == list(range(1, 10_001))
    assert str(caught.value).endswith("\n  and 9,980 more")
    assert len(str(caught.value)) < 500 * MOST_SHOWN


def test_a_file_that_is_no_plan_by_its_size_is_read_no_further(tmp_path: Path) -> None:
    file = tmp_path / "large.toml"
    file.write_text("#" + MOST_BYTES * " ")
    with pytest.raises(PlanError, match=f"cannot read {file}: the file is larger than 256 KiB"):
        read_plan(file)
    with pytest.raises(PlanError, match="File name too long"):
        read_plan(tmp_path / (300 * "x"))


# --- whatever a plan holds ------------------------------------------------------------------------

VALUES = (
    *(
        "-1",
        "0",
        "1e400",
        "nan",
        "-inf",
        "9223372036854775808",
        "0x" + 4_500 * "f",
        "1_000_000",
        "1979-05-27T07:32:00Z",
        "true",
        "[]",
        "{}",
        "[[]]",
        "[1, 2, 3]",
    ),
    *(
        '""',
        '"auto"',
        '"0s"',
        '"1.2.3GB"',
        '"999999999h"',
        '"%s{}"',
        '"\\u0000"',
        '"\\u001b[2J"',
        '"postgresql://a..b/x"',
        f'"{300 * "x"}"',
        "'''\n'''",
    ),
    *(
        "[0, 0]",
        "[512, 1]",
        '["cores", "cores", ""]',
        "{ a = { b = { c = { d = 1 } } } }",
        '"../../../../proc/self/mem"',
    ),
)
KEYS = (
    "storages",
    "storages.x.simulated.noise",
    "database.url",
    "database.settings.x",
    '""',
    '"\\u001b"',
    "ladder.users",
    "workload",
    "a.b.c.d.e.f.g",
    "restore",
)


def mutant(text: str, chance: random.Random) -> str:
    """A preset with one to four changes: a value, a key, a line, or some characters."""
    lines = text.splitlines()
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(lines))
        how = chance.randrange(6)
        if how == 0 and "=" in lines[place]:
            lines[place] = f"{lines[place].partition('=')[0]}= {chance.choice(VALUES)}"
        elif how == 1 and "=" in lines[place]:
            lines[place] = f"{chance.choice(KEYS)} = {lines[place].partition('=')[2]}"
        elif how == 2:
            lines.insert(place, f"{chance.choice(KEYS)} = {chance.choice(VALUES)}")
        elif how == 3:
            lines.insert(place, lines[chance.randrange(len(lines))])
        elif how == 4 and len(lines) > 1:
            del lines[place]
        else:
            at = chance.randint(0, len(lines[place]))
            lines[place] = (
                lines[place][:at]
                + chance.choice("\"'[]{}=.,#\\\n\t\x00\x1b\u202e0")
                + lines[place][at + chance.randint(0, 3) :]
            )
    return "\n".join(lines)


def used(plan: Plan, journal: Journal) -> None:
    """What every command does with a plan before it asks the machine."""
    engine_of(Study(plan).databases, journal)
    assert expected(Study(plan).databases, host()).total_s >= 0
    constraints = sum(
        max(1, len(plan.constraints_of(one))) for one in plan.databases_by_name.values()
    )
    assert len(configurations(plan)) == len(plan.storages) * constraints
    assert parse_plan(to_toml(plan), "again") == plan


def test_any_change_of_a_preset_is_a_plan_or_a_plan_error(tmp_path: Path) -> None:
    chance, journal, plans, errors = random.Random(9300), Journal(tmp_path), 0, 0
    began = time.monotonic()
    for number in range(400):
        text = mutant(preset_text(presets()[number % len(presets())]), chance)
        try:
            used(parse_plan(text, "plan.toml", shelves()), journal)
            plans += 1
        except PlanError as error:
            assert not CONTROL.search(str(error)), text
            errors += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n{text}") from error
    assert time.monotonic() - began < 4 * PATIENCE_S
    assert plans > 40
    assert errors > 100


def test_what_check_finds_of_a_plan_with_odd_places_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    for place in (
        "file",
        "file/below",
        "loop",
        "loop/below",
        "/proc/1/fd/9999",
        "/dev/null",
        "x/" * 900,
        255 * "x",
        "",
    ):
        plan = parse_plan(
            f"database.base_image_path = {json.dumps(place)}\nstorages.disk.path ="
            f" {json.dumps(place)}"
        )
        found = preflight_checks(
            Study(plan),
            engine_of(Study(plan).databases, Journal(tmp_path / "journal")),
            Journal(tmp_path / "journal"),
        )
        assert "error" in {one.level for one in found} or place == "", place


@pytest.mark.parametrize(
    "name",
    [
        "4,300 digits",
        "an escape in a name",
        "NUL in a path",
        "the host a..b",
        "simulated 2^63",
        "a window of ages",
    ],
)
def test_check_ends_with_2_and_sends_the_terminal_no_control_character(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "plan\x1b[31m.toml").write_text(BAD[name][0])
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "kneebench", "check", "plan\x1b[31m.toml"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "plan\\u001b[31m.toml" in done.stderr
    assert "internal error" not in done.stderr
    assert not CONTROL.search(done.stdout + done.stderr)
    assert not list((tmp_path / "state").rglob("*.txt"))
