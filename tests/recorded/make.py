"""Makes the recorded campaign beside it from a formula: `python tests/recorded/make.py`.

Labelled simulated, as it is.

Two storages whose throughput flattens at different users; everything else (latency, bytes, CPU)
follows from it.
"""

from __future__ import annotations

import base64
import shutil
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kneebench.plan import Plan
from kneebench.records import (
    TRANSACTIONS,
    Cell,
    Check,
    Climb,
    Counts,
    Drive,
    Host,
    Latency,
    Order,
    Phase,
    Rung,
    Second,
    Series,
    Setting,
    StopResult,
    Summary,
    Tally,
    TransactionTally,
)
from kneebench.results.store import Store

HERE = Path(__file__).parent
NAME = "disk-against-memory"
DECK = dict(zip(TRANSACTIONS, (0.45, 0.43, 0.04, 0.04, 0.04), strict=True))
PLAN = {
    "question": "What would faster storage buy this database?",
    "seed": 9300,
    "baseline": "disk",
    "database": {"engine": "simulated", "settings": {"shared_buffers": "1GB"}},
    "workload": {"warehouses": 60},
    "ladder": {
        "users": [4, 128],
        "step": 1.5,
        "window": "10s",
        "final_window": "60s",
        "checkpoints": 0,
    },
    "storages": {
        "disk": {
            "simulated": {
                "cores": 4,
                "reads_per_transaction": 2.0,
                "read_latency": "400us",
                "log_latency": "1900us",
            }
        },
        "memory": {"simulated": {"cores": 4, "reads_per_transaction": 0.0, "log_latency": "40us"}},
    },
}


class Model(NamedTuple):
    """A storage as a curve: transactions per second with one user, and at most; what one
    transaction costs.
    """

    one_per_s: float
    most_per_s: float
    log_s: float
    read_bytes: float
    write_bytes: float
    scatter: float


MODELS = {
    "disk": Model(118, 1480, 0.0016, 16384, 11800, 0.010),
    "memory": Model(410, 3370, 0.00005, 0, 11650, 0.008),
}


class Measured(NamedTuple):
    rung: Rung
    series: tuple[Series, ...]
    seconds: tuple[Second, ...]


