"""Below the tables of compared campaigns: why no difference is claimed, and the fixed rates."""

from __future__ import annotations

from kneebench.brief.campaigns import ComparisonPage
from kneebench.brief.terminal import told
from kneebench.records import Results, Rung
from kneebench.results import compare_campaigns, differences
from kneebench.results.trend import trends
from tests.recordings import each, recorded, with_campaign, with_order, with_plan
from tests.terminal import drawn


def second(factor: float = 1.0) -> Results:
    """The recorded campaign as another one, at so many times its fixed rate."""

    def faster(rung: Rung) -> Rung:
        assert rung.order.rate_per_s
        return with_order(rung, rate_per_s=factor * rung.order.rate_per_s)

    other = with_campaign(recorded(), id="second")
    for climb in range(len(other.climbs)):
        other = each(other, climb, faster, "fixed_rate")
    return other


def terminal_and_page(*campaigns: Results) -> tuple[str, str]:
    rows, trend = compare_campaigns(campaigns), trends(campaigns)
    page = ComparisonPage(campaigns, rows, trend)
    return drawn(*told(page), width=200), page.html()


def test_each_reason_why_no_difference_is_claimed_is_said_once() -> None:
    for said in terminal_and_page(recorded(), second()):
        assert said.count("No difference shown: within the noise floor of") == 1


def test_rates_that_count_as_one_but_differ_are_each_named_below_the_table() -> None:
    one = recorded()
    rate = compare_campaigns([one])[0].rate_per_s
    assert rate
    for said in terminal_and_page(one, second(1.005)):
        assert f"ean latency at {rate:,.0f}/s" not in said
        assert "ean latency at the fixed rate" in said
        assert f"The fixed rate is {rate:,.0f}/s in {one.campaign.id} and " in said
    assert "The fixed rate is" not in terminal_and_page(one, second())[0]


def test_differences_are_written_as_in_the_plan_and_have_the_baseline() -> None:
    plan = recorded().campaign.plan
    ladder = {**plan["ladder"], "budget": 10800.0}
    other = with_plan(second(), ladder=ladder, meters=["cores"], baseline="memory")
    said = [one.replace(recorded().campaign.id, "first") for one in differences(recorded(), other)]
    assert any(
        one.startswith("ladder.budget is ") and one.endswith(" 3h in second") for one in said
    )
    assert any(one.endswith(' and ["cores"] in second') for one in said)
    assert any(one.startswith("baseline is ") and one.endswith(" memory in second") for one in said)
