"""Plans of several databases: configurations, errors, and whole campaigns on two simulated
databases.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kneebench import load, run
from kneebench.analysis.comparison import compare
from kneebench.analysis.databases import MEANING, database_rows
from kneebench.analysis.headline import headline, subtitle
from kneebench.analysis.sweep import sweeps
from kneebench.analysis.sweep_rows import sweep_rows
from kneebench.brief import Brief
from kneebench.campaign.expected_duration import configuration_findings, expected_duration
from kneebench.campaign.preflight import preflight_checks, shelves
from kneebench.databases.several import engine_of, together
from kneebench.errors import PlanError
from kneebench.lab.host import host
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations, running_order
from kneebench.plan.faults import PlanFaults
from kneebench.plan.noise import same_twice
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from kneebench.plan.writer import to_toml
from kneebench.records import Event, Finding, Results
from kneebench.results import compare_campaigns
from kneebench.results.acceptance import judgeable
from kneebench.results.campaign_folders import measured_by_another
from kneebench.results.compare_plans import compare_plans
from kneebench.screen.summary import printed, results_json
from tests.recordings import resolve_document, section
from tests.terminal import drawn

SLOW = {
    "cores": 4,
    "cpu_per_transaction": "1ms",
    "read_latency": "800us",
    "warm_after": 200,
    "checkpoint_every": "0s",
}
FAST = {**SLOW, "read_latency": "100us"}
LEAN = {"engine": "simulated"}
HEAVY = {"engine": "simulated", "settings": {"cpu_per_transaction": "2ms"}}
LADDER = {
    "users": 8,
    "warm_up": "2s",
    "window": "10s",
    "final_window": "20s",
    "checkpoints": 0,
    "repeats": 3,
}


QUICK = {**LADDER, "window": "4s", "final_window": "4s", "repeats": 2, "fixed_rate_share": 0}
"""For campaigns of which only the order and the number of rungs matter."""


def plan(**changes: Any) -> Plan:
    """Two drives, two models of a database: the second needs twice the CPU per transaction."""
    fields: dict[str, Any] = {
        "databases": {"lean": LEAN, "heavy": HEAVY},
        "workload": {"warehouses": 100},
        "ladder": LADDER,
        "storages": {"slow": {"simulated": SLOW}, "fast": {"simulated": FAST}},
    }
    return Plan.model_validate({**fields, **changes})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(plan(), tmp_path_factory.mktemp("several"))


@pytest.fixture(scope="module")
def one_storage(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Short rounds, servers side by side."""
    ladder = {**LADDER, "rounds": "short", "final_window": "2s", "repeats": [4, 6]}
    storages = {"disk": {"simulated": FAST}}
    return run(plan(storages=storages, ladder=ladder), tmp_path_factory.mktemp("one"))


# --- the plan -------------------------------------------------------------------------------------

TWO = """
[databases.lean]
engine = "simulated"
[databases.heavy]
engine = "simulated"
{}
[storages]
slow.simulated.cores = 4
"""


def test_each_storage_is_measured_with_each_database_under_each_constraint() -> None:
    crossed = configurations(plan(constraints={"cores": [1, 2]}))
    assert [configuration.name for configuration in crossed[:4]] == [
        "slow, lean (1 core)",
        "slow, lean (2 cores)",
        "slow, heavy (1 core)",
        "slow, heavy (2 cores)",
    ]
    assert crossed[0].id == "slow-lean-1-core"
    assert [configuration.id.removesuffix("s") for configuration in running_order(crossed)] == [
        *("slow-lean-1-core", "slow-heavy-1-core", "fast-lean-1-core", "fast-heavy-1-core"),
        *("fast-heavy-2-core", "fast-lean-2-core", "slow-heavy-2-core", "slow-lean-2-core"),
    ]