class Bench:
    """Invents rungs, one after the other, from one seed."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(9300)
        self.now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def rung(
        self,
        cell: str,
        phase: Phase,
        users: int,
        repeat: int = 0,
        rate: float | None = None,
        **marks: object,
    ) -> Measured:
        model = MODELS[cell]
        window = 10.0 if phase in ("search", "bisection", "drift_check") else 60.0
        per_s, mean_s = self._point(model, users, rate)
        tally = self._tally(users, window, per_s, mean_s, rate)
        order = Order(cell=cell, phase=phase, users=users, repeat=repeat, rate_per_s=rate)
        self.now += timedelta(seconds=window + 30)
        rung = Rung(
            order=order,
            started_at=self.now.isoformat(timespec="seconds"),
            warm_up_s=12.0,
            steady=True,
            tally=tally,
            tpm=tally.throughput_per_s * 60,
            quantities=self._quantities(model, users, per_s),
            checks=self._checks(tally, mean_s, rate),
            restore_s=3.4 + self.random.random() if phase == "final_run" or users == 4 else None,
            **marks,
        )
        series = self._series(model, per_s, 12 + window)
        return Measured(rung, series, self._seconds(per_s, mean_s, int(12 + window)))

    def _point(self, model: Model, users: int, rate: float | None) -> tuple[float, float]:
        """(transactions per second, mean latency in seconds) of a closed loop, or at a rate."""
        if rate:
            slower = 1 + 0.9 * (rate / model.most_per_s) ** 3
            return rate, (1 / model.one_per_s) * slower * self.random.normal(1, 0.02)
        bend = 1 - np.exp(-users * model.one_per_s / model.most_per_s)
        most_per_s = model.most_per_s * bend / (1 + 0.00002 * users * users)
        per_s = most_per_s * self.random.normal(1, model.scatter)
        return per_s, users / per_s

    def _tally(
        self, users: int, window: float, per_s: float, mean_s: float, rate: float | None
    ) -> Tally:
        transactions = {}
        for name, share in DECK.items():
            done = round(per_s * window * share)
            back = round(done * 0.01) if name == "new_order" else 0
            inside = Counts(started=done, committed=done - back, rolled_back=back)
            whole = Counts(started=done * 2, committed=(done - back) * 2, rolled_back=back * 2)
            transactions[name] = TransactionTally(
                whole=whole, window=inside, latency=self._latency(done, mean_s)
            )
        latency = self._latency(round(per_s * window), mean_s, whole=True)
        wait = self._latency(round(per_s * window), mean_s * 0.05) if rate else None
        return Tally(
            users=users,
            window_s=window,
            whole_s=window * 2,
            transactions=transactions,
            latency=latency,
            wait=wait,
            load_generator_cpu_s=per_s * window * 2 * 0.00002,
            load_generator_threads=1,
        )

    def _latency(self, n: int, mean_s: float, whole: bool = False) -> Latency:
        sigma = 0.55
        values = np.sort(self.random.lognormal(np.log(mean_s) - sigma**2 / 2, sigma, max(n, 1)))
        values *= mean_s / values.mean()
        rank = 1.96 * np.sqrt(n * 0.999 * 0.001)

        def at(place: float) -> float:
            return float(values[int(min(max(place, 0), n - 1))])

        return Latency(
            n=n,
            mean_s=float(values.mean()),
            p50_s=at(n * 0.5),
            p90_s=at(n * 0.9),
            p95_s=at(n * 0.95),
            p99_s=at(n * 0.99),
            p999_s=at(n * 0.999),
            p999_low_s=at(n * 0.999 - rank),
            p999_high_s=at(n * 0.999 + rank),
            max_s=at(n),
            histogram=histogram(values) if whole else "",
        )

    def _quantities(self, model: Model, users: int, per_s: float) -> dict[str, Summary]:
        busy = min(0.99, per_s / 3400)
        log_s = model.log_s * (1 + users / 90) * self.random.normal(1, 0.02)
        values = {
            "cores.busy": ("share", busy),
            "database.busy": ("share", busy * 0.98),
            "load_generator.busy": ("share", 0.03 + 0.1 * busy),
            "device.reads": ("1/s", per_s * model.read_bytes / 8192),
            "device.read_bytes": ("B/s", per_s * model.read_bytes),
            "device.write_bytes": ("B/s", per_s * model.write_bytes),
            "device.reads_per_transaction": ("reads", model.read_bytes / 8192),
            "device.read_bytes_per_transaction": ("B", model.read_bytes),
            "device.write_bytes_per_transaction": ("B", model.write_bytes),
            "device.read_await": ("s", 0.0004 if model.read_bytes else 0.0),
            "log.write_latency": ("s", log_s),
            "log.write_latency_10s": ("s", log_s),
            "log.bytes": ("B/s", per_s * 6900),
            "log.bytes_per_transaction": ("B", 6900 * self.random.normal(1, 0.01)),
            "log.commits_per_flush": ("commits", 1 + users / 8),
            "log.full_page_image_share": ("share", 0.031),
            "checkpoints.timed": ("1/s", 0.0),
            "checkpoints.requested": ("1/s", 1 / 60),
            "cache.hit_ratio": ("share", 0.97 if model.read_bytes else 0.999),
            "tables.dead_tuples": ("rows", 41000 + users * 300),
            "server.cpu_per_transaction": ("s", 0.00047 * self.random.normal(1, 0.02)),
            "load_generator.cpu_per_transaction": ("s", 0.00002),
        }
        sources = {
            "device.read_bytes": {"sim0": values["device.read_bytes"][1]},
            "device.write_bytes": {"sim0": values["device.write_bytes"][1]},
        }
        return {
            name: Summary(unit=unit, value=value, high=value * 1.3, sources=sources.get(name, {}))
            for name, (unit, value) in values.items()
        }

    def _checks(self, tally: Tally, mean_s: float, rate: float | None) -> tuple[Check, ...]:
        identity = Check(
            name="identity",
            passed=True,
            seen="0",
            limit="0",
            sentence="Every transaction that was started has an outcome.",
        )
        ratio = tally.throughput_per_s * 60 / tally.nopm
        mix = Check(
            name="mix",
            passed=True,
            seen=f"{ratio:.4f}",
            limit="2.2447 +- 2%",
            sentence=f"TPM/NOPM is {ratio:.4f}; the deck makes it 2.2447.",
        )
        little = Check(
            name="little",
            passed=True,
            seen="0.0%",
            limit="2%",
            sentence=(
                f"Users / throughput is {mean_s * 1000:.2f} ms, the mean latency is within 2% of"
                " it."
            ),
        )
        return (identity, mix) if rate else (identity, mix, little)

    def _series(self, model: Model, per_s: float, length: float) -> tuple[Series, ...]:
        at = tuple(float(s) for s in range(1, int(length) + 1))
        made = []
        wave = np.array([1.6 if 20 < s % 60 < 38 else 0.85 for s in at])
        for quantity, unit, level in (
            ("device.read_bytes", "B/s", per_s * model.read_bytes),
            ("device.write_bytes", "B/s", per_s * model.write_bytes * wave),
            ("log.bytes", "B/s", per_s * 6900),
        ):
            made.append(
                Series(
                    quantity=quantity,
                    source="sim0",
                    unit=unit,
                    at_s=at,
                    value=self._noisy(level, len(at), 0.06),
                )
            )
        for core in range(4):
            level = min(0.97, per_s / 3400)
            made.append(
                Series(
                    quantity="cores.busy",
                    source=f"core{core}",
                    unit="share",
                    at_s=at,
                    value=self._noisy(level, len(at), 0.02, most=1.0),
                )
            )
        begins = tuple(1.0 if int(s) % 60 == 20 else 0.0 for s in at)
        made.append(
            Series(
                quantity="checkpoints.requested", source="server", unit="1/s", at_s=at, value=begins
            )
        )
        return tuple(made)

    def _noisy(
        self, level: object, n: int, scatter: float, most: float = np.inf
    ) -> tuple[float, ...]:
        return tuple(
            np.round(
                np.minimum(
                    np.broadcast_to(np.asarray(level), n) * self.random.normal(1, scatter, n), most
                ),
                4,
            ).tolist()
        )

    def _seconds(self, per_s: float, mean_s: float, length: int) -> tuple[Second, ...]:
        return tuple(
            Second(
                at_s=at,
                transaction=name,
                committed=int(per_s * share),
                rolled_back=0,
                failed=0,
                unknown=0,
                mean_s=mean_s,
                p50_s=mean_s * 0.85,
                p99_s=mean_s * 3,
                p999_s=mean_s * 5,
                max_s=mean_s * 7,
            )
            for at in range(length)
            for name, share in DECK.items()
        )


def histogram(values_s: np.ndarray) -> str:
    """An HDR histogram V2 (nanoseconds, 3 digits, 1 us to 1 h) in base64: header, then counts as
    zig-zag LEB128, a run of zeroes as its negative length.
    """
    value = np.maximum(values_s * 1e9, 1000).astype(np.int64) >> 9
    bucket = np.maximum(np.frexp(value | 2047)[1] - 11, 0)
    index = (bucket << 10) + (value >> bucket)
    counts = np.bincount(index)
    payload, zeroes = bytearray(), 0
    for count in counts.tolist():
        if count == 0:
            zeroes += 1
            continue
        if zeroes:
            payload += _leb(-zeroes)
            zeroes = 0
        payload += _leb(count)
    return base64.b64encode(
        struct.pack(">IIIIQQd", 0x1C849313, len(payload), 0, 3, 1000, 3_600_000_000_000, 1.0)
        + payload
    ).decode()


def _leb(number: int) -> bytes:
    left, out = (number << 1) ^ (number >> 63), bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def stop_results(cell: str, users: int) -> tuple[StopResult, ...]:
    first = 0.063 if cell == "disk" else 0.051
    return (
        StopResult(
            stop="plateau",
            fired=True,
            seen=f"{first}, 0.022",
            limit="0.07",
            sentence=(
                f"Throughput stopped growing: elasticity {first} and 0.022 on two steps running"
                f" beyond {users} users (limit 0.07)."
            ),
        ),
        StopResult(
            stop="log_latency",
            fired=False,
            seen="1.9 ms" if cell == "disk" else "60 us",
            limit="5 ms",
            sentence="Log writes stayed within the limit of 5 ms.",
        ),
    )


class Searched(NamedTuple):
    """The users of a climb's search rungs, its knee, and the users around it."""

    users: tuple[int, ...]
    knee: int
    bracket: tuple[int, int]


