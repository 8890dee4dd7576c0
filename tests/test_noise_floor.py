"""The noise floor of a machine: simulated A/A pairs claim nothing; what is kept and used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kneebench.analysis.comparison import compare
from kneebench.analysis.noise_floor import (
    NoisePair,
    NoiseRatio,
    floor,
    largest,
    noise_floor_of,
    noise_pair,
)
from kneebench.analysis.quantity_ratio import NOPM
from kneebench.lab.host import host, machine_key
from kneebench.plan import Plan
from kneebench.plan.noise import of_pair, same_twice
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study
from kneebench.records import (
    Campaign,
    Climb,
    Configuration,
    Estimate,
    Host,
    NoiseFloor,
    Order,
    ResolvedPlan,
    Results,
)
from kneebench.results.noise_pairs import (
    NEWEST,
    KeptPair,
    folder_of,
    forget,
    keep,
    kind_of,
    noise_pairs,
)
from kneebench.results.store import Store
from tests.curves import latency, rung
from tests.noise_simulated import CASES, Case, aa_pair, claimed
from tests.rounds_simulated import Noise, nopm_by_round

MACHINE = Host(cpu="a CPU", cores=2, memory_bytes=2**34, kernel="6", system="Linux")
ROUNDS, EVERY, PER_S, RATE_PER_S = 10, 4, 1000.0, 500.0


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory without any pairs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def climb(name: str, throughput: list[float], times: list[float]) -> Climb:
    """Short rounds of one name at 8 users: throughput, and latency at the fixed rate, by round."""
    at_load = Order(configuration=name, phase="fixed_load", users=8)
    rungs = [rung(at_load, PER_S)]
    for repeat, (factor, time) in enumerate(zip(throughput, times, strict=True), start=1):
        restore = 1 + (repeat - 1) // EVERY
        order = Order(
            configuration=name, phase="final_run", users=8, repeat=repeat, restore=restore
        )
        rungs.append(rung(order, PER_S * factor, log__write_latency=0.001 * time))
        if repeat % 4 in (1, 3):
            fixed = {"phase": "fixed_rate", "rate_per_s": RATE_PER_S}
            slow = latency(0.004 * time)
            rungs.append(rung(order.model_copy(update=fixed), RATE_PER_S, tail=slow))
    configuration = Configuration(id=name, storage=name)
    return Climb(configuration=configuration, rungs=tuple(rungs), knee_users=8, bracket=(8, 8))


def aa_results(noise: Noise, seed: int) -> Results:
    """A campaign that measured one storage under two names."""
    rng = np.random.default_rng((seed, ROUNDS))
    nopm, times = (nopm_by_round(noise, EVERY, ROUNDS, rng).tolist() for _ in range(2))
    a, b = (climb(name, *values) for name, *values in zip("ab", nopm, times, strict=True))
    head = Campaign(
        id=f"pair-{seed}",
        kneebench="0",
        started_at=f"2026-01-01T00:{seed // 60:02d}:{seed % 60:02d}+00:00",
        plan={"baseline": "a"},
        resolved=ResolvedPlan(baseline="a"),
        host=MACHINE,
        simulated=False,
    )
    return Results(campaign=head, climbs=(a, b), finished=True)


def with_floor(results: Results, known: NoiseFloor | None) -> Results:
    """The same as it is read where the machine's floor was known."""
    climbs = (one.model_copy(update={"noise_floor": known}) for one in results.climbs)
    return results.model_copy(update={"climbs": tuple(climbs)})


def plan(**ladder: object) -> Plan:
    return Plan.model_validate(
        {
            "database": {"engine": "simulated"},
            "storages": {"disk": {"simulated": {}}, "other": {"simulated": {}}},
            "ladder": {"users": 8, "rounds": "short", "checkpoints": 0, "repeats": 10, **ladder},
        }
    )


# --- the rule -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "noise",
    [Noise("independent", 0.03), Noise("autocorrelated", 0.03, autocorrelation=0.5)],
    ids=lambda noise: noise.called,
)
def test_of_100_simulated_pairs_at_most_5_claim_any_difference(noise: Noise) -> None:
    before = [noise_pair(aa_results(noise, 1000 + seed)) for seed in range(3)]
    known = noise_floor_of(before)
    pairs = [aa_results(noise, seed) for seed in range(100)]
    without, with_it = (
        sum(any(one.differs for one in compare(with_floor(pair, share))) for pair in pairs)
        for share in (None, known)
    )
    assert with_it <= without
    assert with_it <= 5


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.called)
def test_a_floor_from_three_pairs_leaves_few_false_claims(case: Case) -> None:
    assert claimed(case, pairs=3, count=40) <= 0.125  # of 40, more than 5 is 1.4% at 5%