def test_check_prints_the_configurations_of_all_databases_with_what_each_needs() -> None:
    several = plan()
    journal = Journal()
    found = preflight_checks(Study(several), engine_of(Study(several).databases, journal), journal)
    subjects = [one.subject for one in found]
    assert "configuration 4 of 4" in subjects
    assert subjects.count("storage slow") == 1, "what is the same for all is said once"
    alone = plan(databases={}, database=LEAN)
    databases, parts = Study(alone).databases, expected_duration(Study(alone), host())
    assert not list(configuration_findings(configurations(alone), databases, parts)), (
        "one database without constraints: as before"
    )


def test_each_database_has_its_configurations_and_the_plan_reads_back_as_written() -> None:
    several = plan()
    light, heavy = Study(several).databases.values()
    assert (light.database.settings, heavy.database.settings) == ({}, HEAVY["settings"])
    assert {*light.configurations, *heavy.configurations} == {*configurations(several)}
    assert not {*light.configurations} & {*heavy.configurations}
    assert parse_plan(to_toml(several)) == several
    document = Study(several).document
    assert Study(Plan.model_validate(document)).document == document
    assert "database" not in document
    assert "databases" not in Study(plan(databases={}, database=LEAN)).document


@pytest.mark.parametrize(
    ("text", "line", "key", "allowed"),
    [
        (
            "[database]\n" + TWO.format(""),
            1,
            "database",
            "either [database] for one database, or [databases",
        ),
        (TWO.replace('"simulated"\n{}', '"postgres"'), 5, "databases.heavy.engine", "models only"),
        (TWO.replace('"simulated"\n{}', '"nosuch"'), 5, "databases.heavy.engine", "one of: "),
        (TWO.format("coresx = 1"), 6, "databases.heavy.coresx", "one of: engine, settings"),
        (TWO.format("settings.nosuch = 1"), 6, "databases.heavy.settings.nosuch", "a figure of"),
        (TWO.format('settings.cores = "x"'), 6, "databases.heavy.settings.cores", "a value as"),
        (TWO.format("cores = [0]"), 6, "databases.heavy.cores", "one of: engine, settings"),
        (TWO.replace("heavy", '""').format(""), 4, 'databases.""', "a name"),
        (
            "[databases]\na = {}\nb = {}\n[storages]\ndisk.url = 'postgresql://me@db/x'\n",
            5,
            "storages.disk.url",
            "no value together with [databases]",
        ),
        (
            "[databases]\na = {}\nb.restore = 'template'\n[storages]\ndisk.path = '.'\n",
            3,
            "databases.b.restore",
            '"copy" or "clone"',
        ),
        (
            "[databases]\na.url = 'postgresql://me@db/x'\nb.url = 'postgresql://me@db/y'\n"
            "[ladder]\nrounds = 'short'\ncheckpoints = 0\nrepeats = 4\n",
            5,
            "ladder.rounds",
            '"long": storages on one external server',
        ),
        (
            "[databases]\na = {}\nb = {}\n"
            "[ladder]\nrounds = 'short'\ncheckpoints = 0\nrepeats = 4\n"
            "[storages]\ndisk.drives = ['nvme0n1']\n",
            5,
            "ladder.rounds",
            '"long": two configurations on the same drives',
        ),
        ("databases = 3\nstorages.disk.path = '.'\n", 1, "databases", "table of values"),
    ],
)
def test_an_error_of_several_databases_names_its_line_and_key(
    text: str, line: int, key: str, allowed: str
) -> None:
    with pytest.raises(PlanFaults) as error:
        parse_plan(text, shelves=shelves())
    fault = error.value.faults[0]
    assert (fault.line, fault.key) == (line, key)
    assert fault.allowed.startswith(allowed)


def test_servers_by_url_need_no_storages_and_noise_is_measured_with_one_database() -> None:
    urls = {"a": {"url": "postgresql://me@db1/x"}, "b": {"url": "postgresql://me@db2/x"}}
    assert [
        configuration.name
        for configuration in configurations(Plan.model_validate({"databases": urls}))
    ] == [
        "server, a",
        "server, b",
    ]
    with pytest.raises(PlanError, match=r"several databases \(lean, heavy\)"):
        same_twice(Study(plan()))


