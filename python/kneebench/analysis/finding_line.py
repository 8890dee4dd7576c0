"""The finding of a campaign in a line, with its interval: what a list of campaigns shows."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.comparison import compare
from kneebench.analysis.databases import by_database
from kneebench.analysis.headline import foremost, headline
from kneebench.analysis.knee import knee
from kneebench.analysis.undecided import not_shown
from kneebench.analysis.wording import behind_label, times_with_interval
from kneebench.records import Comparison, Results


def finding_line(results: Results) -> str:
    """The comparison of the title with its interval, of each database; of a campaign without
    comparisons its title, with the interval of the only knee.
    """
    compared = [
        f"{f'{name}: ' if name else ''}{_compared(best, part)}"
        for name, part in by_database(results).items()
        if (best := foremost(compare(part)))
    ]
    if compared:
        return behind_label(results.campaign.label, "; ".join(compared))
    return headline(results) + "".join(_interval(results))


def _compared(best: Comparison, results: Results) -> str:
    """The foremost of NOPM; where it does not differ, a mean latency that does."""
    if not best.differs:
        latencies = (one for one in compare(results) if one.quantity == "latency.mean")
        best = next((one for one in latencies if one.differs), best)
    names = {climb.id: climb.configuration.name for climb in results.climbs}
    pair = f"{names[best.configuration]} vs. {names[best.baseline]}"
    unshown = "" if best.differs else f"{not_shown(best.ratio).lower()}, "
    what = "NOPM" if best.quantity == "nopm" else "mean latency"
    return f"{pair}: {unshown}{what} {times_with_interval(best.ratio)}"


def _interval(results: Results) -> Iterator[str]:
    knees = [found for climb in results.climbs if (found := knee(climb))]
    if len(knees) == 1 and knees[0].nopm.n > 1:
        nopm = knees[0].nopm
        yield f" ({nopm.low:,.0f} to {nopm.high:,.0f}, n={nopm.n})"