def test_a_difference_between_names_that_no_interval_shows_is_found_by_the_pairs() -> None:
    hidden = Case("names differ", Noise("", 0.005), between=0.05)
    assert claimed(hidden, pairs=0, count=40) > 0.3
    assert floor([aa_pair(hidden, seed) for seed in range(10)]) > 0.06


def pair(value: float, error: float = 0.01, seed: int = 1) -> NoisePair:
    ratio = Estimate(value=value, low=value / 1.2, high=value * 1.2, n=10)
    ratios = {"nopm": NoiseRatio(ratio=ratio, error=error)}
    return NoisePair(campaign="x", measured_at=f"2026-01-0{seed}T00:00:00+00:00", ratios=ratios)


def test_one_pair_gives_twice_its_standard_error_or_what_it_saw() -> None:
    assert noise_floor_of([pair(1.01, 0.03)]).shares["nopm"] == pytest.approx(0.062, abs=0.001)
    assert noise_floor_of([pair(0.9, 0.03)]).shares["nopm"] == pytest.approx(0.111, abs=0.001)
    assert noise_floor_of([pair(1.0, 0.0)]).shares["nopm"] == 0.02


def test_the_largest_floor_of_each_quantity_counts() -> None:
    one = NoiseFloor(shares={"nopm": 0.03, "latency.mean": 0.10}, pairs=3, measured_at="2026-01-02")
    other = NoiseFloor(shares={"nopm": 0.05}, pairs=1, measured_at="2026-01-01")
    assert largest([one, other]) == NoiseFloor(
        shares={"nopm": 0.05, "latency.mean": 0.10}, pairs=4, measured_at="2026-01-02"
    )
    assert largest([]) is None


def test_a_pair_has_the_ratio_of_every_quantity_and_what_was_claimed() -> None:
    found = noise_pair(aa_results(Noise("", 0.01), 1))
    assert set(found.ratios) == {
        "nopm",
        "latency.knee",
        "latency.mean",
        "latency.p999",
        "log.write_latency",
    }
    assert 0 < found.ratios["nopm"].error < 0.01
    assert found.claimed == ()


# --- the claim ------------------------------------------------------------------------------------


def test_a_difference_below_the_machine_s_floor_is_not_claimed_and_the_sentence_says_why() -> None:
    clear = aa_results(Noise("", 0.002), 1)
    faster = [1.06 * one.tally.throughput_per_s / PER_S for one in clear.climbs[0].of("final_run")]
    b = climb("b", faster, [1.0] * ROUNDS)
    results = clear.model_copy(update={"climbs": (clear.climbs[0], b)})
    nopm = compare(results)[0]
    assert nopm.differs
    assert nopm.noise_floor == 0.02
    for share, differs in ((0.08, False), (0.04, True)):
        known = NoiseFloor(shares={NOPM.name: share}, pairs=3, measured_at="2026-01-01")
        nopm = compare(with_floor(results, known))[0]
        assert (nopm.differs, nopm.noise_floor) == (differs, share)
        assert ("within the machine's noise floor of 8%" in nopm.sentence) == (not differs)


def test_a_campaign_keeps_the_floor_that_was_known_when_it_was_measured(tmp_path: Path) -> None:
    known = NoiseFloor(shares={NOPM.name: 0.5}, pairs=3, measured_at="2026-01-01")
    with Store.create(tmp_path, Study(plan()), MACHINE) as store:
        store.put_known(known, None)
        results = store.finish()
    assert results.campaign.noise_floor == known
    assert [climb.noise_floor for climb in results.climbs] == [known, known]


# --- what is kept ---------------------------------------------------------------------------------


def kept(number: int, of: Plan, machine: Host = MACHINE) -> None:
    for seed in range(number):
        keep(machine, Study(of), aa_results(Noise("", 0.03), seed))


def test_pairs_of_one_plan_add_up_and_the_newest_count() -> None:
    once = plan()
    kept(NEWEST + 5, once)
    kept(1, once)
    ((what, pairs),) = noise_pairs(MACHINE).series()
    assert what == kind_of(Study(once))
    assert [one.campaign for one in pairs] == [f"pair-{n}" for n in range(5, NEWEST + 5)]
    found = noise_pairs(MACHINE).floor(Study(once))
    assert found is not None
    assert found.pairs == NEWEST