# --- findings -------------------------------------------------------------------------------------


def test_what_all_databases_say_is_said_once_and_the_rest_of_its_database() -> None:
    same, own = (Finding(level="ok", subject=word, seen="x") for word in ("machine", "account"))
    found = together({"a": [same, own], "b": [same]})
    assert [one.subject for one in found] == ["machine", "a: account"]
    assert together({"": [same, same]}) == (same, same)


def test_databases_side_by_side_need_space_together(own_place: Path) -> None:
    """Each fits alone: only together they do not."""
    size = f"{int(0.6 * shutil.disk_usage(own_place).free) >> 20}MB"
    own = {"settings": {"max_wal_size": size}}
    fields = {
        "workload": {"warehouses": 1},
        "ladder": {"rounds": "short", "repeats": 4, "checkpoints": 0},
        "storages": {"disk": {"path": str(own_place)}},
    }

    def errors(**databases: Any) -> list[str]:
        made = Plan.model_validate({**fields, **databases})
        found = engine_of(Study(made).databases, Journal()).findings()
        return [one.seen for one in found if one.level == "error"]

    assert errors(database=own) == []
    [seen] = errors(databases={"a": own, "b": {**own, "page_cache": "warm"}})
    assert seen.endswith("needed by all databases side by side")


# --- a campaign -----------------------------------------------------------------------------------


def test_storages_are_compared_within_one_database_only(results: Results) -> None:
    configuration = {climb.id: climb.configuration for climb in results.climbs}
    found = compare(results)
    assert {
        (configuration[one.configuration].name, configuration[one.baseline].name) for one in found
    } == {
        ("fast, lean", "slow, lean"),
        ("fast, heavy", "slow, heavy"),
    }
    nopm = {one.configuration: one for one in found if one.quantity == "nopm"}
    assert nopm["fast-lean"].ratio.value > nopm["fast-heavy"].ratio.value > 1
    assert nopm["fast-lean"].sentence.startswith("Fast, lean: ")
    assert "slow's NOPM at 8 users" in nopm["fast-lean"].sentence


def test_databases_are_compared_on_the_same_storage_with_all_that_a_transaction_costs(
    results: Results,
) -> None:
    rows = database_rows(results)
    assert [(row.place, row.database) for row in rows] == [
        ("slow", "lean"),
        ("slow", "heavy"),
        ("fast", "lean"),
        ("fast", "heavy"),
    ]
    first, other = rows[2:]
    assert not first.against and other.engine == "simulated"
    cpu = other.against["server.cpu_per_transaction"]
    assert cpu.ratio.value == pytest.approx(2, rel=0.05) and cpu.differs
    reads = other.against["device.read_bytes_per_transaction"]
    assert not reads.differs, "the same transactions read the same"
    nopm = other.against["nopm"]
    assert nopm.ratio.high < 1 and nopm.sentence.startswith("Fast, heavy: ")
    assert "lean's NOPM at 8 users" in nopm.sentence
    assert {"log.write_latency", "latency.mean", "latency.p999"} <= {*other.figures}


def test_the_final_runs_take_turns_there_and_back_across_databases(results: Results) -> None:
    runs = sorted(
        (rung for climb in results.climbs for rung in climb.of("final_run")),
        key=lambda rung: (rung.order.repeat, rung.started_at),
    )
    order = [rung.order.configuration for rung in runs]
    assert {*order[:4]} == {"slow-lean", "slow-heavy", "fast-lean", "fast-heavy"}
    assert results.campaign.settings["slow-heavy"] != results.campaign.settings["slow-lean"]
    assert load(results.folder or "") == results


