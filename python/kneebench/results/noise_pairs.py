"""The A/A pairs of this machine, kept in the state directory, one file each.

<state>/noise/<machine>/<campaign>-<hash>.json, written atomically by `kneebench noise`. Every later
campaign takes its noise floor from them and keeps it in its head, so results stay self-contained. A
file that cannot be read is ignored, with a warning; so is one that was copied from another machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from kneebench.analysis.noise_floor import NoisePair, largest, noise_floor_of, noise_pair
from kneebench.directories import make_private, state_directory, write_private
from kneebench.errors import KneebenchError
from kneebench.lab.host import machine_key
from kneebench.plan.server_url import server_of
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study
from kneebench.records import Event, Host, NoiseFloor, Record, Results, Watch
from kneebench.results.formats import FORMAT, kept_text, read_kept
from kneebench.visible import visible

NEWEST = 20
"""Pairs of a series that count: older ones say less about the machine as it is now."""


class PairKind(Record):
    """What a pair measured: pairs of the same make a series.

    `server`: host and port of an external server, else empty; `plan`: hash of the plan; `emulated`:
    whether on emulated drives, whose noise says nothing about real ones.
    """

    engine: str
    rounds: str
    server: str
    storage: str
    plan: str
    emulated: bool = False


class KeptPair(Record):
    """One file: an A/A pair, the machine and what was measured."""

    format: int = FORMAT
    machine: str
    measured: PairKind
    pair: NoisePair


class MachinePairs(NamedTuple):
    """The pairs of a machine, oldest first, and a sentence for each file that is ignored."""

    kept: tuple[KeptPair, ...]
    ignored: tuple[str, ...]

    def series(self) -> Iterator[tuple[PairKind, tuple[NoisePair, ...]]]:
        """The newest pairs of each series."""

        def key(one: KeptPair) -> str:
            return one.measured.model_dump_json()

        for _, pairs in groupby(sorted(self.kept, key=key), key):
            found = list(pairs)
            yield found[0].measured, tuple(one.pair for one in found[-NEWEST:])

    def floor(self, study: Study) -> NoiseFloor | None:
        """The noise floor that applies to a plan: the largest of all series of its engines, kind of
        rounds, servers, and emulated or real drives; None without one.
        """
        databases = study.databases.values()
        servers = {
            (one.database.engine, _server(url)) for one in databases for url in one.urls.values()
        }
        return largest(
            noise_floor_of(pairs)
            for measured, pairs in self.series()
            if (measured.engine, measured.server) in servers
            and measured.emulated == study.has_emulated_drives
            and measured.rounds == study.ladder.rounds
        )


def folder_of(host: Host) -> Path:
    """The folder of this machine's pairs. Raises RuntimeError for a user without a home."""
    return state_directory() / "noise" / machine_key(host)


def noise_pairs(host: Host) -> MachinePairs:
    """The pairs of this machine; none for a user without a home."""
    try:
        files = sorted(folder_of(host).glob("*.json"))
    except (RuntimeError, OSError):
        return MachinePairs((), ())
    found = [_read(file, machine_key(host)) for file in files]
    kept = (one for one in found if isinstance(one, KeptPair))
    return MachinePairs(
        tuple(sorted(kept, key=lambda one: (one.pair.measured_at, one.pair.campaign))),
        tuple(one for one in found if isinstance(one, str)),
    )


def known_noise_floor(host: Host, study: Study, watch: Watch) -> NoiseFloor | None:
    """The noise floor of this machine that applies to a plan; an ignored file is reported."""
    pairs = noise_pairs(host)
    for sentence in pairs.ignored:
        watch(Event(kind="warning", doing=sentence))
    return pairs.floor(study)


def keep(host: Host, study: Study, results: Results) -> NoisePair:
    """Keep the pair of a finished campaign; the same campaign is kept once."""
    pair, folder = noise_pair(results), folder_of(host)
    make_private(folder)
    key = f"{results.folder and results.folder.resolve()} {pair.measured_at}"
    name = f"{pair.campaign}-{hashlib.sha256(key.encode()).hexdigest()[:8]}.json"
    document = KeptPair(machine=machine_key(host), measured=kind_of(study), pair=pair)
    write_private(folder / name, kept_text(document))
    return pair


def forget(host: Host) -> int:
    """Remove the pairs of this machine, damaged ones too; how many there were."""
    files = list(folder_of(host).glob("*.json"))
    for file in files:
        file.unlink(missing_ok=True)
    return len(files)


def kind_of(study: Study) -> PairKind:
    """What a pair of this plan measures. Its seed does not matter: each simulated pair has its
    own.
    """
    storage, database = study.storages[study.base], study.only_database
    document = study.changed(seed=0, question="").document
    text = json.dumps(document, sort_keys=True)
    return PairKind(
        engine=database.database.engine,
        rounds=study.ladder.rounds,
        server=_server(database.urls[study.base]),
        storage=visible(", ".join(_places(storage))),
        plan=hashlib.sha256(text.encode()).hexdigest()[:16],
        emulated=study.has_emulated_drives,
    )


def _places(storage: Storage) -> list[str]:
    """Its directories, or its volumes in words."""
    volumes = [volume.words for volume in storage.volumes]
    return volumes or [str(path.resolve()) for path in storage.paths]


def _server(url: str) -> str:
    return f"{server_of(url) or 'default socket'}" if url else ""


def _read(file: Path, machine: str) -> KeptPair | str:
    try:
        kept = read_kept(file, KeptPair)
    except KneebenchError as error:
        return f"ignoring the A/A pair in {file}: {error.seen}; remove the file"
    if kept.machine != machine:
        return f"ignoring the A/A pair in {file}: another machine measured it; remove the file"
    return kept