def test_a_floor_applies_to_its_engine_and_kind_of_rounds_only() -> None:
    kept(3, plan())
    known = noise_pairs(MACHINE)
    assert known.floor(Study(plan(users=[1, 64]))) is not None
    assert known.floor(Study(plan(rounds="long"))) is None
    assert known.floor(Study(Plan.model_validate({"storages": {"disk": {"path": "."}}}))) is None


def test_a_floor_on_emulated_drives_says_nothing_about_real_ones() -> None:
    emulated = Storage.model_validate({"drives": [{"emulated": "sata", "size": "1GiB"}]})
    on_emulated = plan().model_copy(update={"storages": {"new": emulated}})
    kept(3, on_emulated.model_copy(update={"baseline": "new"}))
    known = noise_pairs(MACHINE)
    assert known.floor(Study(on_emulated)) is not None
    assert known.floor(Study(plan())) is None


def test_a_floor_on_an_external_server_applies_to_that_server_only() -> None:
    def of(url: str) -> Plan:
        return Plan.model_validate({"database": {"url": f"postgresql://me@{url}"}})

    kept(3, of("db1:5432/x"))
    known = noise_pairs(MACHINE)
    assert known.floor(Study(of("db1:5432/y"))) is not None
    assert known.floor(Study(of("db2:5432/x"))) is None


def test_pairs_of_another_machine_are_not_used(state: Path) -> None:
    other = MACHINE.model_copy(update={"cores": 4})
    kept(3, plan(), other)
    assert noise_pairs(MACHINE).kept == ()
    assert noise_pairs(MACHINE.model_copy(update={"kernel": "7"})).floor(Study(plan())) is None
    folder_of(other).rename(folder_of(MACHINE))
    copied = noise_pairs(MACHINE)
    assert copied.floor(Study(plan())) is None
    assert all("another machine measured it" in sentence for sentence in copied.ignored)
    assert len(copied.ignored) == 3


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}', '{"format": 2, "pair": 3}'])
def test_a_damaged_file_is_ignored_with_a_warning_that_names_it(text: str) -> None:
    kept(4, plan())
    broken = sorted(folder_of(MACHINE).glob("*.json"))[0]
    broken.write_text(text)
    found = noise_pairs(MACHINE)
    assert len(found.kept) == 3
    (sentence,) = found.ignored
    assert str(broken) in sentence
    assert sentence.endswith("remove the file")


def test_forget_removes_all_pairs_of_this_machine_and_no_others() -> None:
    other = MACHINE.model_copy(update={"cores": 4})
    kept(2, plan())
    kept(1, plan(), other)
    assert (forget(MACHINE), forget(MACHINE)) == (2, 0)
    assert len(noise_pairs(other).kept) == 1


def test_a_kept_file_has_no_password_and_not_the_machine_s_id() -> None:
    kept(1, plan())
    (file,) = folder_of(MACHINE).glob("*.json")
    document = KeptPair.model_validate_json(file.read_text())
    assert document.machine == machine_key(MACHINE)
    identity = Path("/etc/machine-id")
    if identity.exists() and identity.read_text().strip():
        assert identity.read_text().strip() not in file.read_text()
    assert json.loads(file.read_text())["measured"]["storage"] == ""


def test_the_key_of_a_machine_changes_with_its_cores_and_not_with_its_kernel() -> None:
    here = host()
    assert machine_key(here) == machine_key(here.model_copy(update={"kernel": "99"}))
    assert machine_key(here) != machine_key(here.model_copy(update={"cores": here.cores + 1}))


# --- the plan -------------------------------------------------------------------------------------


def test_the_plan_of_a_pair_has_the_baseline_under_two_names() -> None:
    twice = same_twice(Study(plan().model_copy(update={"baseline": "other"})))
    assert list(twice.storages) == ["a", "b"]
    assert twice.storages["a"] == twice.storages["b"] == plan().storages["other"]
    assert twice.base == "a"


def test_simulated_pairs_have_seeds_of_their_own_and_real_ones_share_a_database() -> None:
    assert [of_pair(Study(plan()), number).written.seed for number in range(3)] == [
        9300,
        9301,
        9302,
    ]
    real = Study(Plan.model_validate({"storages": {"disk": {"path": "."}}}))
    assert of_pair(real, 3) == real
