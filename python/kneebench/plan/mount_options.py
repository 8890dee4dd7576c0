"""The mount options that a plan may have, by file system: they shape its reads and writes.

Everything else is refused: options that name a drive, a file or a subvolume; those that mount(8)
obeys itself (loop, bind, remount, helper, x-...); read-only, degraded and repairing mounts.
Sources: mount(8) of util-linux 2.38, xfs(5), ext4(5), btrfs(5), and the documentation of Linux
6.18.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kneebench.plan.option_forms import has_form, shown
from kneebench.plan.values import wrong

ANY = (
    *("async", "defaults", "dirsync", "lazytime", "noatime", "nodev", "nodiratime", "nolazytime"),
    *("nosuid", "relatime", "rw", "strictatime", "sync"),
)
"""Those of every file system. Options on rights are harmless, and are copied from fstab."""
OWN: Mapping[str, tuple[str, ...]] = {
    "xfs": (
        *("allocsize=SIZE", "dax[=always|inode|never]", "discard", "filestreams", "inode32"),
        *("inode64", "largeio", "logbsize=SIZE", "logbufs=NUMBER", "max_atomic_write=SIZE"),
        *("noalign", "nodiscard", "nolargeio", "noquota", "sunit=NUMBER", "swalloc"),
        *("swidth=NUMBER", "wsync"),
    ),
    "ext4": (
        *("auto_da_alloc", "barrier[=0|1]", "block_validity", "commit=NUMBER"),
        *("data=journal|ordered|writeback", "data_err=abort|ignore", "dax[=always|inode|never]"),
        *("delalloc", "dioread_lock", "dioread_nolock", "discard", "errors=continue|remount-ro"),
        *("init_itable[=NUMBER]", "inode_readahead_blks=NUMBER", "journal_async_commit"),
        *("journal_checksum", "journal_ioprio=NUMBER", "max_batch_time=NUMBER"),
        *("mb_optimize_scan=0|1", "min_batch_time=NUMBER", "no_prefetch_block_bitmaps"),
        *("noauto_da_alloc", "nobarrier", "noblock_validity", "nodelalloc", "nodiscard"),
        *("noinit_itable", "nojournal_checksum", "nombcache", "stripe=NUMBER"),
    ),
    "btrfs": (
        *("autodefrag", "barrier", "clear_cache", "commit=NUMBER"),
        *("compress[=COMPRESSION]", "compress-force[=COMPRESSION]", "datacow", "datasum"),
        *("discard[=async|sync]", "flushoncommit", "max_inline=SIZE", "metadata_ratio=NUMBER"),
        *("noautodefrag", "nobarrier", "nodatacow", "nodatasum", "nodiscard"),
        *("noflushoncommit", "nospace_cache", "nossd", "nossd_spread", "notreelog"),
        *("space_cache[=v1|v2]", "ssd", "ssd_spread", "thread_pool=NUMBER", "treelog"),
    ),
}
"""Those of one."""


def read_mount(kind: str, given: Sequence[str]) -> list[str]:
    """The mount options of a file system from a plan's entries, one or several with commas in each.

    Raises the rule's error for one that is not allowed.

    >>> read_mount("ext4", ["noatime", "data=ordered,commit=30"])
    ['noatime', 'data=ordered', 'commit=30']
    """
    known = sorted((*ANY, *OWN[kind]))
    options = [option for entry in given for option in entry.split(",")]
    for option in options:
        if not has_form(option, known):
            raise wrong(sentence=f"not {shown(option)}; for {kind}: {', '.join(known)}")
    return options
