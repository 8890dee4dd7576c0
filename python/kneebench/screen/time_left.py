"""How long a campaign still takes: what was expected of the work still to do, at the pace of what
was measured so far.
"""

from __future__ import annotations

from typing import NamedTuple

from kneebench.analysis.quoted_load import REPEATED
from kneebench.lab.preparation import Shares
from kneebench.plan.campaign_plan import CampaignPlan
from kneebench.plan.duration import Expected, rungs

_FORESEEN = 0.1
"""As much of the whole as counts for the expected pace: the first rungs change it little by little,
so that the time left does not jump with each."""
_AT_FIRST, _LATER = 0.6, 0.2
"""How far off the pace may be before anything was measured, and what stays."""


class TimeLeft(NamedTuple):
    """Seconds until the end: about `s`, and between `low_s` and `high_s` with what is not known yet
    (the pace, and how many rounds are needed).
    """

    s: float
    low_s: float
    high_s: float


class RoundsLeft(NamedTuple):
    """Rounds still to come: at the least, probably, at the most."""

    least: float
    likely: float
    most: float


class Work:
    """What was expected of a campaign, and how much of it is done: loading, each configuration's
    climb with its drives before it, the final runs' rungs.
    """

    def __init__(self, plan: CampaignPlan, expected: Expected) -> None:
        names = [configuration.name for configuration in plan.configurations]
        self._load_s, self._climb_s = expected.load_s, expected.climbs_s / len(names)
        first = next(iter(plan.databases.values()))
        self.climb_rungs = rungs(plan.ladder, len(Shares(first).resources.cores))
        """Rungs of one climb, roughly."""
        self._climb_rung_s = self._climb_s / self.climb_rungs
        runs = expected.final_runs or plan.ladder.final_rungs * len(names)
        self.final_runs = round(runs)
        """Final runs, at the least, those at the fixed rate included."""
        self._report_rung_s = expected.final_runs_s / max(1.0, runs)
        with_drives_s = self._climb_s + expected.drives_s / len(names)
        self._climbs_left_s = dict.fromkeys(names, with_drives_s)
        self._report_left_s = expected.final_runs_s
        self._round_s, self._fewer, self._more = 0.0, 0.0, 0.0
        """What a round takes; rounds that may be saved, or needed beyond those expected."""
        if plan.ladder.rounds == "short":
            fewest, most = plan.ladder.fewest_rounds, plan.ladder.most_repeats
            self._round_s = expected.final_runs_s / max(1, fewest)
            self.end_round(RoundsLeft(fewest, (fewest + most) / 2, most))
        self._done_s, self._took_s = 0.0, 0.0
        self._foreseen_s = _FORESEEN * expected.total_s

    @property
    def _left_s(self) -> float:
        """As long as what is still to do was expected to take."""
        return self._load_s + sum(self._climbs_left_s.values()) + self._report_left_s

    def left(self, since_s: float, step_left_s: float) -> TimeLeft:
        """The time left, so long after the last rung ended; never below what the step under way
        still takes.
        """
        known_s = self._foreseen_s + self._done_s
        pace = (self._foreseen_s + self._took_s) / known_s if known_s else 1.0
        off = _LATER + _AT_FIRST * (self._foreseen_s / known_s if known_s else 1.0)
        least_s = self._left_s - self._fewer * self._round_s
        most_s = self._left_s + self._more * self._round_s
        return TimeLeft(
            *(
                max(one * pace - since_s, step_left_s)
                for one in (self._left_s, least_s * (1 - off), most_s * (1 + off))
            )
        )

    def rung(self, configuration: str, phase: str, took_s: float | None) -> None:
        """Count a rung as done. What it took sets the pace; None for one that says nothing of it.

        The last part of a climb is left until its stop results are known.
        """
        self._load_s = 0.0
        if phase in REPEATED:
            self._report_left_s = max(0.0, self._report_left_s - self._report_rung_s)
            expected_s = self._report_rung_s
        else:
            expected_s = self._climb_rung_s
            if left_s := self._climbs_left_s.get(configuration, 0.0):
                rest_s = min(left_s, self._climb_s) - expected_s
                self._climbs_left_s[configuration] = max(expected_s, rest_s)
        if took_s is not None:
            self._done_s += expected_s
            self._took_s += took_s

    def end_climb(self, configuration: str) -> None:
        """Count a whole climb as done."""
        self._climbs_left_s[configuration] = 0.0

    def end_round(self, rounds: RoundsLeft) -> None:
        """Count a round as done, when it is known how many are left."""
        self._report_left_s = rounds.likely * self._round_s
        self._fewer, self._more = rounds.likely - rounds.least, rounds.most - rounds.likely
