"""The plan's settings of the kernel: sysctls for the campaign, and those of a volume's drives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field, field_validator

from kneebench.plan.values import Name, Part, Text, Whole, wrong
from kneebench.units import Bytes

# Sysctls that a plan may set, and the values that they may have.
#
# Source of the ranges: the kernel's documentation, admin-guide/sysctl (vm.rst, net.rst, fs.rst,
# kernel.rst) and networking/ip-sysctl.rst; where these give none, the bounds in mm/page-
# writeback.c, net/core/sysctl_net_core.c and net/ipv4/sysctl_net_ipv4.c. A bound that is narrower
# than the kernel's has its reason beside it. The kernel judges what is in no table here, once it is
# written.

ALLOWED = (
    "vm.*",
    "fs.aio-max-nr",
    "net.core.*",
    "net.ipv4.tcp_*",
    "kernel.sched_*",
    "kernel.numa_balancing",
)
"""Sysctls that a plan may set; the rest has no bearing on storage, or can stop a machine."""
REFUSED = {
    "can stop the machine, or the programs on it": (
        *("vm.panic_on_oom", "vm.memory_failure_*", "vm.oom_kill_allocating_task"),
        *("kernel.sched_rt_*", "kernel.sched_deadline_*"),
    ),
    "can leave all programs without memory": (
        *("vm.min_free_kbytes", "vm.lowmem_reserve_ratio", "vm.*_reserve_kbytes"),
        *("vm.nr_hugepages*", "vm.nr_overcommit_hugepages"),
        *("vm.overcommit_*", "net.ipv4.tcp_mem"),
    ),
    "acts once instead of being set": ("vm.drop_caches", "vm.compact_memory", "vm.stat_refresh"),
    "protects the kernel, or programs from each other": (
        *("vm.mmap_min_addr", "vm.mmap_rnd_*", "vm.legacy_va_layout", "vm.memfd_noexec"),
        *("vm.unprivileged_userfaultfd", "vm.hugetlb_shm_group"),
        *("net.core.bpf_jit_*", "net.core.tstamp_allow_data"),
    ),
    "protects the machine's network": (
        *("net.core.xfrm_*", "net.core.message_*", "net.core.warnings"),
        *("net.ipv4.tcp_syncookies", "net.ipv4.tcp_rfc1337", "net.ipv4.tcp_challenge_ack_limit"),
        *("net.ipv4.tcp_invalid_ratelimit", "net.ipv4.tcp_min_snd_mss"),
        *("net.ipv4.tcp_max_orphans", "net.ipv4.tcp_max_tw_buckets"),
        *("net.ipv4.tcp_fastopen_*", "net.ipv4.tcp_allowed_congestion_control"),
        *("net.ipv4.tcp_l3mdev_accept", "net.ipv4.tcp_fwmark_accept"),
    ),
    "is for new network namespaces": (
        *("net.core.devconf_inherit_init_net", "net.core.fb_tunnels_only_for_init_net"),
        "net.ipv4.tcp_child_ehash_entries",
    ),
    "is only read": (
        *("net.core.netdev_rss_key", "net.ipv4.tcp_available_*", "net.ipv4.tcp_ehash_entries"),
    ),
}
"""Those that a plan may not set, by what each of them does; each can be a pattern."""
PAIRS = (
    ("vm.dirty_bytes", "vm.dirty_ratio"),
    ("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
)
"""The kernel sets one of a pair to 0 when the other is written."""
ONE_FILE = ("kernel.sched_min_granularity_ns", "kernel.sched_base_slice_ns")
"""The second is the first's name since Linux 6.6."""
BACKGROUND = {
    "vm.dirty_background_bytes": "vm.dirty_bytes",
    "vm.dirty_background_ratio": "vm.dirty_ratio",
}
"""Where writing in the background begins, which is below where writers wait: the kernel halves one
that is not (`domain_dirty_limits`)."""
INTEGER, LONG = 2**31 - 1, 2**63 - 1
"""The largest value of a setting that the kernel keeps as an int, or as a long."""
SWITCHES = (
    "vm.compact_unevictable_allowed",
    "vm.numa_stat",
    "vm.oom_dump_tasks",
    "vm.hugetlb_optimize_vmemmap",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_child_runs_first",
    "kernel.sched_energy_aware",
    "kernel.sched_schedstats",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_demux",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_thin_linear_timeouts",
    "net.ipv4.tcp_window_scaling",
)
SLICES = (
    "kernel.sched_latency_ns",
    "kernel.sched_min_granularity_ns",
    "kernel.sched_idle_min_granularity_ns",
    "kernel.sched_base_slice_ns",
)
"""Time that a task gets before another one does."""
RANGES: dict[str, tuple[int, int]] = {
    # The kernel takes 8192, and a ratio of 0: each program that writes would wait for a drive.
    "vm.dirty_bytes": (2**20, LONG),
    "vm.dirty_ratio": (1, 100),
    "vm.dirty_background_bytes": (4096, LONG),  # it takes 1, and counts whole pages
    "vm.dirty_background_ratio": (0, 100),
    "vm.dirty_expire_centisecs": (0, INTEGER),
    "vm.dirty_writeback_centisecs": (0, INTEGER),
    "vm.dirtytime_expire_seconds": (0, INTEGER),
    "vm.swappiness": (0, 200),  # before Linux 5.8: 100
    "vm.vfs_cache_pressure": (1, INTEGER),  # at 0, it can use up all memory (vm.rst)
    "vm.vfs_cache_pressure_denom": (100, INTEGER),
    "vm.zone_reclaim_mode": (0, 7),
    "vm.watermark_scale_factor": (1, 3000),
    "vm.watermark_boost_factor": (0, INTEGER),
    "vm.compaction_proactiveness": (0, 100),
    "vm.extfrag_threshold": (0, 1000),
    "vm.min_slab_ratio": (0, 100),
    "vm.min_unmapped_ratio": (0, 100),
    "vm.page-cluster": (0, 31),
    "vm.stat_interval": (1, INTEGER),
    "vm.laptop_mode": (0, INTEGER),
    "vm.max_map_count": (65530, INTEGER),  # the default; with less, other processes may fail
    "fs.aio-max-nr": (65536, LONG),  # the default; with less, other processes may fail
    "kernel.numa_balancing": (0, 3),
    "kernel.sched_cfs_bandwidth_slice_us": (1, INTEGER),
    "kernel.sched_rr_timeslice_ms": (1, INTEGER),
    # As in kernel/sysctl.c before Linux 5.13. In debugfs the kernel checks none of them, and 0 for
    # a slice would let programs take turns at every tick.
    **dict.fromkeys(SLICES, (100_000, 1_000_000_000)),
    "kernel.sched_wakeup_granularity_ns": (0, 1_000_000_000),
    "kernel.sched_tunable_scaling": (0, 2),
    "kernel.sched_nr_migrate": (1, 1024),  # own; so many tasks move at once, by default up to 32
    "kernel.sched_migration_cost_ns": (0, 1_000_000_000),  # own; the default is 500,000
    "net.core.busy_poll": (0, INTEGER),
    "net.core.busy_read": (0, INTEGER),
    # With 0 no packet arrives any more, nor those of the terminal that started kneebench.
    "net.core.dev_weight": (1, INTEGER),
    "net.core.dev_weight_rx_bias": (1, INTEGER),
    "net.core.dev_weight_tx_bias": (1, INTEGER),
    "net.core.netdev_budget": (1, INTEGER),
    "net.core.netdev_budget_usecs": (1, INTEGER),
    "net.core.netdev_max_backlog": (100, INTEGER),
    "net.core.somaxconn": (1, INTEGER),
    # The kernel takes 2304 and 4608; tcp_rmem and tcp_wmem begin at 4096 by default.
    "net.core.rmem_default": (8192, INTEGER),
    "net.core.rmem_max": (8192, INTEGER),
    "net.core.wmem_default": (8192, INTEGER),
    "net.core.wmem_max": (8192, INTEGER),
    "net.core.optmem_max": (4096, INTEGER),
    "net.ipv4.tcp_rmem": (4096, INTEGER),
    "net.ipv4.tcp_wmem": (4096, INTEGER),
    "net.ipv4.tcp_adv_win_scale": (-31, 31),
    "net.ipv4.tcp_app_win": (0, 31),
    "net.ipv4.tcp_early_retrans": (0, 4),
    "net.ipv4.tcp_ecn": (0, 5),
    "net.ipv4.tcp_fastopen": (0, 3),  # further bits accept data without a cookie
    "net.ipv4.tcp_fin_timeout": (1, INTEGER),
    "net.ipv4.tcp_frto": (0, 2),
    "net.ipv4.tcp_keepalive_intvl": (1, INTEGER),
    "net.ipv4.tcp_keepalive_probes": (1, 255),
    "net.ipv4.tcp_keepalive_time": (1, INTEGER),
    "net.ipv4.tcp_max_syn_backlog": (1, INTEGER),
    "net.ipv4.tcp_mtu_probing": (0, 2),
    "net.ipv4.tcp_orphan_retries": (0, 255),
    # With 0 no connection sends any more.
    "net.ipv4.tcp_pacing_ca_ratio": (1, 1000),
    "net.ipv4.tcp_pacing_ss_ratio": (1, 1000),
    "net.ipv4.tcp_reordering": (1, 255),
    "net.ipv4.tcp_retries1": (3, 255),  # RFC 1122, 4.2.3.5
    "net.ipv4.tcp_retries2": (3, 255),  # with less, one lost packet can end each connection
    "net.ipv4.tcp_rto_max_ms": (1000, 120_000),
    "net.ipv4.tcp_syn_retries": (1, 127),
    "net.ipv4.tcp_synack_retries": (1, 255),
    "net.ipv4.tcp_timestamps": (0, 2),
    "net.ipv4.tcp_tw_reuse": (0, 2),
    **dict.fromkeys(SWITCHES, (0, 1)),
}
"""Least and most value; without an entry: 0 to LONG."""
COUNTS = {"net.ipv4.tcp_rmem": 3, "net.ipv4.tcp_wmem": 3}
"""Numbers that a setting consists of, none smaller than the one before; 1 for all others."""
WORDS = {
    "net.core.default_qdisc": r"[a-z0-9_]+",
    "net.ipv4.tcp_congestion_control": r"[a-z0-9_]+",
    "net.core.flow_limit_cpu_bitmap": r"[0-9a-f,]+",
    "net.core.rps_default_mask": r"[0-9a-f,]+",
    "vm.numa_zonelist_order": r"[A-Za-z]+",
}
"""Settings that are no numbers, and their form: names, and sets of CPUs in hexadecimal."""


