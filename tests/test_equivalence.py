"""Better, same, worse or cannot say: exactly one, right as often as it claims."""

from __future__ import annotations

from math import exp, log1p

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneebench.analysis.equivalence import (
    MOST_ROUNDS,
    MoreRounds,
    at_the_edge,
    judgement,
    more_rounds,
    narrowed,
    ratio_to_baseline,
)
from kneebench.analysis.estimate import estimate
from kneebench.errors import PlanError
from kneebench.plan.reader import parse_plan
from kneebench.records import Estimate
from tests.acceptance_simulated import KINDS, MARGIN, Kind, answers

CAMPAIGNS = 1500
MOST_WRONG = 0.065
"""Of 1,500 where 5% are meant to be wrong at most: more happen once in 200 times."""


def about(value: float, half: float, n: int = 9) -> Estimate:
    return Estimate(value=value, low=value / (1 + half), high=value * (1 + half), n=n)


@pytest.mark.parametrize(
    ("ratio", "answer"),
    [
        (about(1.00, 0.02), "same"),
        (about(0.98, 0.01), "same"),
        (about(0.90, 0.02), "worse"),
        (about(0.90, 0.20), "cannot say"),
        (about(0.97, 0.02), "same"),
        (about(0.97, 0.028), "cannot say"),
        (about(1.10, 0.02), "better"),
        (about(1.04, 0.05), "same or better"),
        (about(1.10, 0.12), "same or better"),
        (about(1.00, 0.10), "cannot say"),
        (about(1.10, 0.50), "cannot say"),
    ],
)
def test_a_ratio_of_throughput_has_the_answer_that_its_interval_allows(
    ratio: Estimate, answer: str
) -> None:
    assert judgement(ratio, MARGIN, more_is_better=True) == answer


def test_a_significant_difference_within_the_margin_is_not_called_worse() -> None:
    assert judgement(about(0.975, 0.005), MARGIN, more_is_better=True) == "same"
    assert judgement(about(0.96, 0.015), MARGIN, more_is_better=True) == "cannot say"


@given(
    value=st.floats(0.3, 3),
    half=st.floats(0.001, 3),
    margin=st.floats(0.01, 0.5),
    more=st.booleans(),
)
def test_a_ratio_and_its_inverse_have_the_same_answer_where_less_is_better(
    value: float, half: float, margin: float, more: bool
) -> None:
    ratio, inverse = about(value, half), about(1 / value, half)
    one = judgement(ratio, margin * (1 + 1e-9), more_is_better=more)
    assert one == judgement(inverse, margin * (1 + 1e-9), more_is_better=not more)


def test_one_run_alone_never_allows_an_answer() -> None:
    ratio = ratio_to_baseline(estimate([50.0]), estimate([100.0, 101.0, 99.0]))
    assert judgement(ratio, 0.5, more_is_better=True) == "cannot say"
    assert ratio.high < 1e6


@pytest.mark.parametrize("kind", KINDS[:3], ids=lambda kind: kind.called)
def test_equal_campaigns_are_called_worse_less_often_than_five_times_in_a_hundred(
    kind: Kind,
) -> None:
    found = answers(kind, 1.0, CAMPAIGNS)
    assert found["worse"] <= MOST_WRONG * CAMPAIGNS
    assert found["better"] <= MOST_WRONG * CAMPAIGNS


@pytest.mark.parametrize("kind", KINDS[:3], ids=lambda kind: kind.called)
def test_campaigns_at_the_edge_of_the_margin_are_seldom_accepted(kind: Kind) -> None:
    better, worse = (answers(kind, truth, CAMPAIGNS) for truth in (1 + MARGIN, 1 / (1 + MARGIN)))
    assert better["same"] <= MOST_WRONG * CAMPAIGNS
    accepted = sum(worse[one] for one in ("same", "better", "same or better"))
    assert accepted <= MOST_WRONG * CAMPAIGNS


def test_with_many_runs_equal_is_same_and_a_real_loss_is_worse() -> None:
    many = KINDS[-1]._replace(n=40)
    assert answers(many, 1.0, 300)["same"] > 0.9 * 300
    assert answers(many, 0.88, 300)["worse"] > 0.9 * 300


def test_the_rounds_that_are_said_to_be_missing_would_have_decided() -> None:
    of, to = about(0.99, 0.06, 6), about(1.0, 0.02, 6)
    ratio = ratio_to_baseline(of, to)
    assert judgement(ratio, MARGIN, more_is_better=True) == "cannot say"
    more = more_rounds(of, to, MARGIN, 6, more_is_better=True)
    assert more is not None and 1 < more.rounds < 40 and not more.of_both


def test_a_baseline_that_is_too_wide_itself_needs_rounds_too() -> None:
    more = more_rounds(about(1.0, 0.06, 8), about(1.0, 0.06, 8), MARGIN, 8, more_is_better=True)
    assert more is not None and more.of_both


def test_at_the_edge_of_the_margin_no_number_of_rounds_is_named() -> None:
    of, to = about(1 / 1.05, 0.05, 10), about(1.0, 0.01, 10)
    assert more_rounds(of, to, MARGIN, 10, more_is_better=True) is None
    assert at_the_edge(ratio_to_baseline(of, to), MARGIN, more_is_better=True)


def test_one_run_alone_is_taken_to_scatter_as_the_other_campaign_does() -> None:
    one, several = estimate([1.0]), about(1.0, 0.01)
    assert more_rounds(one, several, MARGIN, 1, more_is_better=True) == MoreRounds(2, False)
    assert more_rounds(one, one, MARGIN, 1, more_is_better=True) is None


def test_rounds_that_measure_a_quantity_every_second_time_are_counted_as_rounds() -> None:
    of, to = about(1.0, 0.04, 6), about(1.0, 0.01, 30)
    each, half = (more_rounds(of, to, MARGIN, n, more_is_better=True) for n in (6, 12))
    assert isinstance(each, MoreRounds) and isinstance(half, MoreRounds)
    assert half.rounds == pytest.approx(2 * each.rounds, abs=1)


def test_no_more_rounds_are_named_than_a_plan_may_order() -> None:
    plan = '[ladder]\nrounds = "short"\ncheckpoints = 0\nrepeats = {}\n[storages]\na.path = "."\n'
    assert parse_plan(plan.format(MOST_ROUNDS)).ladder.most_repeats == MOST_ROUNDS
    with pytest.raises(PlanError):
        parse_plan(plan.format(MOST_ROUNDS + 1))


def test_the_ninety_percent_interval_is_within_the_other() -> None:
    ratio = about(1.1, 0.1)
    inner = narrowed(ratio)
    assert ratio.low < inner.low < ratio.value < inner.high < ratio.high
    assert exp(log1p(0.1) * 0.8392) == pytest.approx(inner.high / ratio.value)
