"""The resources of the verdict, as data: what they are called, what is read of each, from which
limit on one has too little, where the limit comes from, and what relieves it.

resource_evidence.py judges them. The sources are those of docs/method/limits.md; "own" means that a
limit was set here, on the recorded situations (tests/recorded/situations.py) and the reason given.
"""

from __future__ import annotations

from typing import NamedTuple


class Resource(NamedTuple):
    """One resource. `called`: in "is limited by ..."; `quantities`: what is read of it;
    `limit`: a share of the time, the cores or what it can do (the plan has another one for log
    writes, in seconds); `reliefs`: changes that would prove it (plan/relief.py), the best first;
    none where kneebench can make none.
    """

    key: str
    called: str
    quantities: tuple[str, ...]
    limit: float
    source: str
    reliefs: tuple[str, ...] = ()


LOAD_GENERATOR = Resource(
    "load generator",
    "the load generator",
    ("load_generator.busy", "load_generator.delay"),
    limit=0.80,
    source="method: beyond 80% its threads are measured, not the database",
    reliefs=("another load generator core",),
)
CPU = Resource(
    "cpu",
    "CPU",
    (
        "database.busy",
        "database.others",
        "server.host_busy",
        "waits.cpu",
        "processes.run_delay",
        "pressure.cpu",
    ),
    limit=0.97,
    source="stops.saturation of the plan; SanDisk's memory sweep has its control at 97%",
    reliefs=("more cores",),
)
ONE_CORE = Resource(
    "one core",
    "a single core",
    ("cores.busy", "server.core_busy", "threads.cpu"),
    limit=0.95,
    source="The Register's review: software RAID stopped with one core above 95%, the others idle",
    reliefs=("data in memory",),
)
LOG = Resource(
    "log",
    "log writes",
    ("log.write_latency", "waits.log"),
    limit=0.50,
    source="stops.log_latency of the plan; half of the time, as half of it could be gained",
    reliefs=("log in memory",),
)
DATA_READS = Resource(
    "data reads",
    "data reads",
    ("waits.data_read", "device.reads", "device.read_await", "device.busy", "device.queue_depth"),
    limit=0.50,
    source="half of the time, as half of it could be gained",
    reliefs=("data in memory", "more memory"),
)
DATA_WRITES = Resource(
    "data writes",
    "data writes",
    (
        "waits.data_write",
        "device.writes",
        "device.write_await",
        "device.busy",
        "device.queue_depth",
    ),
    limit=0.50,
    source="as data reads; behind a busy device its queue decides between the two",
    reliefs=("data in memory", "more memory"),
)
DEVICE = Resource(
    "device",
    "the storage's device",
    ("device.busy", "device.queue_depth", "pressure.io"),
    limit=0.80,
    source="own: of what the storage did without a database; above it, it may have been the limit",
    reliefs=("data in memory",),
)
NETWORK = Resource(
    "network",
    "the network",
    ("network.busy", "network.received", "network.sent", "network.retransmitted"),
    limit=0.80,
    source="method: 80% of the line rate, or of what was measured where that is less",
)
LOCKS = Resource(
    "locks",
    "locks",
    ("waits.lock",),
    limit=0.20,
    source="own: a fifth of the time, more than any spread-out load of the workload shows",
    reliefs=("more warehouses",),
)
LIGHTWEIGHT_LOCKS = Resource(
    "lightweight locks",
    "lightweight locks",
    ("waits.lightweight_lock",),
    limit=0.20,
    source="own: as locks",
)
OTHER_WAITS = Resource(
    "other waits",
    "other waits",
    ("waits.other",),
    limit=1.0,
    source="never named: no resource is behind them as a whole",
)
MEMORY = Resource(
    "memory",
    "memory",
    ("group_pressure.memory", "pressure.memory", "group.limit_hits"),
    limit=0.10,
    source="own: a task of the database stalled for memory in a tenth of the time",
    reliefs=("more memory",),
)
RESOURCES = (
    LOAD_GENERATOR,
    CPU,
    ONE_CORE,
    LOG,
    DATA_READS,
    DATA_WRITES,
    DEVICE,
    NETWORK,
    LOCKS,
    LIGHTWEIGHT_LOCKS,
    MEMORY,
    OTHER_WAITS,
)
"""In the order in which the first that has too little is named: busy cores lengthen every wait, and
locks are kept for longer by a transaction that waits for the log or the drive. Of log, data reads
and data writes the longest wait is named."""
STORAGE = (LOG, DATA_READS, DATA_WRITES, DEVICE)

NEARLY_BUSY, CPU_TIME = 0.90, 0.50
"""Own: utilization of the least busy core, and share of a transaction's time on a core or ready for
one, that together name the CPU below its limit: a closed loop leaves gaps on a core."""
OWN_WORK = 0.70
"""Own: least share of the busy time of its cores that the database itself used, where they are
called its bottleneck. The rest is the load generator's and the kernel's."""
OTHERS_IDLE = 0.60
"""Of the other cores, where a single one is saturated: their mean is below it."""
LOAD_GENERATOR_DELAY = 0.20
"""Own: the load generator's delay as a share of the mean latency. In a closed loop it costs a sixth
of the throughput."""
DEVICE_BUSY = 0.90
"""Utilization from which a device that serves one I/O at a time has no time left; own."""
BESIDE_A_BUSY_DEVICE = 0.20
"""Least share of the users' time in I/O for a device without time left to be the bottleneck; own.
"""
IDLE_DEVICE = 0.60
"""Utilization up to which the storage is said not to be the bottleneck; own."""
DRIVE_THREADS = (
    r"md\d|raid|dm-|dmcrypt|kcryptd|kworker|ksoftirqd|irq/|loop\d|nbd|nvme|qemu-|btrfs|xfs"
)
"""Threads that serve drives and interrupts: one that fills a core is no other program's work."""
KERNEL_DRIVE_THREADS = (
    r"md\d+_|raid\d+|z_|zvol|txg_sync|spa_|dp_sync|loop\d|iscsi|dm-|dmcrypt|kcryptd|btrfs-|xfs"
)
"""Those of the kernel that do nothing else: software RAID, ZFS, loop devices, iSCSI, encryption,
file systems. Kernel workers serve many things."""
DELAYED_IO = 0.50
"""Own: of the time of the I/Os in flight, the share in which threads of the programs that serve the
drives are ready for a core: half of it could be gained."""
LEAST_WORK = 0.05
"""Own: cores that the threads of drives use, where they are said to lack one."""
