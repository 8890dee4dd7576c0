"""The store: saves what is measured at once, and finds it when a killed campaign is resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from kneebench.analysis.headline import finding_line
from kneebench.directories import make_directory
from kneebench.lab.host import kneebench_version
from kneebench.plan.study import Study
from kneebench.records import (
    Check,
    Climb,
    Configuration,
    Host,
    Order,
    Results,
    Rung,
    Watch,
    unwatched,
)
from kneebench.results import campaign_reader, parquet
from kneebench.results.atomic_write import write_text, writing
from kneebench.results.campaign_folders import (
    find_unfinished,
    measured_by_another,
    new_folder,
    slug,
)
from kneebench.results.file_schemas import schemas
from kneebench.results.formats import (
    Finished,
    KeptClimb,
    KeptConditions,
    KeptRung,
    read_kept,
    read_rung,
    write_kept,
)
from kneebench.results.head import new_head, read_head, study_of
from kneebench.results.head_keeper import HeadKeeper
from kneebench.results.joining import (
    added_configurations,
    find_joinable,
    with_authors_words,
    with_configurations,
)
from kneebench.results.logo import keep_logo
from kneebench.results.measured_files import MeasuredFiles, StorableRung
from kneebench.results.origin import is_own, sign


class Store(HeadKeeper):
    """One campaign's folder, open for writing; other processes are kept out until `close`.
    `campaign` is its head as it is kept now, `latest` the rung that was kept last.
    """

    latest: Rung | None = None

    def __init__(self, folder: Path, study: Study | None = None) -> None:
        """Open a folder that holds a campaign; raises Refused while another process writes into
        it. `study`: that it is resumed under; without one, its own.
        """
        self.folder = folder
        self.campaign = read_head(folder)
        self._study = study
        self._workload = campaign_reader.workload(self.campaign)
        self._files = MeasuredFiles(folder)
        self._number = len(campaign_reader.rung_files(folder))

    # --- which folder -----------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        root: Path,
        study: Study,
        host: Host,
        *,
        command: str = "",
        name: str = "",
        notes: Sequence[str] = (),
    ) -> Store:
        """A new campaign's folder: <date>-<the plan's name, or its question's first words>, or
        `name`; raises Refused when a folder of that name is there.
        """
        now = datetime.now(UTC)
        dated = f"{now:%Y-%m-%d}-{study.name or slug(study.question)}"
        folder = new_folder(root, dated, name)
        campaign = new_head(folder.name, study, host, now, command=command, notes=notes)
        make_directory(folder / "schema", new=True)
        for kind, schema in schemas().items():
            write_text(folder / "schema" / f"{kind}.json", json.dumps(schema, indent=1) + "\n")
        write_kept(folder / "campaign.json", campaign)
        sign(folder, campaign)
        return cls(folder, study)

    @classmethod
    def for_study(
        cls,
        root: Path,
        study: Study,
        host: Host,
        *,
        fresh: bool = False,
        reliefs: Sequence[str] | None = None,
        watch: Watch = unwatched,
    ) -> Store:
        """The unfinished campaign of this plan, to resume, or a finished one that lacks the proofs
        of `reliefs`; else one that the plan only adds configurations to; a new one if there is
        none, or if `fresh`. `watch` hears of one that is not ours to resume. Raises PlanError where
        nothing can be written.
        """
        found = None if fresh else find_unfinished(root, study, host, reliefs=reliefs, watch=watch)
        found = found or (None if fresh else find_joinable(root, study, host))
        with writing(root):
            return cls(found, study) if found else cls.create(root, study, host)

    @cached_property
    def study(self) -> Study:
        """What is measured into it. Raises KneebenchError for a plan of another version."""
        return self._study or study_of(self.campaign)

    def reopen(self) -> tuple[Configuration, ...]:
        """Add the configurations that only its study has, and give them; keep the author's words
        and logo. The campaign is unfinished now.
        """
        study, own = self.study, is_own(self.folder, self.campaign)
        (self.folder / "finished.json").unlink(missing_ok=True)
        if added := added_configurations(self.campaign, study):
            rungs = campaign_reader.rungs_in(self.folder, self._workload)
            self._keep(with_configurations(self.campaign, study, added, rungs))
        self._keep(with_authors_words(self.campaign, study))
        keep_logo(self.folder, study.brief.logo)
        if own:
            sign(self.folder, self.campaign)
        return added

    def differing(self, image: Mapping[str, str]) -> str:
        """Why this campaign cannot be resumed; empty if it can."""
        return measured_by_another(self.campaign, kneebench_version(), image)

    @property
    def rungs(self) -> int:
        """How many rungs are kept."""
        return self._number

    # --- what is kept -----------------------------------------------------------------------------

    def rung(self, order: Order) -> Rung | None:
        """The rung that was kept for this order; one of another rate does not answer it."""
        file = self._files.path("rungs", order.key, "json")
        kept = read_rung(file, self._workload).rung if file.exists() else None
        return kept if kept and kept.order == order else None

    def climb(self, configuration: Configuration) -> Climb | None:
        """The climb of a configuration as it was put, if it ended: final runs are not among its
        own.
        """
        file = self._files.path("climbs", configuration.id, "json")
        if not file.exists():
            return None
        rungs = campaign_reader.rungs_in(self.folder, self._workload)
        own = {"rungs": campaign_reader.rungs_of_climb(configuration, rungs)}
        return read_kept(file, KeptClimb).climb.model_copy(update=own)

    def put(self, measured: StorableRung) -> None:
        """Keep a rung.

        Its file is written last: a rung that is there has its series and seconds.
        """
        key = measured.rung.order.key
        with self._files.writing():
            parquet.write_series(self._files.path("series", key, "parquet"), measured.series)
            parquet.write_seconds(self._files.path("seconds", key, "parquet"), measured.seconds)
            self._number += 1
            write_kept(
                self._files.path("rungs", key, "json"),
                KeptRung(number=self._number, rung=measured.rung),
            )
        self.latest = measured.rung

    def put_climb(self, climb: Climb) -> None:
        """Keep why a climb ended; its rungs were kept one by one."""
        with self._files.writing():
            write_kept(
                self._files.path("climbs", climb.id, "json"),
                KeptClimb(climb=climb.model_copy(update={"rungs": (), "final_checks": {}})),
            )

    def has_conditions(self, last: Order) -> bool:
        """Whether the conditions were checked after the final run whose last rung is `last`."""
        return self._files.path("conditions", last.key, "json").exists()

    def put_conditions(self, last: Order, checks: Sequence[Check]) -> None:
        """Keep the consistency conditions after a final run and its last rung."""
        with self._files.writing():
            write_kept(
                self._files.path("conditions", last.key, "json"),
                KeptConditions(last=last, checks=tuple(checks)),
            )

    def finish(
        self, exit_code: Callable[[Results], int] = lambda results: 0, *, awaits_brief: bool = False
    ) -> Results:
        """Record that everything was measured, with the exit code; close the store and return the
        results.
        """
        with self._files.writing():
            whole = campaign_reader.load(self.folder).model_copy(update={"finished": True})
            at = datetime.now(UTC).isoformat(timespec="seconds")
            end = Finished(
                at=at,
                exit_code=exit_code(whole),
                rungs=len(campaign_reader.rung_files(self.folder)),
                awaits_brief=awaits_brief,
                finding=finding_line(whole),
            )
            write_kept(self.folder / "finished.json", end)
        self.close()
        return whole

    def close(self) -> None:
        """Let others write; the end of the process does it too."""
        self._files.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
