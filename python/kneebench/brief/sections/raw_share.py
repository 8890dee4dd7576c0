"""Share of the raw storage: what each database asked of its storage at the knee, beside what the
storage did without a database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench import units
from kneebench.analysis.io_evidence import knee_raw_shares
from kneebench.analysis.knee import final_rungs
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.raw_share import RawShare
from kneebench.analysis.wording import listed, percent
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb

COLUMNS = (
    Column(title="Storage", number=False),
    Column(title="I/O", number=False),
    Column(title="At the knee"),
    Column(title="Raw, at most"),
    Column(title="Share"),
    Column(title="Mean at the knee"),
    Column(title="Raw mean"),
    Column(title="Depth"),
)


def section(view: ViewModel) -> Section | None:
    """A table, and a sentence for each storage; None without raw profiles."""
    found = [
        (climb, shares)
        for climb in view.climbs
        if (shares := knee_raw_shares(KneeReadings(final_rungs(climb)), climb))
    ]
    if not found:
        return None
    rows = [
        Row(cells=(view.name(climb.id), *_cells(one))) for climb, shares in found for one in shares
    ]
    raw = next(iter(view.campaign.raw_profiles.values()))
    smallest = min(one.file_bytes for one in view.campaign.raw_profiles.values())
    largest = max(one.file_bytes for one in view.campaign.raw_profiles.values())
    sizes = units.size(smallest) + (f" to {units.size(largest)}" if smallest < largest else "")
    caption = (
        f"Raw: fio on a file of {sizes} on each storage, 8 KiB at a time,"
        f" {raw.seconds} s per row, beside the idle database after its climb. Depth: what the"
        " database had outstanding. The raw mean is that at the same depth, interpolated between"
        " the rows; below the lowest depth that was measured it is that row's, above the highest it"
        " grows with the depth. Writes count every copy of a"
        " mirror; merged requests count once, so a share may exceed 100%. They include the log's"
        " where it is on all drives of the data, and are not shown where it is on some of them."
        " Flushes, which the kernel counts as writes, are left out; their time is in the mean."
    )
    return Section(
        name="raw-share",
        title="Share of the raw storage",
        sentences=tuple(_sentences(view, found)),
        tables=(Table(caption=caption, columns=COLUMNS, rows=tuple(rows)),),
        part="appendix",
    )


def _cells(one: RawShare) -> tuple[str, ...]:
    return (
        one.what,
        f"{units.count(one.per_s)}/s",
        f"{units.count(one.raw_per_s)}/s",
        percent(one.share),
        units.time(one.await_s),
        units.time(one.raw_mean_s),
        units.significant(one.depth, 2),
    )


def _sentences(view: ViewModel, found: list[tuple[Climb, tuple[RawShare, ...]]]) -> Iterator[str]:
    for climb, shares in found:
        name, near = view.name(climb.id), [one.what for one in shares if one.near]
        used = listed([f"{percent(one.share)} of its {one.what}" for one in shares])
        verdict = f"{listed(near)} may have been the limit" if near else _unused(shares)
        drives = view.plan.storages[climb.configuration.storage].number_of_drives
        nopm = view.knees[climb.id].nopm.value
        each = (
            f" {units.count(nopm / drives)} NOPM per drive, those of the log among them."
            if drives
            else ""
        )
        yield f"{name} used {used}: {verdict}.{each}"


def _unused(shares: Sequence[RawShare]) -> str:
    """What storage that was used for a small share of what it can do means: nothing, if each I/O
    took far longer than alone.
    """
    times = next((one.slowed for one in shares if one.what == "reads"), None)
    if times:
        much = f"reads took {units.significant(times, 2)} times as long as without a database"
        return f"{much}, so the drives were busy with other I/O, such as writes"
    return "none reached what the storage can do"