def why_not(given: Mapping[str, int | str]) -> Iterator[tuple[str, str]]:
    """What of these sysctls a plan may not set: the name, and what is allowed in its place.

    >>> dict(why_not({"vm.swappiness": 300, "vm.laptop_mode": 5}))
    {'vm.swappiness': 'a whole number from 0 to 200'}
    >>> dict(why_not({"vm.panic_on_oom": 0}))["vm.panic_on_oom"]
    'sysctls other than this one: it can stop the machine, or the programs on it'
    """
    for name, value in given.items():
        if reason := _why_refused(name) or _why_not_value(name, value):
            yield name, reason
    for one, other in PAIRS:
        if one in given and other in given:
            yield other, f"one of {one} and {other}: each sets the other to 0"
    if {*ONE_FILE} <= {*given}:
        yield ONE_FILE[1], f"one of {ONE_FILE[0]} and {ONE_FILE[1]}: they can be the same setting"
    for low, high in BACKGROUND.items():
        if low in given and high in given and _number(given[low]) >= _number(given[high]):
            yield low, f"less than {high}, where programs that write begin to wait"


def _why_refused(name: str) -> str:
    for does, names in REFUSED.items():
        if any(fnmatchcase(name, one) for one in names):
            return f"sysctls other than this one: it {does}"
    well_formed = re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+", name)
    if well_formed and any(fnmatchcase(name, one) for one in ALLOWED):
        return ""
    return f"a name among {', '.join(ALLOWED)}"