def test_the_page_the_terminal_and_the_json_say_what_a_difference_can_mean(
    results: Results,
) -> None:
    text = " ".join(drawn(*printed(results)).split())
    document = results_json(results)["databases"]
    made = section(Brief(results), "databases")
    assert all(sentence in text for sentence in MEANING)
    assert document["meaning"] == [*MEANING] and len(document["rows"]) == 4
    assert made.sentences == MEANING
    engines, slow, fast = made.tables
    assert engines.rows[1].cells == ("heavy", "Simulated", "cpu_per_transaction = 2ms")
    assert [column.title for column in slow.columns] == ["On slow", "lean", "heavy", "Vs. lean"]
    assert fast.columns[0].title == "On fast"
    assert len(slow.rows) == 9
    method = section(Brief(results), "method").sentences
    assert method[1].startswith("Databases: lean and heavy. Each storage was measured with each")
    whole = Brief(results).html()
    assert "Fig. 1a" in whole and "Fig. 1b" in whole


def test_the_title_and_the_cards_have_the_databases_and_the_storages(results: Results) -> None:
    title = headline(results)
    assert re.fullmatch(
        r"Simulated\. Heavy: 0\.\d\dx lean's NOPM on slow; fast vs\. slow 1\.\d\dx and 1\.\d\dx",
        title,
    ), title
    assert re.match(r"Slow, heavy: 0\.\d.* NOPM at 8 users\. lean: ", subtitle(results))
    cards = [one.says for one in section(Brief(results), "glance").numbers]
    assert [one.partition(", ")[2] for one in cards[:3]] == [
        "slow, heavy vs. slow, lean",
        "fast, lean vs. slow, lean",
        "fast, heavy vs. slow, heavy",
    ]


def test_the_title_of_one_storage_compares_its_databases(one_storage: Results) -> None:
    title = headline(one_storage)
    assert re.match(r"Simulated\. Heavy: (about )?0\.\d+x lean's NOPM on disk", title)
    ratio, *nopm = section(Brief(one_storage), "glance").numbers
    assert ratio.says == "NOPM at the fixed load, disk, heavy vs. disk, lean"
    assert [one.says.partition(",")[0] for one in nopm] == 2 * ["NOPM on disk"]
    [lean, heavy] = one_storage.climbs
    assert len(lean.of("final_run")) == len(heavy.of("final_run")) >= 4
    assert {rung.order.restore for rung in heavy.of("final_run")} >= {1}


def test_a_campaign_of_one_database_has_nothing_of_this(tmp_path: Path) -> None:
    alone = run(plan(databases={}, database=LEAN, ladder=QUICK), tmp_path)
    assert database_rows(alone) == () and results_json(alone)["databases"] is None
    assert "databases" not in [one.name for one in Brief(alone).sections]
    assert "Databases" not in drawn(*printed(alone))


class Killed(BaseException):
    """The campaign ends here."""


def test_a_campaign_that_was_stopped_is_resumed_with_the_same_figures(tmp_path: Path) -> None:
    measured: list[str] = []

    def stopper(event: Event) -> None:
        if event.kind == "rung" and not event.data["kept"]:
            measured.append(event.doing)
            if len(measured) in (3, 8):
                raise Killed

    quick = plan(ladder=QUICK)
    for _ in range(2):
        with pytest.raises(Killed):
            run(quick, tmp_path / "stopped", watch=stopper)
    again = run(quick, tmp_path / "stopped", watch=stopper)
    assert len([*tmp_path.glob("stopped/*/campaign.json")]) == 1
    for one, other in zip(run(quick, tmp_path).climbs, again.climbs, strict=True):
        assert [rung.tally for rung in one.of("final_run")] == [
            rung.tally for rung in other.of("final_run")
        ]


