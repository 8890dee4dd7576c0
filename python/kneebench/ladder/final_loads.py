"""The load of each configuration's final runs: its knee, or fewer users once their log writes
exceed the limit there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kneebench.analysis.knee import knee_rung
from kneebench.analysis.quoted_load import exceeds, is_limited, next_lower, stepping_down
from kneebench.records import Climb, Configuration, Rung, StopResult

Report = Callable[[Configuration, StopResult], None]
"""Receives what ended the final runs at one load, before those at fewer users."""


def unreported(configuration: Configuration, result: StopResult) -> None:
    """Reports nothing."""


class FinalLoads:
    """The number of users of each configuration's final runs, and these runs.

    Configurations whose climb found no knee are left out. The same rungs always give the same
    loads.
    """

    def __init__(self, climbs: Sequence[Climb], report: Report = unreported) -> None:
        self._climbs = {climb.configuration: climb for climb in climbs if knee_rung(climb)}
        self._users = {
            configuration: climb.knee_users or 0 for configuration, climb in self._climbs.items()
        }
        self._runs: dict[Configuration, list[Rung]] = {
            configuration: [] for configuration in self._climbs
        }
        self._report = report

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """In the order of the climbs."""
        return tuple(self._climbs)

    @property
    def runs(self) -> tuple[Rung, ...]:
        """The runs of all configurations, each at its load as it is now."""
        return tuple(rung for runs in self._runs.values() for rung in runs)

    def users(self, configuration: Configuration) -> int:
        """The load of a configuration."""
        return self._users[configuration]

    def number(self, configuration: Configuration) -> int:
        """Number of a configuration's runs at its load as it is now."""
        return len(self._runs[configuration])

    def searched(self, configuration: Configuration) -> Rung:
        """The rung that the climb measured at the configuration's load."""
        found = knee_rung(
            self._climbs[configuration].model_copy(
                update={"knee_users": self._users[configuration]}
            )
        )
        assert found is not None
        return found

    def keep(self, configuration: Configuration, rung: Rung) -> None:
        """Keep a run at the configuration's load."""
        self._runs[configuration].append(rung)

    def step_down(self, complete: Callable[[Configuration], bool]) -> bool:
        """Give each configuration whose runs exceed the limit the next lower number of users that
        its climb measured; whether there was one. The mean of the runs decides once they are
        `complete`; before, they must exceed the limit clearly.
        """
        stepped = [
            configuration
            for configuration in self._climbs
            if self._stepped_down(configuration, complete(configuration))
        ]
        return bool(stepped)

    def _stepped_down(self, configuration: Configuration, complete: bool) -> bool:
        climb, runs = self._climbs[configuration], self._runs[configuration]
        limit_s = climb.limits.log_write_s
        lower = next_lower(climb, self._users[configuration])
        if not lower or not is_limited(climb) or not exceeds(runs, limit_s, clearly=not complete):
            return False
        self._report(configuration, stepping_down(runs, limit_s, lower))
        self._users[configuration], self._runs[configuration] = lower, []
        return True
