"""The plan: what is accepted, what every error says, and that writing a plan and reading it gives
it back.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kneebench.databases.engines.simulated.table import STORAGE
from kneebench.errors import PlanError
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.database import ServerDatabase
from kneebench.plan.default import Free, default_plan, fitting_warehouses, sized_plan
from kneebench.plan.duration import expected, rungs, steps
from kneebench.plan.faults import Fault, PlanFaults
from kneebench.plan.json_schema import plan_schema, tables
from kneebench.plan.lines import Lines
from kneebench.plan.preset import preset_text, presets, published_presets
from kneebench.plan.reader import parse_plan, read_plan
from kneebench.plan.server_url import UrlRule
from kneebench.plan.storage import ROLES, Storage
from kneebench.plan.study import Study
from kneebench.plan.value_text import quoted, time_text, toml_text
from kneebench.plan.writer import to_toml
from kneebench.records import Host
from kneebench.units import TIME, parse_time

PLENTY = Free(memory_bytes=20 << 30, tmpfs_bytes=24 << 30, disk_bytes=80 << 30)
DISK = '[storages]\ndisk = { path = "." }\n'
SMALL = Host(cpu="any", cores=2, memory_bytes=24 << 30, kernel="6", system="any")


def faults(text: str, shelves: dict[str, list[str]] | None = None) -> tuple[Fault, ...]:
    with pytest.raises(PlanFaults) as caught:
        parse_plan(text, "plan.toml", shelves)
    return caught.value.faults


def only_fault(text: str) -> Fault:
    (fault,) = faults(text)
    return fault


# --- what every error says ------------------------------------------------------------------------


def test_an_unknown_key_is_reported_with_its_line_the_known_keys_and_a_likely_one() -> None:
    fault = only_fault("seed = 1\n\n[ladder]\nwindw = '5s'\n" + DISK)
    assert (fault.file, fault.line, fault.key, fault.near) == (
        "plan.toml",
        4,
        "ladder.windw",
        "window",
    )
    assert "final_window" in fault.allowed


def test_a_time_without_a_unit_is_refused_whole_or_broken() -> None:
    for written in ("30", "30.0"):
        fault = only_fault(f"[ladder]\nwindow = {written}\n" + DISK)
        assert (fault.line, fault.key, fault.seen) == (2, "ladder.window", written)
        assert '"10min"' in fault.allowed


def test_a_wrong_unit_is_told_with_the_units_there_are() -> None:
    fault = only_fault('[ladder]\nwindow = "5 minutes"\n' + DISK)
    assert fault.seen == '"5 minutes"'
    assert "ms, s, min, h" in fault.allowed


def test_a_number_out_of_bounds_is_told_with_its_bounds() -> None:
    assert only_fault("[ladder]\nstep = 9\n" + DISK).allowed == "number above 1.05 to 4"


def test_true_and_text_are_no_numbers() -> None:
    assert [
        fault.key for fault in faults('seed = true\n[workload]\nwarehouses = "20"\n' + DISK)
    ] == ["seed", "workload.warehouses"]


def test_a_wrong_choice_is_told_with_the_choices_and_the_near_one() -> None:
    fault = only_fault('[database]\nrestore = "copie"\n' + DISK)
    assert fault.near == "copy"
    assert '"clone"' in fault.allowed


def test_a_key_that_may_be_one_thing_or_another_gets_one_error() -> None:
    fault = only_fault('ladder.users = "many"\n' + DISK)
    assert fault.allowed == "two whole numbers in brackets or whole number"


@pytest.mark.parametrize(
    ("database", "storages", "line", "key"),
    [
        ('restore = "template"', '{ path = "." }', 2, "database.restore"),
        ('schema_from = "hammerdb"', '{ path = "." }', 2, "database.schema_from"),
        ("settings.max_wal_size = 4096", '{ path = "." }', 2, "database.settings.max_wal_size"),
        ("cores = [0]", '{ url = "postgresql://me@db/x" }', 2, "database.cores"),
        ('settings.work_mem = "4MB"', '{ url = "postgresql://me@db/x" }', 2, "database.settings"),
        ("", '{ url = "postgresql://me@db/x" }\nother = { path = "." }', 5, "storages.other"),
    ],
)
def test_what_does_not_fit_the_kind_of_server_is_told_with_its_line(
    database: str, storages: str, line: int, key: str
) -> None:
    fault = only_fault(f"[database]\n{database}\n[storages]\ndisk = {storages}\n")
    assert (fault.line, fault.key) == (line, key)
    assert fault.allowed


def test_all_errors_are_told_at_once_in_the_order_of_their_lines() -> None:
    found = faults("seed = -1\n[ladder]\nstep = 9\nrepeats = 99\n[storages]\na = { pth = '.' }\n")
    assert [(fault.line, fault.key) for fault in found] == [
        (1, "seed"),
        (3, "ladder.step"),
        (4, "ladder.repeats"),
        (6, "storages.a.pth"),
    ]


def test_a_syntax_error_is_told_with_its_line_and_what_stands_there() -> None:
    fault = only_fault("seed = 1\nladder = {\n")
    assert fault.line == 2
    assert fault.seen == "ladder = {"


def test_a_plan_without_storages_says_that_they_are_required() -> None:
    assert only_fault("seed = 1\n").key == "storages"
    assert only_fault("[storages]\n").allowed == "at least one"


def test_a_component_that_is_on_no_shelf_is_told_with_those_there_are() -> None:
    shelves = {"meters": ["cores", "devices"], "database.engine": ["postgres"]}
    found = faults('meters = ["cores", "devises"]\ndatabase.engine = "postgress"\n' + DISK, shelves)
    assert [(fault.line, fault.key, fault.near) for fault in found] == [
        (1, "meters", "devices"),
        (2, "database.engine", "postgres"),
    ]


def test_a_rule_over_several_keys_points_at_the_key_it_is_about() -> None:
    assert only_fault('baseline = "ssd"\n' + DISK).key == "baseline"
    assert only_fault('[storages."2x NVMe"]\nlog_path = "x"\n').key == 'storages."2x NVMe".log_path'
    assert only_fault("[ladder]\nusers = [64, 8]\n" + DISK).line == 2
    assert only_fault("[storages]\nempty = {}\n").key == "storages.empty"


def test_a_password_in_a_plan_is_refused_and_not_repeated() -> None:
    odd = (
        "postgresql://me:h#hush@db/x",
        "postgresql://me:h?hush@db/x",
        "postgresql://me:h/hush@db:5432/x",
        "postgresql://me:hush/x",
    )
    for url in (*odd, "postgresql://me:hush@db/x", "postgresql://me@db/x?password=hush"):
        with pytest.raises(PlanFaults, match="PGPASSWORD") as caught:
            parse_plan(f'[storages]\na = {{ url = "{url}" }}\n')
        assert "hush" not in str(caught.value)


def test_each_engine_says_how_its_urls_are_written_and_where_a_password_belongs() -> None:
    class Other(ServerDatabase):
        url_rule = UrlRule(("other",), "other://user@host:1/x", "a wallet")

    assert Other(url="other://me@db/x").url
    for url in ("postgresql://me@db/x", "other://me@a,b/x"):
        with pytest.raises(ValidationError, match="other://user@host:1/x"):
            Other(url=url)
    with pytest.raises(ValidationError, match="in a wallet"):
        Other(url="other://me:hush@db/x")


def test_an_engine_may_have_a_table_of_each_storage_and_the_plan_keeps_it() -> None:
    plan = parse_plan(preset_text("simulated"))
    storage = plan.storages["fast drive"]
    assert isinstance(storage.own_table("simulated"), STORAGE)
    assert storage.own_table("postgres") is None
    assert parse_plan(to_toml(plan)) == plan
    assert [table.path for table in tables() if table.path[:1] == ("storages",)] == [
        ("storages", "*"),
        ("storages", "*", "file_system"),
        ("storages", "*", "drive_settings"),
        ("storages", "*", "log"),
        ("storages", "*", "log", "file_system"),
        ("storages", "*", "log", "drive_settings"),
        ("storages", "*", "temporary"),
        ("storages", "*", "temporary", "file_system"),
        ("storages", "*", "temporary", "drive_settings"),
        ("storages", "*", "stops"),
        *(
            ("storages", "*", "stops", name)
            for name in ("plateau", "log_latency", "saturation", "errors", "power", "latency")
        ),
        ("storages", "*", "simulated"),
        ("storages", "*", "sqlserver"),
    ]


def test_a_file_that_is_not_there_or_not_text_is_an_error_that_says_what_to_do(
    tmp_path: Path,
) -> None:
    with pytest.raises(PlanError, match=r"No such file.*plan default"):
        read_plan(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PlanError, match="not UTF-8"):
        read_plan(tmp_path / "binary.toml")


# --- where keys stand -----------------------------------------------------------------------------


def test_lines_are_found_in_every_kind_of_table_in_arrays_and_after_long_strings() -> None:
    text = (
        'a = """\nx = 1\n"""\nb.c = [\n  1, # one\n  { d = 2 },\n]\n[t."x.y"]\ne = { f = { g ='
        " '#}' }, h = 1979-05-27 }\n[[u]]\ni = 1\n[[u]]\ni = 2\n"
    )
    tomllib.loads(text)
    lines = Lines(text)
    where = {
        ("a",): 1,
        ("b", "c"): 4,
        ("b", "c", 1, "d"): 6,
        ("t", "x.y", "e", "f", "g"): 9,
        ("t", "x.y", "e", "h"): 9,
        ("u", 1, "i"): 13,
    }
    assert {path: lines.of(*path) for path in where} == where


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=6),
        st.integers() | st.text(max_size=8) | st.lists(st.integers(), max_size=3),
        max_size=6,
    )
)
def test_every_key_of_any_table_is_found_on_its_own_line(values: dict[str, object]) -> None:
    text = "".join(f"{quoted(key)} = {toml_text(value, {})}\n" for key, value in values.items())
    lines = Lines(text)
    for number, key in enumerate(tomllib.loads(text), 1):
        assert lines.of(key) == number


# --- plans there and back -------------------------------------------------------------------------


def test_every_preset_is_a_plan_and_fits_the_published_schema() -> None:
    for name in (*presets(), *published_presets()):
        parse_plan(preset_text(name), name)
        jsonschema.validate(tomllib.loads(preset_text(name)), plan_schema())


def test_the_schema_shows_defaults_as_a_plan_writes_them() -> None:
    window = plan_schema()["$defs"]["Ladder"]["properties"]["window"]
    jsonschema.validate(window["default"], window)


def test_every_key_of_the_plan_says_what_it_is() -> None:
    assert [key.name for table in tables() for key in table.keys if not key.description] == []
    assert [table.path for table in tables() if not table.description] == []


def test_the_server_preset_has_8_to_1024_users_over_50_gb_and_whole_checkpoint_cycles() -> None:
    plan = parse_plan(preset_text("server"))
    assert plan.ladder.users == (8, 1024)
    assert plan.workload.warehouses >= 500
    assert plan.ladder.checkpoints >= 2
    assert not plan.ladder.quick


def test_a_preset_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    with pytest.raises(
        PlanError, match="cloud, emulated, memory, quick, running, scan, server, simulated"
    ):
        preset_text("laptop")


@pytest.mark.parametrize("name", [*presets(), *published_presets()])
def test_a_plan_written_as_toml_is_read_back_the_same(name: str) -> None:
    plan = parse_plan(preset_text(name))
    assert parse_plan(to_toml(plan)) == plan


def test_a_plan_goes_to_json_with_all_its_defaults_and_comes_back() -> None:
    plan = parse_plan(preset_text("server"))
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


PLAIN = st.characters(exclude_categories=["Cc", "Cf", "Cn", "Cs", "Zl", "Zp"])


@given(st.text(PLAIN, max_size=20), st.text(PLAIN, min_size=1, max_size=20))
def test_any_text_and_any_name_survive_writing_and_reading(question: str, storage: str) -> None:
    plan = Plan.model_validate({"question": question, "storages": {storage: {"path": "."}}})
    assert parse_plan(to_toml(plan)) == plan


@given(st.integers(1, 10**6), st.sampled_from(sorted(TIME)))
def test_a_time_is_written_so_that_reading_it_gives_it_back(number: int, unit: str) -> None:
    value_s = parse_time(f"{number}{unit}")
    assert parse_time(time_text(value_s)) == pytest.approx(value_s, rel=1e-12)


# --- what is made of a plan -----------------------------------------------------------------------


@given(st.lists(st.text(PLAIN, max_size=60), min_size=1, max_size=8, unique=True))
def test_configuration_ids_are_different_and_fit_for_file_names(names: list[str]) -> None:
    plan = Plan.model_validate({"storages": {name: {"path": "."} for name in names}})
    ids = [configuration.id for configuration in configurations(plan)]
    assert len(set(ids)) == len(names)
    assert all(
        id and len(id) <= 44 and set(id) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
        for id in ids
    )


def test_the_baseline_is_measured_first() -> None:
    plan = parse_plan('baseline = "b"\n[storages]\na = { path = "a" }\nb = { path = "b" }\n')
    assert [configuration.storage for configuration in configurations(plan)] == ["b", "a"]


def test_the_default_plan_compares_this_directory_with_memory_and_can_be_written_and_read(
    tmp_path: Path,
) -> None:
    plan = sized_plan(tmp_path, 20, memory=tmp_path)
    assert list(plan.storages) == ["disk", "memory"]
    assert plan.base == "disk"
    assert plan.ladder.quick
    assert parse_plan(to_toml(plan)) == plan


def test_the_default_plan_takes_no_more_than_a_quarter_of_the_memory() -> None:
    assert fitting_warehouses(2, 2 << 30, PLENTY) <= 5


def test_the_default_plan_says_what_is_too_small_for_it(tmp_path: Path) -> None:
    for scarce, words in (
        (PLENTY._replace(memory_bytes=1 << 30), "1 GiB memory available"),
        (PLENTY._replace(tmpfs_bytes=64 << 20), "64 MiB free in the tmpfs"),
        (PLENTY._replace(disk_bytes=0), "0 B free on the disk"),
    ):
        with pytest.raises(PlanError, match=f"the machine is too small.*{words}") as caught:
            fitting_warehouses(2, 24 << 30, scarce)
        assert "plan preset quick" in caught.value.do
    with pytest.raises(PlanError, match="a quarter of the memory is 16 MiB"):
        fitting_warehouses(2, 64 << 20, PLENTY)
    with pytest.raises(PlanError, match="No such file"):
        default_plan(SMALL, tmp_path, memory=tmp_path / "absent")


def test_the_default_plan_is_expected_to_end_within_twelve_minutes_on_two_cores(
    tmp_path: Path,
) -> None:
    default = sized_plan(tmp_path, fitting_warehouses(2, 24 << 30, PLENTY))
    assert 120 < expected(Study(default).databases, SMALL).total_s < 720


def test_a_fixed_load_is_one_rung_and_longer_windows_take_longer() -> None:
    fixed = parse_plan("ladder.users = 601\n" + DISK)
    assert rungs(fixed.ladder, 32) == 1
    longer = parse_plan('ladder.window = "2min"\n' + DISK)
    longer_s, shorter_s = (
        expected(Study(one).databases, SMALL).total_s for one in (longer, parse_plan(DISK))
    )
    assert longer_s > shorter_s


def test_the_candidates_of_a_usual_climb_are_counted_with_their_short_warm_up() -> None:
    plan = parse_plan(f"ladder.users = [2, 64]\nladder.step = 2\n{DISK}")
    search = 1 + 3 + 1 + 2 + 2 + 1  # warm-up, from 2 to 10 users, flat steps, narrowing, drift
    assert rungs(plan.ladder, 2) == search + 4
    one = steps(Study(plan).only_database, Study(plan).configurations[0], SMALL)
    automatic_s = 0.45 * plan.ladder.warm_up_limit
    warm_ups_s = (search - 1) * automatic_s + 4 * 10.0
    assert (one.rungs - 1) * one.rung_s == pytest.approx(warm_ups_s + (search + 3) * (30 + 1))


def test_load_levels_are_counted_by_check_and_one_more_restore_with_them() -> None:
    texts = [f"ladder.load_levels = {levels}\n{DISK}" for levels in ("false", "true", "[50]")]
    off, on, half = map(parse_plan, texts)
    assert [one.ladder.levels for one in (off, on, half)] == [(), (25, 50, 75, 90), (50,)]
    parts_off, parts_on, parts_half = (
        expected(Study(one).databases, SMALL) for one in (off, on, half)
    )
    assert parts_on.final_runs - parts_off.final_runs == 4
    assert parts_half.final_runs - parts_off.final_runs == 1
    window_s = on.ladder.final_window
    assert parts_on.final_runs_s - parts_off.final_runs_s > 4 * window_s
    assert on.most_restores == off.most_restores + 1
    none = parse_plan(f"ladder.fixed_rate_share = 0\nladder.users = 8\n{texts[1]}").ladder
    assert (none.most_users, none.with_fewer_users(8)) == (64, "ladder.load_levels to false")
    with pytest.raises(PlanFaults, match="each percentage once, the smallest first"):
        parse_plan(f"ladder.load_levels = [50, 25]\n{DISK}")


def test_aligned_windows_are_expected_to_wait_for_the_fastest_configuration() -> None:
    ladder = "ladder = { users = 8, repeats = 3, checkpoints = 0, fixed_rate_share = 0 }\n"
    both = ladder + '[storages]\na = { path = "." }\nb = { path = ".." }\n'
    climbing = both.replace("users = 8", "users = [8, 64]")
    alone = ladder + '[storages]\na = { path = "." }\n'
    aligned_s, other_s, alone_s = (
        expected(Study(parse_plan(text)).databases, SMALL).final_runs_s
        for text in (both, climbing, alone)
    )
    assert alone_s < aligned_s / 2
    waits_s = (2 - 0.45) * parse_plan(both).ladder.cold_warm_up_limit
    assert aligned_s - other_s == pytest.approx(6 * waits_s)


def test_a_plan_cannot_say_where_the_servers_files_lie_or_where_it_listens() -> None:
    for name in ("data_directory", "Listen_Addresses", "port", "hba_file", "stats_temp_directory"):
        with pytest.raises(PlanFaults, match=name):
            parse_plan(f'database.settings.{name} = "x"\nstorages.disk.path = "."')


@pytest.mark.parametrize(
    "setting",
    [
        *('general_log_fil = "x"', 'pid-f = "x"', "skip-grant-tabl = true", 'bind-addr = "::"'),
        *("disable_skip_networking = true", "loose-skip_skip-networking = 1", "skip_ = 1"),
        *('log_bin = "/srv/theirs"', 'log-bin = "../theirs"', 'log_tc = "~/x"', 'dbug = "o,/x"'),
    ],
)
def test_no_spelling_of_a_mariadb_setting_is_a_path_or_opens_the_server(setting: str) -> None:
    with pytest.raises(PlanFaults, match="kneebench sets the paths and the address"):
        parse_plan(f'database.engine = "mariadb"\ndatabase.settings.{setting}\n{DISK}')


@pytest.mark.parametrize(
    "setting",
    [
        *("log_bin = true", 'log_bin = "binary"', "skip-log-bin = true", "general-log = true"),
        *('default_time_zone = "Europe/Berlin"', 'lc_messages = "en_US"', "slow_query_log = 1"),
        *('performance_schema_instrument = "wait/io/%=ON"', "skip-name-resolve = true"),
    ],
)
def test_a_mariadb_setting_with_a_similar_name_or_value_is_taken(setting: str) -> None:
    assert parse_plan(f'database.engine = "mariadb"\ndatabase.settings.{setting}\n{DISK}')


def test_a_byte_order_mark_is_passed_over_and_endless_nesting_is_told(tmp_path: Path) -> None:
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbf" + b'storages.disk.path = "."')
    assert read_plan(tmp_path / "bom.toml").storages["disk"].path == Path()
    with pytest.raises(PlanError, match="nested too deeply"):
        parse_plan("a = " + 5_000 * "[")


def test_every_directory_of_a_storage_has_its_role_in_the_servers_order() -> None:
    storage = Storage.model_validate({"path": "a", "temporary_path": "t"})
    assert list(storage.paths_by_role) == ["data", "temporary files"]
    assert storage.paths == tuple(storage.paths_by_role.values())
    drive = {"drives": ["/dev/sdx"]}
    made = Storage.model_validate({**drive, "temporary": {"drives": ["/dev/sdy"]}})
    assert [ROLES[key].holds for key in made.volumes_by_path] == ["data", "temporary files"]
