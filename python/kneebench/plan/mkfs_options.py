"""The options of mkfs that a plan may have, by file system: they shape it on the plan's own drives.

Everything else is refused: a word that is no option, which mkfs takes for a drive; options that
name a file or a drive; what kneebench sets itself (UUID, layout, no discard, no force); the size,
which is that of the drives or of their partitions. Sources: mkfs.xfs(8) of xfsprogs 6.1 to 6.13,
mke2fs(8) of e2fsprogs 1.47, mkfs.btrfs(8) of btrfs-progs 6.2 to 6.14.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kneebench.plan.option_forms import fits, has_form, shown
from kneebench.plan.values import wrong

Known = Mapping[str, tuple[str, ...] | str]
"""Options by name, each with the forms of the entries of its list, or with its kind of value; an
empty kind is an option without a value."""
XFS: Known = {
    "-b": ("size=UNITS",),
    "-d": (
        *("agcount=NUMBER", "agsize=UNITS", "concurrency=NUMBER", "cowextsize=NUMBER"),
        *("daxinherit[=0|1]", "extszinherit=NUMBER", "noalign[=0|1]", "sectsize=UNITS", "su=UNITS"),
        *("sunit=NUMBER", "sw=NUMBER", "swidth=NUMBER"),
    ),
    "-i": (
        *("align[=0|1]", "attr=1|2", "exchange[=0|1]", "maxpct=NUMBER", "nrext64[=0|1]"),
        *("perblock=NUMBER", "projid32bit[=0|1]", "size=UNITS", "sparse[=0|1]"),
    ),
    "-l": (
        *("agnum=NUMBER", "concurrency=NUMBER", "internal[=1]", "lazy-count[=0|1]"),
        *("size=UNITS", "su=UNITS", "sunit=NUMBER", "version=1|2"),
    ),
    "-L": "LABEL",
    "-m": (
        *("autofsck[=0|1]", "bigtime[=0|1]", "crc[=0|1]", "finobt[=0|1]", "inobtcount[=0|1]"),
        *("reflink[=0|1]", "rmapbt[=0|1]"),
    ),
    "-n": ("ftype[=0|1]", "parent[=0|1]", "size=UNITS", "version=2|ci"),
    "-s": ("size=UNITS",),
}
EXT4: Known = {
    "-b": "SIZE",
    "-C": "SIZE",
    "-E": (
        *("num_backup_sb=0|1|2", "orphan_file_size=SIZE", "packed_meta_blocks[=0|1]"),
        *("resize=NUMBER", "stride=NUMBER", "stripe_width=NUMBER", "stripe-width=NUMBER"),
    ),
    "-g": "NUMBER",
    "-G": "NUMBER",
    "-i": "SIZE",
    "-I": "NUMBER",
    "-J": ("fast_commit_size=NUMBER", "location=SIZE", "size=NUMBER"),
    "-L": "LABEL",
    "-m": "PERCENT",
    "-N": "NUMBER",
    "-O": (
        *("64bit", "bigalloc", "dir_index", "dir_nlink", "ea_inode", "ext_attr", "extent"),
        *("extents", "extra_isize", "fast_commit", "filetype", "flex_bg", "has_journal"),
        *("huge_file", "inline_data", "large_dir", "large_file", "meta_bg", "metadata_csum"),
        *("metadata_csum_seed", "orphan_file", "resize_inode", "sparse_super", "sparse_super2"),
        "uninit_bg",
    ),
    "-T": "big|default|floppy|huge|largefile|largefile4|news|small",
}
BTRFS: Known = {
    "-L": "LABEL",
    "-m": "dup|raid0|raid1|raid1c3|raid1c4|raid10|single",
    "-M": "",
    "-n": "SIZE",
    "-O": (
        *("block-group-tree", "extref", "free-space-tree", "mixed-bg", "no-holes", "quota"),
        *("raid-stripe-tree", "raid1c34", "skinny-metadata", "squota"),
    ),
    "-R": ("free-space-tree", "quota"),
    "-s": "SIZE",
    "--csum": "blake2|crc32c|sha256|xxhash",
}
KNOWN: Mapping[str, Known] = {"xfs": XFS, "ext4": EXT4, "btrfs": BTRFS}
LONG: Mapping[str, Mapping[str, str]] = {
    "btrfs": {
        "--checksum": "--csum",
        "--features": "-O",
        "--label": "-L",
        "--metadata": "-m",
        "--mixed": "-M",
        "--nodesize": "-n",
        "--runtime-features": "-R",
        "--sectorsize": "-s",
    }
}
"""Other names of options."""
FEATURES = ("-O", "-R")
SWITCHED_OFF = "^"
"""Before a feature that is switched off, in these lists."""


def read_mkfs(kind: str, given: Sequence[str]) -> dict[str, str]:
    """The options of a file system by name, from a plan's words; entries of one list are joined, an
    option without a value has an empty one.

    Raises the rule's error for a word that is not allowed.

    >>> read_mkfs("xfs", ["-m", "reflink=0", "-mrmapbt=1", "-L", "data"])
    {'-m': 'reflink=0,rmapbt=1', '-L': 'data'}
    >>> read_mkfs("btrfs", ["--nodesize=32k", "-M"])
    {'-n': '32k', '-M': ''}
    """
    found: dict[str, list[str]] = {}
    for option, value in _split(kind, given):
        known, entries = KNOWN[kind][option], found.setdefault(option, [])
        if isinstance(known, str) and entries:
            raise wrong(sentence=f"{shown(option)} only once")
        for entry in [value] if isinstance(known, str) else value.split(","):
            _require_known(option, entry, known)
            if not isinstance(known, str) and _name(entry) in map(_name, entries):
                raise wrong(sentence=f"{shown(_name(entry))} only once after {shown(option)}")
            entries.append(entry)
    return {option: ",".join(entries) for option, entries in found.items()}


def allowed_for_mkfs(kind: str) -> str:
    """The options that are allowed for a file system, in words.

    >>> allowed_for_mkfs("xfs")[-73:]
    '-n (ftype[=0|1], parent[=0|1], size=UNITS, version=2|ci), -s (size=UNITS)'
    """
    every = (
        f"{name} {known}".strip() if isinstance(known, str) else f"{name} ({', '.join(known)})"
        for name, known in KNOWN[kind].items()
    )
    return ", ".join(every)


def _split(kind: str, given: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(option, value). The value is the next word, or attached: "-mreflink=0", "--csum=xxhash". An
    option without a value is a word of its own.
    """
    words = iter(given)
    for word in words:
        name, attached = word[:2], word[2:] or None
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            attached = value if equals else None
        option = LONG.get(kind, {}).get(name, name)
        known = KNOWN[kind].get(option)
        if known is None or (not known and attached is not None):
            raise wrong(sentence=f"not {shown(word)}; for {kind}: {allowed_for_mkfs(kind)}")
        if known and attached is None:
            attached = next(words, None)
            if attached is None:
                raise wrong(sentence=f"a value after {shown(word)}; {_one_of(known)}")
        yield option, attached or ""


def _require_known(option: str, entry: str, known: tuple[str, ...] | str) -> None:
    if isinstance(known, str):
        right = not known or fits(entry, known)
    else:
        right = has_form(entry.removeprefix(SWITCHED_OFF) if option in FEATURES else entry, known)
    if not right:
        raise wrong(sentence=f"not {shown(entry)} after {shown(option)}; {_one_of(known)}")


def _one_of(known: tuple[str, ...] | str) -> str:
    return known if isinstance(known, str) else f"one of: {', '.join(known)}"


def _name(entry: str) -> str:
    """What an entry of a list sets: e2fsprogs writes some with a hyphen or with an underscore."""
    return entry.removeprefix(SWITCHED_OFF).partition("=")[0].replace("-", "_")
