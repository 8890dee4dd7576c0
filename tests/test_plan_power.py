"""The table `[power]` of a plan: written and read again, in JSON and in TOML, and its schema."""

from __future__ import annotations

import jsonschema
import pytest

from kneebench.plan import Plan
from kneebench.plan.faults import PlanFaults
from kneebench.plan.json_schema import plan_schema
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study
from kneebench.plan.writer import to_bare_toml, to_toml

PLAN = """
[storages.disk]
path = "."
[power]
headline = "both"
idle = "90s"
sums = { both = ["psu1", "psu2"] }
meters = [
  { name = "psu1", type = "redfish", address = "https://bmc1", accuracy = "2%", every = "500ms" },
  { name = "psu2", type = "redfish", address = "https://bmc2", covers = ["db1", "shelf"] },
  { name = "pdu", type = "snmp", address = "192.0.2.7", pdu = "apc-outlet", outlet = [3, 4] },
  { name = "cpu", type = "rapl", most = "1.2kW" },
  { name = "meter", type = "command", scope = "drive", command = ["watts", "-v"], unit = "J" },
]
[ladder.stops.power]
limit = "450W"
"""


@pytest.fixture
def plan() -> Plan:
    return parse_plan(PLAN)


def test_power_is_read_with_its_units(plan: Plan) -> None:
    first, _, pdu, cpu, meter = plan.power.meters
    assert (first.accuracy, first.every, first.measures) == (0.02, 0.5, "wall")
    assert (cpu.most, cpu.measures, cpu.on_database_host) == (1200.0, "cpu", True)
    assert (pdu.on_database_host, meter.measures) == (False, "drive")
    assert plan.power.leading == "both"
    assert plan.power.at_rest_s == 5 + 90 + 30
    assert plan.ladder.stops.power.limit == 450.0


def test_a_time_of_a_meter_needs_a_unit_as_every_time_does() -> None:
    with pytest.raises(PlanFaults, match=r"meters\.0\.every\n +found: +0\.5"):
        parse_plan(PLAN.replace('every = "500ms"', "every = 0.5"))


def test_a_plan_with_power_is_the_same_after_json_and_toml(plan: Plan) -> None:
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
    assert parse_plan(to_toml(plan)) == plan
    assert parse_plan(to_bare_toml(Study(plan), defaults=False)) == plan
    assert parse_plan(to_bare_toml(Study(plan), defaults=True)) == plan


def test_the_schema_takes_what_the_reader_takes() -> None:
    import tomllib

    jsonschema.validate(tomllib.loads(PLAN), plan_schema())
    wrong = tomllib.loads(PLAN.replace('"apc-outlet"', "7"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, plan_schema())


def test_a_meter_of_the_whole_server_leads_where_it_is_the_only_one() -> None:
    meters = '{ name = "bmc", type = "ipmi" }, { name = "cpu", type = "rapl" }'
    one = parse_plan(f'storages.a.path = "."\n[power]\nmeters = [{meters}]\n')
    assert one.power.leading == "bmc"
    more = f'{meters}, {{ name = "pdu", type = "snmp", address = "x", oid = ["1.3.6.1"] }}'
    two = parse_plan(f'storages.a.path = "."\n[power]\nmeters = [{more}]\n')
    assert two.power.leading == ""
