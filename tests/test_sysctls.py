"""Sysctls of a plan: which ones it may set, and to what; no test here changes any."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.cli import app
from kneebench.lab.sysctl_files import MOVED
from kneebench.plan.allowed import read_allowed
from kneebench.plan.kernel import COUNTS, WORDS, Kernel, why_not

PROC_SYS = Path("/proc/sys")
RANGES, REFUSED = read_allowed().sysctls, read_allowed().refused_sysctls
SAID = {
    "kernel.panic": r"a name among vm\.\*",
    "kernel.core_pattern": r"a name among vm\.\*",
    "vm/swappiness": r"a name among vm\.\*",
    "vm..x": r"a name among vm\.\*",
    "vm.panic_on_oom": "it can stop the machine",
    "vm.oom_kill_allocating_task": "it can stop the machine",
    "kernel.sched_rt_runtime_us": "it can stop the machine",
    "vm.min_free_kbytes": "without memory",
    "vm.overcommit_memory": "without memory",
    "vm.drop_caches": "acts once",
    "vm.mmap_rnd_bits": "protects the kernel",
    "net.core.bpf_jit_harden": "protects the kernel",
    "net.core.bpf_jit_enable": "protects the kernel",
    "net.core.bpf_jit_kallsyms": "protects the kernel",
    "net.ipv4.tcp_syncookies": "protects the machine's network",
    "net.ipv4.tcp_rfc1337": "protects the machine's network",
    "net.ipv4.tcp_fastopen_key": "protects the machine's network",
    "net.ipv4.tcp_ehash_entries": "only read",
}
"""What is said of sysctls that no plan may set."""
WRONG = {
    "vm.dirty_bytes": (1, "at least 1048576"),
    "vm.dirty_background_bytes": (1, "at least 4096"),
    "vm.dirty_ratio": (0, "from 1 to 100"),
    "vm.dirty_background_ratio": (101, "from 0 to 100"),
    "vm.swappiness": (201, "from 0 to 200"),
    "vm.vfs_cache_pressure": (0, "at least 1"),
    "vm.zone_reclaim_mode": (8, "from 0 to 7"),
    "vm.dirty_writeback_centisecs": (-1, "at least 0"),
    "vm.dirty_expire_centisecs": ("soon", "a whole number"),
    "vm.unheard_of": ("many", "a whole number of at least 0"),
    "vm.page-cluster": ("3 4", "a whole number from 0 to 31"),
    "net.ipv4.tcp_rmem": ("8192 4096 65536", "3 whole numbers of at least 4096, none smaller"),
    "net.ipv4.tcp_wmem": (4096, "3 whole numbers"),
    "net.core.default_qdisc": ("fq; reboot", "one word"),
    "net.core.netdev_budget": (0, "at least 1"),
    "fs.aio-max-nr": (0, "at least 65536"),
    "vm.max_map_count": (65529, "at least 65530"),
    "kernel.sched_base_slice_ns": (0, "from 100000 to 1000000000"),
    "kernel.sched_min_granularity_ns": (10**10, "from 100000 to 1000000000"),
    "kernel.sched_nr_migrate": (0, "from 1 to 1024"),
    "kernel.sched_tunable_scaling": (3, "from 0 to 2"),
}


@pytest.mark.parametrize("name", SAID)
def test_a_sysctl_that_no_plan_may_set_is_an_error_with_its_reason(name: str) -> None:
    with pytest.raises(ValueError, match=SAID[name]):
        Kernel(sysctl={name: 1})


@pytest.mark.parametrize("name", WRONG)
def test_a_value_that_cannot_be_meant_is_an_error_with_what_can(name: str) -> None:
    value, allowed = WRONG[name]
    with pytest.raises(ValueError, match=re.escape(allowed)):
        Kernel.model_validate({"sysctl": {name: value}})


@pytest.mark.parametrize("value", ["1\n2", "7\x00", "7\x1b[0m"])
def test_a_value_on_two_lines_or_with_a_control_character_is_an_error(value: str) -> None:
    with pytest.raises(ValueError, match="control characters"):
        Kernel(sysctl={"vm.swappiness": value})


def test_both_of_a_pair_and_a_background_limit_above_the_other_are_errors() -> None:
    with pytest.raises(ValueError, match="each sets the other to 0"):
        Kernel(sysctl={"vm.dirty_bytes": 2**26, "vm.dirty_ratio": 5})
    with pytest.raises(ValueError, match=r"less than vm\.dirty_ratio"):
        Kernel(sysctl={"vm.dirty_background_ratio": 20, "vm.dirty_ratio": 20})


def test_two_names_of_one_file_are_an_error() -> None:
    both = {"kernel.sched_min_granularity_ns": 3_000_000, "kernel.sched_base_slice_ns": 3_000_000}
    with pytest.raises(ValueError, match="they can be the same setting"):
        Kernel.model_validate({"sysctl": both})


def test_what_people_set_for_databases_is_allowed() -> None:
    usual: dict[str, int | str] = {
        "vm.swappiness": 1,
        "vm.dirty_background_bytes": 67_108_864,
        "vm.dirty_bytes": "536870912",
        "vm.dirty_expire_centisecs": 500,
        "vm.zone_reclaim_mode": 0,
        "vm.vfs_cache_pressure": 50,
        "vm.max_map_count": 262_144,
        "fs.aio-max-nr": 1_048_576,
        "net.core.somaxconn": 4096,
        "net.core.rmem_max": 16_777_216,
        "net.core.default_qdisc": "fq",
        "net.ipv4.tcp_rmem": "4096 87380\t16777216",
        "net.ipv4.tcp_congestion_control": "bbr",
        "net.ipv4.tcp_keepalive_time": 86_400,
        "net.ipv4.tcp_retries2": 5,
        "kernel.numa_balancing": 0,
        "kernel.sched_autogroup_enabled": 0,
        "kernel.sched_migration_cost_ns": 5_000_000,
        "kernel.sched_min_granularity_ns": 10_000_000,
        "kernel.sched_wakeup_granularity_ns": 15_000_000,
    }
    usual["net.ipv4.tcp_rmem"] = str(usual["net.ipv4.tcp_rmem"]).replace("\t", " ")
    assert Kernel(sysctl=usual).sysctl == usual


def test_the_value_that_each_sysctl_has_on_this_machine_is_in_its_range() -> None:
    """Of two that set each other to 0, one has a value that nobody can write."""
    found, wrong = 0, dict[str, str]()
    for name in (*RANGES, *WORDS):
        file = PROC_SYS.joinpath(*name.split("."))
        if not file.exists():
            continue
        now = " ".join(file.read_text().split())
        found += 1
        if not (now == "0" and name.endswith("_bytes")):
            wrong |= dict(why_not({name: now}))
    assert found > 20
    assert wrong == {}


def test_no_sysctl_is_in_two_tables() -> None:
    refused = {name for names in REFUSED.values() for name in names}
    assert {*MOVED} <= {*RANGES}
    assert not {*RANGES} & {*WORDS} and not refused & {*RANGES, *WORDS} and {*COUNTS} <= {*RANGES}
    assert not [name for name in (*RANGES, *WORDS) if "sysctls other" in str([*why_not({name: 1})])]


def test_check_refuses_a_plan_that_weakens_the_machine(own_place: Path) -> None:
    sysctl = '{ "net.core.bpf_jit_harden" = 0 }'
    text = f'kernel.sysctl = {sysctl}\n[storages.disk]\npath = "."\n'
    (own_place / "plan.toml").write_text(text)
    answer = CliRunner().invoke(app, ["check", "plan.toml"])
    assert answer.exit_code == 2
    assert 'line 1: kernel.sysctl."net.core.bpf_jit_harden"' in answer.stderr
    assert "sysctls other than this one: it protects the kernel" in answer.stderr