def _why_not_value(name: str, value: int | str) -> str:
    if form := WORDS.get(name):
        return "" if re.fullmatch(form, str(value)) else "one word, as the kernel writes it"
    (least, most), count = RANGES.get(name, (0, LONG)), COUNTS.get(name, 1)
    numbers = str(value).split()
    if len(numbers) == count and all(re.fullmatch(r"-?[0-9]{1,19}", one) for one in numbers):
        found = [int(one) for one in numbers]
        if found == sorted(found) and all(least <= one <= most for one in found):
            return ""
    bounds = f"from {least} to {most}" if most < INTEGER else f"of at least {least}"
    if count > 1:
        return f"{count} whole numbers {bounds}, none smaller than the one before"
    return f"a whole number {bounds}"


def _number(value: int | str) -> int:
    """-1 for what is none, which has an error of its own."""
    text = str(value).strip()
    return int(text) if re.fullmatch(r"[0-9]{1,19}", text) else -1


PAGE_BYTES = 4096


class Kernel(Part):
    """Settings of the kernel for the whole campaign; restored when it ends. Needs root."""

    sysctl: dict[Name, Whole | Text] = Field(
        default={}, max_length=100, description=f"By name: {', '.join(ALLOWED)}"
    )

    @field_validator("sysctl")
    @classmethod
    def _are_allowed(cls, given: dict[str, int | str]) -> dict[str, int | str]:
        for name, allowed in why_not(given):
            raise wrong(name, sentence=allowed)
        return given


class DriveSettings(Part):
    """Kernel settings of a volume's drives; restored when it is taken apart."""

    scheduler: Annotated[
        Name, Field(description="I/O scheduler of each drive, such as none; empty: as it is")
    ] = ""
    nr_requests: Annotated[
        Whole | None,
        Field(ge=4, le=65536, description="Length of each drive's request queue; empty: as it is"),
    ] = None
    read_ahead: Annotated[
        Bytes | None,
        Field(
            ge=0,
            le=2**30,
            description="Read-ahead of each drive, and of md or btrfs on them; empty: as it is",
        ),
    ] = None

    @field_validator("scheduler")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if not re.fullmatch(r"[a-z0-9_-]*", name):
            raise wrong(sentence="the name of an I/O scheduler, such as none or mq-deadline")
        return name

    @field_validator("read_ahead")
    @classmethod
    def _is_of_pages(cls, size: int | None) -> int | None:
        if size and size % PAGE_BYTES:
            raise wrong(sentence="a multiple of 4 KiB")
        return size