def test_a_database_that_is_added_to_the_plan_joins_the_campaign(tmp_path: Path) -> None:
    def several(**databases: Any) -> Plan:
        return plan(databases=databases, storages={"disk": {"simulated": FAST}}, ladder=QUICK)

    first = run(several(lean=LEAN, heavy=HEAVY), tmp_path)
    measured: list[str] = []

    def watch(event: Event) -> None:
        if event.kind == "rung" and not event.data["kept"]:
            measured.append(event.data["rung"].order.configuration)

    third = {"engine": "simulated", "settings": {"log_latency": "5ms"}}
    joined = run(several(lean=LEAN, heavy=HEAVY, late=third), tmp_path, watch=watch)
    assert joined.folder == first.folder
    assert {*measured} == {*joined.campaign.joined} == {"disk-late"}
    other = run(several(lean=LEAN, heavy=LEAN), tmp_path)
    assert other.folder != first.folder, "a database of other settings is another one"


def test_sweeps_are_of_one_database_each_and_every_knee_is_proved(tmp_path: Path) -> None:
    constraints = {"small": {"cores": 1}, "large": {"cores": 2}}
    storages = {"disk": {"simulated": FAST}}
    swept = run(
        plan(constraints=constraints, storages=storages, ladder=QUICK),
        tmp_path,
        reliefs=["more warehouses"],
    )
    assert [one.name for one in sweeps(swept)] == ["disk, lean", "disk, heavy"]
    assert [(row.storage, row.database) for row in sweep_rows(swept)][::2] == [
        ("disk", "lean"),
        ("disk", "heavy"),
    ]
    assert {*swept.campaign.proofs} == {climb.id for climb in swept.climbs}
    assert all(proof.relieved for proof in swept.campaign.proofs.values())
    assert headline(swept).startswith("Simulated. Disk, lean")


# --- two campaigns --------------------------------------------------------------------------------


def with_databases(results: Results, **changes: Any) -> Results:
    document = {**results.campaign.plan, **changes}
    document = {name: table for name, table in document.items() if table}
    campaign = results.campaign.model_copy(
        update={"plan": document, "resolved": resolve_document(document), "id": "other"}
    )
    return results.model_copy(update={"campaign": campaign})


def test_campaigns_of_different_engines_are_not_compared_as_storages(results: Results) -> None:
    one = {"engine": "postgres"}
    theirs = with_databases(results, databases=None, database=one)
    ours = with_databases(results, databases=None, database=LEAN)
    with pytest.raises(PlanError) as error:
        compare_campaigns([ours, theirs])
    assert error.value.exit_code == 2
    assert "the first was measured with simulated, the second with postgres" in error.value.seen
    assert "no difference between storages" in error.value.seen
    assert "[databases]" in error.value.do
    with pytest.raises(PlanError, match="no difference between storages"):
        judgeable(Study(plan()), theirs)


def test_two_campaigns_of_several_databases_are_compared_by_database(results: Results) -> None:
    rows = compare_campaigns([results, with_databases(results)])
    assert [row.name for row in rows[:4]] == [climb.configuration.name for climb in results.climbs]
    bases = {row.name: row.against.baseline.split("/")[1] for row in rows[4:] if row.against}
    assert bases == {
        "slow, lean": "slow-lean",
        "slow, heavy": "slow-heavy",
        "fast, lean": "slow-lean",
        "fast, heavy": "slow-heavy",
    }


def test_the_fields_of_a_database_that_matter_are_those_of_the_only_one() -> None:
    other = {**HEAVY, "settings": {"cpu_per_transaction": "3ms"}}
    assert compare_plans(
        Study(plan()).document, Study(plan(databases={"lean": LEAN, "heavy": other})).document
    ) == ["databases.heavy.settings.cpu_per_transaction"]


def test_a_base_image_that_changed_is_named_with_its_database(results: Results) -> None:
    kept = {"lean: key": "1", "heavy: key": "2"}
    campaign = results.campaign.model_copy(update={"base_image": kept})
    version = campaign.kneebench
    changed = {**kept, "heavy: key": "3", "late: key": "4"}
    assert measured_by_another(campaign, version, kept) == ""
    seen = measured_by_another(campaign, version, changed)
    assert seen == "base image of heavy changed: 2, now 3"
    assert campaign.image_of("heavy") == {"key": "2"}
