"""What disturbs a measurement from outside: a rung is invalid and measured again, or a sentence
stands beside the headline.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.analysis.disturbance import TRIES, disturbances
from kneebench.analysis.knee import knee
from kneebench.analysis.outcome import exit_code
from kneebench.brief import Brief
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.campaign.restored import Context, Restored
from kneebench.cli import app
from kneebench.lab.host import host
from kneebench.measurement.meters.cores import Cores
from kneebench.plan.study import Study
from kneebench.records import Order, Results, Rung, Summary
from kneebench.results import Store
from kneebench.screen.summary import printed, results_json
from tests.formula import Formula
from tests.formula_rungs import CONFIGURATION, SEARCH, Engine, kept, measured, plan
from tests.recorded.record import unpack
from tests.recordings import PLATEAU, recorded, with_rungs, without
from tests.remarks import invalid as marked_invalid


@dataclass
class Shared(Formula):
    """A server on a virtual machine: its cores are read from lines of /proc/stat by the meter
    itself, with so much of them stolen.
    """

    stolen: float = 0.0
    stat: Path = Path()

    def readings(self, meter: str) -> dict[str, float]:
        if meter != "cores":
            return super().readings(meter)
        ticks = 100 * self.clock_s
        fields = (
            0.5 * ticks,
            0,
            0.1 * ticks,
            (0.4 - self.stolen) * ticks,
            0,
            0,
            0,
            self.stolen * ticks,
            0,
            0,
        )
        self.stat.write_text(f"cpu0 {' '.join(f'{field:.0f}' for field in fields)}\nintr 1\n")
        return Cores(self.stat).read()


def test_a_load_generator_that_stalled_makes_the_rung_invalid() -> None:
    rung = measured(Formula(freezes=1))
    assert rung.tally.window_s > 12
    assert (
        rung.invalid
        == "the load generator stalled for 12.0 s (limit 1 s); the window lasted 13.0 s instead of"
        " 6.0 s (limit 25% and 2 s longer)"
    )
    assert rung.quantity("load_generator.late") == 12


def test_a_freeze_that_leaves_the_window_as_long_as_ordered_is_noticed_too() -> None:
    rung = measured(Formula(freezes=1, frozen_s=3.0))
    assert rung.tally.window_s == 6
    assert rung.invalid == "the load generator stalled for 3.0 s (limit 1 s)"


def test_a_clock_that_is_late_by_less_than_its_limit_leaves_the_rung_valid() -> None:
    rung = measured(Formula(freezes=1, frozen_s=0.9))
    assert (rung.invalid, rung.quantity("load_generator.late")) == ("", 0.9)


def test_a_rung_that_only_warms_up_may_be_disturbed() -> None:
    assert not measured(Formula(freezes=1), SEARCH.model_copy(update={"phase": "warm_up"})).invalid


@pytest.mark.parametrize(
    ("stolen", "invalid", "noted"), [(0.24, True, True), (0.19, False, True), (0.04, False, False)]
)
def test_stolen_time_makes_a_rung_invalid_above_its_limit_and_is_noted_well_below_it(
    stolen: float, invalid: bool, noted: bool, tmp_path: Path
) -> None:
    rung = measured(Shared(stolen=stolen, stat=tmp_path / "stat"))
    assert rung.quantity("database.steal") == pytest.approx(stolen, abs=0.005)
    assert (
        rung.invalid
        == f"the hypervisor took {100 * stolen:.0f}% of the database's CPU time (limit 20%)"
    ) is invalid
    assert (
        any(
            note.startswith(f"the hypervisor took {100 * stolen:.0f}% of the database's CPU time")
            for note in rung.notes
        )
        is noted
    )


def test_of_a_server_elsewhere_the_load_generators_own_machine_tells_of_stolen_time(
    tmp_path: Path,
) -> None:
    rung = measured(Shared(stolen=0.3, stat=tmp_path / "stat", cores=()))
    assert (
        rung.invalid
        == "the hypervisor took 30% of the CPU time of the load generator's machine (limit 20%)"
    )


def test_a_disturbed_rung_is_measured_again_and_what_is_kept_says_so(tmp_path: Path) -> None:
    rung, told = kept(Formula(freezes=1), tmp_path)
    assert not rung.invalid
    assert rung.tally.nopm == measured(Formula()).tally.nopm
    assert [
        note
        for note in rung.notes
        if note.startswith("attempt 1 of 2 was repeated: ") and "stalled for 12.0 s" in note
    ]
    assert [one.partition(": ")[2] for one in told] == [
        f"attempt 1 of {TRIES} is invalid: {measured(Formula(freezes=1)).invalid}"
    ]


def test_a_rung_that_is_disturbed_each_time_is_kept_as_invalid_after_three_tries(
    tmp_path: Path,
) -> None:
    server = Formula(freezes=100)
    rung, told = kept(server, tmp_path)
    assert "stalled" in rung.invalid
    assert (len(server.specs), len(told)) == (TRIES, TRIES - 1)
    assert len([note for note in rung.notes if "was repeated" in note]) == TRIES - 1


def test_a_rung_that_is_invalid_by_itself_is_not_measured_again(tmp_path: Path) -> None:
    server = Formula(load_generator_cpu_share=0.9)
    rung, told = kept(server, tmp_path)
    assert "busy" in rung.invalid
    assert (len(server.specs), told) == (1, [])


ROUND = Order(configuration="disk", phase="final_run", users=8, repeat=1, restore=1)


@pytest.mark.parametrize("order", [ROUND, SEARCH], ids=["round", "search"])
def test_a_round_or_a_rung_of_a_climb_that_others_disturb_is_measured_once_more(
    order: Order, tmp_path: Path
) -> None:
    server = Shared(stolen=0.1, stat=tmp_path / "stat")
    rung, told = kept(server, tmp_path, order)
    assert not rung.invalid
    assert (len(server.specs), len(told)) == (2, 1)
    assert "disturbed: the hypervisor took 10%" in told[0]
    assert [note for note in rung.notes if note.startswith("attempt 1 of 2 was repeated")]


def test_what_also_disturbed_the_rung_before_stays_and_is_no_reason_to_measure_again(
    tmp_path: Path,
) -> None:
    server = Shared(stolen=0.1, stat=tmp_path / "stat")
    first, second = climbing(server, tmp_path, (8, 16))
    assert len(server.specs) == 2 + 1
    assert any("was repeated" in note for note in first.notes)
    assert not any("was repeated" in note for note in second.notes)


@pytest.mark.parametrize(
    "order", [SEARCH.model_copy(update={"phase": phase}) for phase in ("warm_up", "final_run")]
)
def test_a_warm_up_and_a_long_final_run_that_others_disturb_are_kept(
    order: Order, tmp_path: Path
) -> None:
    server = Shared(stolen=0.1, stat=tmp_path / "stat")
    kept(server, tmp_path, order)
    assert len(server.specs) == 1


@dataclass
class Checkpointing(Formula):
    """A server whose log per transaction is so many times its usual in the rungs of that number."""

    heavy: tuple[int, ...] = ()
    times: float = 3.0

    def readings(self, meter: str) -> dict[str, float]:
        ended = self.done * 100.0
        times = self.times if len(self.specs) in self.heavy else 1.0
        log = {"log.bytes|database": 5000.0 * ended * times}
        return super().readings(meter) | (log if meter == "log_writes" else {})


@pytest.mark.parametrize(
    ("heavy", "times", "measured_again"),
    [((3,), 3.0, 1), ((3,), 1.9, 0), ((3, 4), 3.0, 1), ((1, 2), 3.0, 0)],
    ids=["one", "a little", "still", "the first, and less from there"],
)
def test_a_rung_of_a_climb_behind_a_checkpoint_is_measured_once_more(
    heavy: tuple[int, ...], times: float, measured_again: int, tmp_path: Path
) -> None:
    server = Checkpointing(heavy=heavy, times=times)
    rungs = climbing(server, tmp_path, [8, 12, 16])
    assert len(server.specs) == 3 + measured_again
    said = "disturbed: 14.6 KiB of log per transaction, 4.88 KiB and 4.88 KiB in the rungs before"
    assert any(said in note for note in rungs[-1].notes) is bool(measured_again)


def climbing(server: Formula, folder: Path, users: Sequence[int]) -> list[Rung]:
    """Search rungs of one climb, on one restored database."""
    with Store.create(folder, Study(plan()), host()) as store:
        parts = Study(plan()).databases, Study(plan()).configurations
        context = Context(*parts, Engine(server), store, lambda event: None, DatabaseMachine())
        with Restored(context, CONFIGURATION) as place:
            return [place.rung(SEARCH.model_copy(update={"users": one})) for one in users]


def test_a_round_that_is_invalid_for_any_reason_is_measured_again(tmp_path: Path) -> None:
    order = Order(configuration="disk", phase="final_run", users=8, repeat=1, restore=1)
    server = Formula(load_generator_cpu_share=0.9)
    rung, _ = kept(server, tmp_path, order)
    assert "busy" in rung.invalid
    assert len(server.specs) == TRIES


# --- beside the headline --------------------------------------------------------------------------


def undisturbed() -> Results:
    """The recording as if nobody had looked at what others did."""
    return without(recorded(), "database.others", "database.steal", "device.others")


def disturbed(
    quantity: str, shares: Sequence[float], phase: str = "final_run", climb: int = 0
) -> Results:
    """The recording with so much taken in the runs of a phase of one storage, and nothing else."""
    results = undisturbed()
    taken = iter(shares)
    rungs = tuple(
        (
            rung.model_copy(
                update={
                    "quantities": {
                        **rung.quantities,
                        quantity: Summary(unit="share", value=share, high=share),
                    }
                }
            )
            if rung.order.phase == phase and (share := next(taken, None)) is not None
            else rung
        )
        for rung in results.climbs[climb].rungs
    )
    return with_rungs(results, climb, rungs)


def quoted(results: Results) -> int:
    return sum(len(climb.of("final_run", "fixed_rate", "fixed_load")) for climb in results.climbs)


@pytest.mark.parametrize(
    ("quantity", "said", "limit"),
    [
        ("database.others", "Other processes used up to 34% of the database's CPU cores", "15%"),
        (
            "device.others",
            "Other processes caused up to 34% of the I/O on the storage's device",
            "15%",
        ),
        ("database.steal", "The hypervisor took up to 34% of the database's CPU time", "5%"),
    ],
)
def test_what_disturbed_a_quoted_run_stands_beside_the_headline_everywhere(
    quantity: str, said: str, limit: str
) -> None:
    results = disturbed(quantity, [0.24, 0.34, int(limit.removesuffix("%")) / 100])
    brief = Brief(results)
    sentence = f"{said} in 2 of {quoted(results)} quoted runs (limit {limit}; disk 2, memory 0)."
    (remark,) = disturbances(results)
    assert (remark.words, remark.value, remark.unit) == (sentence, 0.34, "share")
    assert f"limit {100 * (remark.limit or 0):.0f}%" == f"limit {limit}"
    cautions = next(one for one in brief.sections if one.name == "cautions").sentences
    assert sentence not in cautions, "said once, under the title"
    page = brief.html()
    title = page.index("<h1>")
    assert title < page.index(sentence.replace("'", "&#39;")) < page.index('<p class="question">')
    documents = (brief.document(), results_json(results))
    assert all(one["disturbances"] == [remark.model_dump()] for one in documents)
    lines = [str(part) for part in printed(results)]
    assert lines.index(f"CAVEAT  {sentence}") < lines.index("")


def test_what_disturbed_a_run_that_is_not_quoted_is_no_headline() -> None:
    assert disturbances(disturbed("database.others", [0.5] * 20, phase="search")) == ()
    assert disturbances(undisturbed()) == ()
    assert 'class="disturbed"' not in Brief(undisturbed()).html()


def test_an_invalid_run_is_not_quoted_and_so_disturbs_nothing() -> None:
    results = disturbed("database.steal", [0.5])
    rungs = tuple(
        (marked_invalid(rung, "stolen") if (rung.quantity("database.steal") or 0) > 0.2 else rung)
        for rung in results.climbs[0].rungs
    )
    results = with_rungs(results, 0, rungs)
    assert disturbances(results) == ()
    assert exit_code(results) == 3
    assert knee(results.climbs[0])


def used_by_others(folder: Path, rungs: str, share: float) -> None:
    """Write into the rungs of these names that others used so much of the database's cores."""
    for file in (folder / "rungs").glob(f"{rungs}.json"):
        document = json.loads(file.read_text())
        quantities = document["rung"]["quantities"]
        quantities["database.others"] = {"unit": "share", "value": share, "high": 0.5}
        quantities.pop("database.steal", None)
        file.write_text(json.dumps(document))


def test_show_and_compare_read_the_sentence_from_the_campaigns_folder(tmp_path: Path) -> None:
    quiet, folder = (unpack(PLATEAU, tmp_path / name) for name in ("quiet", "disturbed"))
    used_by_others(quiet, "*", 0.01)
    used_by_others(folder, "*", 0.01)
    used_by_others(folder, "memory.fixed_rate-*", 0.24)
    said = (
        "Other processes used up to 24% of the database's CPU cores in 3 of 12 quoted runs (limit"
        " 15%; disk 0, memory 3)."
    )
    shown, compared = (
        CliRunner().invoke(app, words)
        for words in (["show", str(folder)], ["compare", str(quiet), str(folder)])
    )
    assert f"CAVEAT  {said}" in shown.stdout
    assert f"CAVEAT  disturbed/{folder.name}: {said}" in compared.stdout
    document = json.loads(
        CliRunner().invoke(app, ["compare", str(quiet), str(folder), "--json"]).stdout
    )
    [[told]] = document["disturbances"].values()
    assert list(document["disturbances"]) == [f"disturbed/{folder.name}"]
    assert (told["words"], told["value"]) == (said, 0.24)
