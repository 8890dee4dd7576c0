"""The store: keeps what is measured at once, and finds it again when a killed campaign is started
again.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Protocol

from kneebench.errors import KneebenchError
from kneebench.plan import Plan
from kneebench.records import (
    Campaign,
    Cell,
    Check,
    Climb,
    Host,
    Order,
    Results,
    Rung,
    Second,
    Series,
    Setting,
    Whereabouts,
)
from kneebench.results import campaign_reader, parquet
from kneebench.results.atomic_write import remove_parts, write_text
from kneebench.results.campaign_folders import find_unfinished, new_folder, slug
from kneebench.results.compare_plans import plan_document
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
from kneebench.results.lock import Lock
from kneebench.results.upgrades import rename_files

_MEASURED = ("climbs", "conditions", "rungs", "seconds", "series")
"""The directories of a campaign that hold what was measured."""


class StorableRung(Protocol):
    """One rung with its series and seconds, as measurement gives it."""

    @property
    def rung(self) -> Rung: ...  # noqa: D102

    @property
    def series(self) -> Sequence[Series]: ...  # noqa: D102

    @property
    def seconds(self) -> Sequence[Second]: ...  # noqa: D102


class Store:
    """One campaign's folder, open for writing; other processes are kept out until `close`."""

    def __init__(self, folder: Path) -> None:
        """Open a folder that holds a campaign; raises Refused while another process writes into
        it.
        """
        self.folder = folder
        self._campaign = read_kept(folder / "campaign.json", Campaign)
        self._workload = campaign_reader.workload(self._campaign)
        self._lock = Lock(folder)
        remove_parts(folder)
        for name in _MEASURED:
            (folder / name).mkdir(exist_ok=True)
            rename_files(folder / name)
        self._number = len(campaign_reader.rung_files(folder))
        self._there = _files(folder)

    # --- which folder -----------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        root: Path,
        plan: Plan,
        host: Host,
        *,
        command: str = "",
        name: str = "",
        notes: Sequence[str] = (),
    ) -> Store:
        """A new campaign's folder: <date>-<question>, or `name`; raises Refused when a folder of
        that name is there.
        """
        now = datetime.now(UTC)
        folder = new_folder(root, f"{now:%Y-%m-%d}-{slug(plan.question)}", name)
        campaign = Campaign(
            id=folder.name,
            kneebench=_version(),
            started_at=now.isoformat(timespec="seconds"),
            plan=plan_document(plan),
            host=host,
            simulated=not plan.engine.measures_real_hardware,
            command=command or shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
            notes=tuple(notes),
        )
        (folder / "schema").mkdir()
        for kind, schema in schemas().items():
            write_text(folder / "schema" / f"{kind}.json", json.dumps(schema, indent=1) + "\n")
        write_kept(folder / "campaign.json", campaign)
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> Store:
        """A campaign to resume."""
        return cls(folder)

    @classmethod
    def for_plan(cls, root: Path, plan: Plan, host: Host, *, fresh: bool = False) -> Store:
        """The unfinished campaign of this plan, to resume; a new one if there is none, or if
        `fresh`.
        """
        found = None if fresh else find_unfinished(root, plan, host)
        return cls.open(found) if found else cls.create(root, plan, host)

    def differing(self, image: Mapping[str, str]) -> str:
        """Why this campaign cannot be resumed: another version of kneebench or another base image
        measured it; empty if both match.
        """
        kept = {
            "kneebench": self._campaign.kneebench,
            "base image": self._campaign.base_image.get("key", ""),
        }
        now = {"kneebench": _version(), "base image": image.get("key", "")}
        return " and ".join(
            f"{name} changed: {kept[name]}, now {now[name]}"
            for name in kept
            if kept[name] and kept[name] != now[name]
        )

    @property
    def rungs(self) -> int:
        """How many rungs are kept."""
        return self._number

    # --- what is kept -----------------------------------------------------------------------------

    def rung(self, order: Order) -> Rung | None:
        """The rung that was kept for this order; one of another rate does not answer it."""
        file = self._file("rungs", order.key, "json")
        kept = read_rung(file, self._workload).rung if file.exists() else None
        return kept if kept and kept.order == order else None

    def climb(self, cell: Cell) -> Climb | None:
        """The climb of a cell as it was put, if it ended: final runs are not among its own."""
        file = self._file("climbs", cell.id, "json")
        if not file.exists():
            return None
        rungs = campaign_reader.rungs_in(self.folder, self._workload)
        own = campaign_reader.of_last_climb(
            r
            for r in rungs
            if r.order.cell == cell.id and r.order.phase not in ("final_run", "fixed_rate")
        )
        return read_kept(file, KeptClimb).climb.model_copy(update={"rungs": own})

    def put(self, measured: StorableRung) -> None:
        """Keep a rung.

        Its file is written last: a rung that is there has its series and seconds.
        """
        key = measured.rung.order.key
        with self._writing():
            parquet.write_series(self._file("series", key, "parquet"), measured.series)
            parquet.write_seconds(self._file("seconds", key, "parquet"), measured.seconds)
            self._number += 1
            write_kept(
                self._file("rungs", key, "json"), KeptRung(number=self._number, rung=measured.rung)
            )

    def put_climb(self, climb: Climb) -> None:
        """Keep why a climb ended; its rungs were kept one by one."""
        with self._writing():
            write_kept(
                self._file("climbs", climb.cell.id, "json"),
                KeptClimb(climb=climb.model_copy(update={"rungs": (), "final_checks": {}})),
            )

    def has_conditions(self, last: Order) -> bool:
        """Whether the consistency conditions were asked after the final run that measured `last`
        last.
        """
        return self._file("conditions", last.key, "json").exists()

    def put_conditions(self, last: Order, checks: Sequence[Check]) -> None:
        """Keep the consistency conditions after a final run and its last rung."""
        with self._writing():
            write_kept(
                self._file("conditions", last.key, "json"),
                KeptConditions(last=last, checks=tuple(checks)),
            )

    def put_settings(self, cell: Cell, settings: Sequence[Setting]) -> None:
        """Keep the settings that were in force on a cell, and note each that changed before the
        campaign was resumed.
        """
        was, now = (
            {s.name: s.value for s in some}
            for some in (self._campaign.settings.get(cell.id, ()), settings)
        )
        for name in sorted({*was, *now}) if was else ():
            if was.get(name) != now.get(name):
                self.put_note(
                    f"{name} changed on {cell.storage} during the campaign:"
                    f" {was.get(name, 'not set')}, then {now.get(name, 'not set')}"
                )
        self._change(settings={**self._campaign.settings, cell.id: tuple(settings)})

    def put_base_image(self, facts: Mapping[str, str]) -> None:
        """Keep the facts about the loaded image."""
        self._change(base_image={**self._campaign.base_image, **facts})

    def put_servers(self, servers: Mapping[str, Whereabouts]) -> None:
        """Keep where the servers run, by storage."""
        self._change(servers=dict(servers))

    def put_note(self, note: str) -> None:
        """Keep something that the reader must know about the whole campaign."""
        if note not in self._campaign.notes:
            self._change(notes=(*self._campaign.notes, note))

    def finish(
        self, exit_code: Callable[[Results], int] = lambda results: 0, *, awaits_brief: bool = False
    ) -> Results:
        """Say that everything was measured and what it came to, let others write, and give the
        whole.
        """
        with self._writing():
            whole = campaign_reader.load(self.folder).model_copy(update={"finished": True})
            at, rungs = (
                datetime.now(UTC).isoformat(timespec="seconds"),
                len(campaign_reader.rung_files(self.folder)),
            )
            write_kept(
                self.folder / "finished.json",
                Finished(at=at, exit_code=exit_code(whole), rungs=rungs, awaits_brief=awaits_brief),
            )
        self.close()
        return whole

    def close(self) -> None:
        """Let others write; the end of the process does it too."""
        self._lock.release()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _change(self, **fields: object) -> None:
        changed = self._campaign.model_copy(update=fields)
        if changed != self._campaign:
            with self._writing():
                write_kept(self.folder / "campaign.json", changed)
            self._campaign = changed

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self._require_whole()
        try:
            yield
        except (FileNotFoundError, KneebenchError):
            self._require_whole()
            raise
        self._there |= _files(self.folder)

    def _require_whole(self) -> None:
        """Raises KneebenchError where files measured so far are missing: the rest would pass for a
        whole campaign.
        """
        missing = sorted(self._there - _files(self.folder))
        if not self._lock.stands():
            seen = "the folder was removed or replaced during the campaign"
        elif missing:
            seen = (
                f"{len(missing)} of the {len(self._there)} files measured so far"
                f" {'is' if len(missing) == 1 else 'are'} missing: {missing[0]}"
            )
        else:
            return
        do = "restore it from a copy and run the plan again, or start over with --fresh"
        raise KneebenchError(f"writing into {self.folder}", seen=seen, do=do)

    def _file(self, kind: str, name: str, ending: str) -> Path:
        if not re.fullmatch(r"[\w.,+=@ -]+", name) or name.startswith("."):
            raise KneebenchError(
                f"saving {name!r}",
                seen="not a valid file name",
                do="use letters and digits in storage names",
            )
        return self.folder / kind / f"{name}.{ending}"


def _files(folder: Path) -> set[str]:
    """What was measured, by its path within the campaign's folder; none where that is gone."""
    return {
        f"{name}/{file.name}"
        for name in _MEASURED
        if (folder / name).is_dir()
        for file in (folder / name).iterdir()
    }


def _version() -> str:
    try:
        return version("kneebench")
    except PackageNotFoundError:
        return "0+source"