CLIMBS = {
    "disk": Searched((4, 6, 9, 14, 21, 32, 48, 72), 26, (21, 32)),
    "memory": Searched((4, 6, 9, 14, 21, 32, 48), 17, (14, 21)),
}
CONDITIONS = Check(
    name="conditions",
    passed=True,
    seen="12 of 12",
    limit="12",
    sentence="All twelve consistency conditions hold on all warehouses.",
)
HOST = Host(
    cpu="Simulated CPU",
    cores=4,
    memory_bytes=8 * 2**30,
    kernel="6.18",
    system="Simulated",
    virtualisation="hypervisor",
    settings={"dirty_ratio": "20", "transparent_hugepage": "madvise"},
    drives=(Drive(name="sim0", real=("sim0",), model="Simulated drive", size_bytes=10**12),),
)
SETTINGS = (
    Setting(name="server_version", value="simulated", matters=True),
    Setting(name="data_checksums", value="on", matters=True),
    Setting(name="wal_sync_method", value="fdatasync", matters=True),
    Setting(name="max_wal_size", value="4GB", source="rule: checkpoints are timed", matters=True),
    Setting(name="shared_buffers", value="1GB", source="plan"),
    Setting(name="max_connections", value="160", source="rule"),
)


def put_climb(store: Store, bench: Bench, cell: str) -> None:
    users, knee, bracket = CLIMBS[cell]
    for n in users:
        store.put(bench.rung(cell, "search", n))
    store.put(bench.rung(cell, "bisection", knee))
    store.put(bench.rung(cell, "drift_check", users[0], repeat=1))
    store.put_climb(
        Climb(
            cell=Cell(id=cell, storage=cell),
            rungs=(),
            stop_results=stop_results(cell, knee),
            stopped_by="plateau",
            knee_users=knee,
            bracket=bracket,
            checks=(CONDITIONS,),
        )
    )


def make(root: Path = HERE, name: str = NAME) -> Path:
    """Record the campaign into <root>/<name>, in place of what was there."""
    shutil.rmtree(root / name, ignore_errors=True)
    bench = Bench()
    plan, command = Plan.model_validate(PLAN), "kneebench run tests/recorded/plan.toml"
    with Store.create(root, plan, HOST, name=name, command=command) as store:
        store.put_base_image({"key": "recorded", "bytes": str(6 * 10**9), "seconds": "61.0"})
        for cell in CLIMBS:
            store.put_settings(Cell(id=cell, storage=cell), SETTINGS)
            put_climb(store, bench, cell)
        for repeat in (1, 2, 3):
            for cell in ("disk", "memory") if repeat % 2 else ("memory", "disk"):
                knee = CLIMBS[cell].knee
                store.put(bench.rung(cell, "final_run", knee, repeat=repeat))
                store.put(bench.rung(cell, "fixed_rate", knee, repeat=repeat, rate=880.0))
        store.finish()
    (root / name / "lock").unlink()
    return root / name


def copied(root: Path) -> Path:
    """A copy of the recorded campaign under `root`, for a test that writes."""
    return Path(shutil.copytree(HERE / NAME, root / NAME))


if __name__ == "__main__":
    make()
