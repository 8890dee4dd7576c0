"""Options of mkfs and mount: a plan may have those that shape the file system on its own drives;
every one of these works here, and no word of a plan reaches another drive.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import platform
import re
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kneebench.errors import KneebenchError
from kneebench.lab.inventory.holders import is_held
from kneebench.lab.journal import Journal
from kneebench.lab.programs import found, wait_until
from kneebench.lab.volumes import Volumes
from kneebench.lab.volumes.layouts import mkfs_command, mount_command
from kneebench.plan.allowed import read_allowed
from kneebench.plan.default import MEMORY
from kneebench.plan.faults import PlanFaults
from kneebench.plan.file_system import KINDS, fits, read_mkfs
from kneebench.plan.reader import parse_plan
from kneebench.plan.volume import Volume
from kneebench.records import Event
from tests.loop_devices import MIB, done, loop_device, put, volume_point
from tests.parameters import some

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts")
FILE_SYSTEMS = ("xfs", "ext4", "btrfs")
KNOWN, LONG, ANY = read_allowed().mkfs, read_allowed().mkfs_names, read_allowed().mount["any"]
OWN = {kind: read_allowed().mount[kind] for kind in FILE_SYSTEMS}
UUID = "11111111-2222-3333-4444-555555555555"


def unwatched(event: Event) -> None:
    """Nobody looks."""


def plan_text(drive: str, kind: str, **options: list[str]) -> str:
    given = "".join(f", {key} = {json.dumps(words)}" for key, words in options.items())
    return f'[storages.a]\ndrives = ["{drive}"]\nfile_system = {{ type = "{kind}"{given} }}\n'


def refusal(kind: str, **options: list[str]) -> str:
    """What is allowed in place of options that no plan may have."""
    with pytest.raises(PlanFaults) as refused:
        parse_plan(plan_text("sda", kind, **options), "plan.toml")
    (fault,) = refused.value.faults
    (key,) = options
    assert (fault.line, fault.key) == (3, f"storages.a.file_system.{key}")
    return fault.allowed


# --- other drives ---------------------------------------------------------------------------------

ATTACKS = {
    "xfs, a symbolic link": ("xfs", ["LINK"]),
    "xfs, log on a path": ("xfs", ["-l", "name=LINK,size=64m"]),
    "xfs, log on a path in one word": ("xfs", ["-lname=LINK,size=64m"]),
    "xfs, log on a drive": ("xfs", ["-l", "logdev=LINK,size=64m"]),
    "xfs, data on a path": ("xfs", ["-d", "name=LINK"]),
    "xfs, data in a file": ("xfs", ["-d", "file,name=LINK,size=300m"]),
    "xfs, realtime section": ("xfs", ["-m", "reflink=0", "-r", "name=LINK"]),
    "xfs, options from a file": ("xfs", ["-c", "options=LINK"]),
    "xfs, files from a prototype": ("xfs", ["-p", "LINK"]),
    "xfs, clustered flags": ("xfs", ["-Kf", "LINK"]),
    "ext4, a symbolic link": ("ext4", ["LINK"]),
    "ext4, a symbolic link and its size": ("ext4", ["LINK", "300m"]),
    "ext4, undo file": ("ext4", ["-z", "LINK"]),
    "ext4, undo file in one word": ("ext4", ["-zLINK"]),
    "ext4, clustered flags": ("ext4", ["-qFz", "LINK"]),
    "ext4, journal on a drive": ("ext4", ["-J", "device=LINK"]),
    "ext4, journal by its label": ("ext4", ["-J", "size=4,device=LABEL=x"]),
    "ext4, bad blocks from a file": ("ext4", ["-l", "LINK"]),
    "ext4, files from a directory": ("ext4", ["-d", "LINK"]),
    "btrfs, a symbolic link": ("btrfs", ["LINK"]),
    "btrfs, a relative path": ("btrfs", ["RELATIVE"]),
    "btrfs, clustered flags": ("btrfs", ["-Kf", "LINK"]),
    "btrfs, the end of options": ("btrfs", ["--", "LINK"]),
    "btrfs, files from a directory": ("btrfs", ["--rootdir", "LINK"]),
    "btrfs, files from a directory, shortened": ("btrfs", ["--rootd=LINK"]),
    "btrfs, a path after a value": ("btrfs", ["-n", "16k", "LINK"]),
}


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("name", ATTACKS)
def test_a_plan_whose_mkfs_words_name_another_drive_is_refused_and_no_byte_of_it_changes(
    name: str, tmp_path: Path
) -> None:
    own, others = tmp_path / "a.img", tmp_path / "b.img"
    with loop_device(own) as drive, loop_device(others) as other:
        put(other, 5 * MIB + 13, b"orders")
        before = written_to(others, other)
        (tmp_path / "link").symlink_to(other)
        kind, attack = ATTACKS[name]
        names = {"LINK": str(tmp_path / "link"), "RELATIVE": os.path.relpath(tmp_path / "link")}
        words = [re.sub("LINK|RELATIVE", lambda at: names[at[0]], word) for word in attack]
        refused = _refused(plan_text(str(drive), kind, mkfs=words), tmp_path)
        assert written_to(others, other) == before
        assert refused
        assert written_to(own, drive) == {}


def written_to(image: Path, device: Path) -> dict[int, bytes]:
    """All that was ever written to a loop device over a sparse file, by its place."""
    with device.open("rb+") as opened:
        os.fsync(opened.fileno())
    found: dict[int, bytes] = {}
    end = 0
    with image.open("rb") as file, contextlib.suppress(OSError):  # ENXIO: no more data
        while True:
            begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
            end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            found[begin] = os.pread(file.fileno(), end - begin, begin)
    return found


def _refused(text: str, place: Path) -> bool:
    """Whether the plan cannot be read; one that can is done."""
    try:
        storage = parse_plan(text).storages["a"]
    except PlanFaults:
        return True
    try:
        with (
            closing(Volumes(Journal(place / "journal"), place / "emulated")) as volumes,
            volumes.mounted("a", storage, unwatched),
        ):
            pass
    except KneebenchError:
        pass
    return False


# --- every option that is allowed -----------------------------------------------------------------

MKFS = {
    "xfs": """
        -b size=4096 | -b size=4k | -d agcount=4 | -d agsize=80m -l size=64m | -d concurrency=2
        -d cowextsize=16 | -d daxinherit=0 | -d extszinherit=16 | -d noalign | -d noalign=1
        -d sectsize=4k | -d su=64k,sw=4 -l size=64m | -d sunit=128,swidth=512 -l size=64m
        -i align=1 | -i attr=2 | -i exchange=1 | -i maxpct=5 | -i nrext64=0 | -i perblock=4
        -i projid32bit=1 | -i size=1024 | -i sparse=0 | -l agnum=1 | -l concurrency=0
        -l internal | -l internal=1 | -l lazy-count=1 | -l size=64m | -l size=16384b | -l su=32k
        -l sunit=64 | -l version=2 | -L data | -m autofsck=1 | -m bigtime=0 | -m crc=0
        -m crc=1,finobt=1 | -m inobtcount=0 | -m reflink=0 | -mreflink=0
        -m reflink -m rmapbt=1 | -n ftype=1 | -n parent=1 | -n size=16k | -n version=2
        -n version=ci | -s size=4096
    """,
    "ext4": """
        -b 4096 | -b4k | -b 1k -I 128 | -C 64k -O bigalloc | -E stride=16
        -E stripe_width=64,stride=16 | -E stripe-width=64 -E packed_meta_blocks=0
        -E num_backup_sb=1 -O sparse_super2,^resize_inode | -E resize=900000
        -E orphan_file_size=64k -O orphan_file | -g 8192 | -G 32 | -i 64k | -I 512
        -J size=16 | -J location=10000 | -J fast_commit_size=512 -O fast_commit | -L my_data
        -m 0 | -m 0.5 | -N 5000 | -O ^has_journal,^64bit
        -O dir_index,dir_nlink,ea_inode,ext_attr,extent,extra_isize,filetype,flex_bg
        -O extents,huge_file,large_dir,large_file,metadata_csum,metadata_csum_seed
        -O inline_data | -O meta_bg,^resize_inode | -O sparse_super | -O uninit_bg,^metadata_csum
        -T big | -T default | -T floppy | -T huge | -T largefile | -T largefile4
        -T news | -T small
    """,
    "btrfs": """
        -L data | --label=data | -m single | --metadata dup | -m single -M | -M | --mixed
        -n 4k | -n32k | --nodesize=32k | --nodesize 65536 | -O block-group-tree
        --features ^no-holes | -O extref,skinny-metadata | -O mixed-bg -M | -O quota | -O squota
        -O free-space-tree | -O raid1c34 | -O raid-stripe-tree | -R free-space-tree,quota
        --runtime-features=^free-space-tree | -s 4096 | --sectorsize=4k | --csum=xxhash
        --csum blake2 | --csum crc32c | --checksum sha256
    """,
}
"""Words by file system: each line is one or more, apart by a bar."""
MOUNT = {
    "xfs": """
        allocsize=64k | dax=never | discard | filestreams | inode32 | inode64 | largeio
        logbsize=256k | logbufs=8 | max_atomic_write=4k | noalign | nodiscard | nolargeio | noquota
        sunit=128,swidth=512 after -d su=64k,sw=4 -l size=64m
        swalloc after -d su=64k,sw=4 -l size=64m | wsync
    """,
    "ext4": """
        auto_da_alloc | barrier | barrier=0 | block_validity | commit=30 | data=journal
        data=ordered | data=writeback | data_err=abort | dax=never | delalloc | dioread_lock
        dioread_nolock | discard | errors=continue | errors=remount-ro | init_itable=10
        inode_readahead_blks=64 | data=writeback,journal_async_commit | journal_checksum
        journal_ioprio=3
        max_batch_time=0 | mb_optimize_scan=1 | min_batch_time=100 | no_prefetch_block_bitmaps
        noauto_da_alloc | nobarrier | noblock_validity | nodelalloc | nodiscard
        noinit_itable | nojournal_checksum | nombcache | stripe=16
    """,
    "btrfs": """
        autodefrag | barrier | clear_cache | commit=60 | compress | compress=zstd:3
        compress=lzo | compress=zlib:9 | compress-force=zstd:-5 | datacow | datasum | discard
        discard=async | discard=sync | flushoncommit | max_inline=2048 | max_inline=4k
        metadata_ratio=4 | noautodefrag | nobarrier | nodatacow | nodatasum | nodiscard
        noflushoncommit | nospace_cache after -R ^free-space-tree | nossd | nossd_spread
        notreelog | space_cache after -R ^free-space-tree | space_cache=v1 after -R ^free-space-tree
        space_cache=v2 | ssd | ssd_spread | thread_pool=8 | treelog
    """,
}
"""Options by file system, after words for mkfs where they need some."""
UNKNOWN_TO_MKFS = re.compile(r"unknown option|unrecognized (filesystem|runtime) feature")
"""An older program, which is a reason to skip."""
NOT_HERE = ("crc=0", "version=ci")
"""Many kernels do not mount these file systems any more (XFS_SUPPORT_V4, XFS_SUPPORT_ASCII_CI)."""
SINCE = {"max_atomic_write": (6, 16), "dax=never": (5, 8), "mb_optimize_scan": (5, 19)}
"""Versions of Linux by option."""


def trials(table: dict[str, str]) -> list[tuple[str, str]]:
    lines = ((kind, line) for kind, text in table.items() for line in re.split(r"[|\n]", text))
    return [(kind, line.strip()) for kind, line in lines if line.strip()]


MOUNTED = [*trials(MOUNT), *zip(itertools.cycle(FILE_SYSTEMS), ANY, strict=False)]


class Drive:
    """One loop device for all that is tried."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.made: tuple[str, str] | None = None
        self.uuid = str(uuid.uuid4())
        """Of its own: mkfs.btrfs refuses one that another drive has."""

    def make(self, kind: str, words: str, mount: str = "noatime") -> Volume:
        """The file system, as kneebench makes it; skips what this mkfs does not know."""
        if not found(f"mkfs.{kind}"):
            pytest.skip(f"no mkfs.{kind}")
        options = {"type": kind, "mkfs": words.split(), "mount": [mount]}
        volume = Volume.model_validate({"drives": [self.path], "file_system": options})
        if self.made != (kind, words):
            done("wipefs", "--all", self.path)
            self.made = None
            command = mkfs_command(volume, self.uuid, [self.path])
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            if UNKNOWN_TO_MKFS.search(made.stderr):
                pytest.skip(f"this mkfs.{kind} does not know it: {made.stderr.splitlines()[0]}")
            assert made.returncode == 0, made.stderr
            self.made = kind, words
        return volume

    def mount(self, volume: Volume) -> str:
        """The options that it has when it is mounted, as kneebench mounts it."""
        with volume_point() as point:
            done(*mount_command(volume, [self.path], point))
            try:
                (point / "file").write_bytes(b"orders")
                lines = [line.split(" ") for line in Path("/proc/mounts").read_text().splitlines()]
                return next(options for _, at, _, options, *_ in lines if at == str(point))
            finally:
                done("umount", point)
                wait_until(lambda: not is_held(self.path))


@pytest.fixture(scope="module")
def drive() -> Iterator[Drive]:
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as folder,
        loop_device(Path(folder) / "drive.img", 640 * MIB) as made,
    ):
        yield Drive(str(made))


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("trial", some(trials(MKFS), trials(MKFS)[::8]), ids=" ".join)
def test_mkfs_obeys_each_option_that_a_plan_may_have(trial: tuple[str, str], drive: Drive) -> None:
    kind, words = trial
    volume = drive.make(kind, words)
    seen = done("blkid", "--probe", "--output", "export", drive.path).split()
    assert f"UUID={drive.uuid}" in seen
    if not any(form in words for form in NOT_HERE):
        drive.mount(volume)


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("trial", some(MOUNTED, MOUNTED[::8]), ids=" ".join)
def test_mount_obeys_each_option_that_a_plan_may_have(trial: tuple[str, str], drive: Drive) -> None:
    kind, words = trial
    options, _, mkfs = words.partition(" after ")
    since = next((since for name, since in SINCE.items() if name in options), (0, 0))
    if tuple(int(part) for part in platform.release().split(".")[:2]) < since:
        pytest.skip(f"{options} needs Linux {since}")
    assert "rw" in drive.mount(drive.make(kind, mkfs, options)).split(",")


def test_each_option_that_a_plan_may_have_is_tried() -> None:
    tried = {
        (kind, option, _name(entry) if _is_list(kind, option) else "")
        for kind, words in trials(MKFS)
        for option, value in read_mkfs(kind, words.split()).items()
        for entry in value.split(",")
    }
    known = {
        (kind, option, _name(form))
        for kind, options in KNOWN.items()
        for option, forms in options.items()
        for form in (forms if _is_list(kind, option) else ("",))
    }
    assert tried == known
    mounted = {
        (kind, _name(option))
        for kind, words in trials(MOUNT)
        for option in words.partition(" after ")[0].split(",")
    }
    assert mounted == {(kind, _name(form)) for kind, forms in OWN.items() for form in forms}


def _is_list(kind: str, option: str) -> bool:
    return isinstance(KNOWN[kind][option], tuple)


def _name(form: str) -> str:
    return re.split(r"[\[=]", form.removeprefix("^"))[0]


def test_no_kind_of_value_is_a_path_an_option_or_a_list() -> None:
    for value in ("/dev/sdb", "../x", "a/b", "-f", "", "64k\n", "1,name=x", "UUID=1", "a:b", "."):
        assert not any(fits(value, kind) for kind in KINDS), value
    tables = [*KNOWN["xfs"].values(), *KNOWN["ext4"].values(), *KNOWN["btrfs"].values(), ANY]
    assert "/" not in str([*tables, *OWN.values()])


@pytest.mark.parametrize("long", LONG["btrfs"])
def test_a_long_name_is_that_of_a_short_option(long: str) -> None:
    option = LONG["btrfs"][long]
    value = {"-L": "a", "-m": "dup", "-n": "4k", "-O": "quota", "-R": "quota", "-s": "4k"}
    given = {"--csum": "xxhash", "-M": "", **value}[option]
    words = [f"{long}={given}"] if given else [long]
    assert read_mkfs("btrfs", words) == {option: given}


# --- everything else ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "words", "refused"),
    [
        ("xfs", ["-f"], "-f"),
        ("xfs", ["-Kf"], "-Kf"),
        ("xfs", ["-m", f"uuid={UUID}"], f"uuid={UUID}"),
        ("xfs", ["-m", "reflink=0,uuid=restore"], "uuid=restore"),
        ("xfs", ["-mreflink=0", "-N"], "-N"),
        ("xfs", ["-m reflink=0"], " reflink=0"),
        ("xfs", ["-d", "size=300m"], "size=300m"),
        ("xfs", ["-l", "size=64m,name=x"], "name=x"),
        ("xfs", ["-d", "agcount=/dev/sdb"], "agcount=/dev/sdb"),
        ("xfs", ["-d", ""], ""),
        ("xfs", ["-L", "a/b"], "a/b"),
        ("xfs", ["-L", "-f"], "-f"),
        ("xfs", ["-L", "of 13 letters"], "of 13 letters"),
        ("xfs", [""], ""),
        ("ext4", ["-E", "discard"], "discard"),
        ("ext4", ["-E", "stride=16,lazy_itable_init=1"], "lazy_itable_init=1"),
        ("ext4", ["-E", "offset=1m"], "offset=1m"),
        ("ext4", ["-U", UUID], "-U"),
        ("ext4", ["-O", "journal_dev"], "journal_dev"),
        ("ext4", ["-M", "/srv"], "-M"),
        ("ext4", ["-b", "4k", "-cc"], "-cc"),
        ("ext4", ["4096"], "4096"),
        ("ext4", ["--", "-b"], "--"),
        ("btrfs", ["-d", "raid0"], "-d"),
        ("btrfs", ["-Mf"], "-Mf"),
        ("btrfs", ["--mixed=x"], "--mixed=x"),
        ("btrfs", ["--csum"], "--csum"),
        ("btrfs", ["--csum="], ""),
        ("btrfs", ["--nodesi=4k"], "--nodesi=4k"),
        ("btrfs", ["-O", "list-all"], "list-all"),
        ("btrfs", ["-n", "/dev/sdb"], "/dev/sdb"),
    ],
)
def test_other_words_for_mkfs_are_refused_with_the_word_and_what_is_allowed(
    kind: str, words: list[str], refused: str
) -> None:
    allowed = refusal(kind, mkfs=words)
    assert f'"{refused}"' in allowed
    assert re.search(r"; (for (xfs|ext4|btrfs)|one of): |; [A-Z0-9a-z|]+$", allowed), allowed


@pytest.mark.parametrize(
    ("kind", "words", "twice"),
    [
        ("ext4", ["-b", "4k", "-b1k"], "-b"),
        ("btrfs", ["-n", "16k", "--nodesize=32k"], "-n"),
        ("xfs", ["-m", "reflink=0", "-m", "reflink=1"], "reflink"),
        ("ext4", ["-O", "64bit,^64bit"], "64bit"),
    ],
)
def test_an_option_is_given_once(kind: str, words: list[str], twice: str) -> None:
    assert f'"{twice}" only once' in refusal(kind, mkfs=words)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        *((kind, "loop") for kind in FILE_SYSTEMS),
        *(("xfs", one) for one in ("logdev=/dev/sdb", "rtdev=sdb", "norecovery", "nouuid", "ro")),
        *(
            ("ext4", one)
            for one in ("journal_path=/dev/sdb", "journal_dev=0x0811", "sb=1", "noload")
        ),
        *(("ext4", one) for one in ("usrjquota=a", "errors=panic", "abort", "data=x", "commit=/x")),
        *(("btrfs", one) for one in ("device=/dev/sdb", "subvol=/x", "degraded", "rescue=all")),
        *(("btrfs", one) for one in ("compress=../x", "fatal_errors=panic", "compress-force=")),
        *(("xfs", one) for one in ("bind", "remount", "move", "x-mount.mkdir", "X-mount.subdir=a")),
        *(
            ("xfs", one)
            for one in ("helper=a", "context=a", "offset=1", "user", "noatime,loop", "")
        ),
    ],
)
def test_other_mount_options_are_refused_with_the_option_and_what_is_allowed(
    kind: str, option: str
) -> None:
    last = option.split(",")[-1]
    assert f'not "{last}"; for {kind}: ' in refusal(kind, mount=[option])


def test_a_word_with_control_characters_or_of_a_megabyte_is_a_fault_like_any_other() -> None:
    for word in ("-L\na", "\x1b[2J", "x" * 100_000, "-L", "\u202e"):
        assert refusal("ext4", mkfs=[word])


def test_our_options_of_ext4_remain_beside_those_of_a_plan() -> None:
    volume = Volume.model_validate(
        {"drives": ["sda"], "file_system": {"type": "ext4", "mkfs": ["-E", "stride=16"]}}
    )
    command = mkfs_command(volume, UUID, ["/dev/sda"])
    assert command.count("-E") == 1
    assert "nodiscard,lazy_itable_init=0,lazy_journal_init=0,stride=16" in command


def test_the_metadata_of_btrfs_are_as_the_plan_says() -> None:
    for words, metadata in (([], "dup"), (["-m", "single"], "single"), (["-M"], "single")):
        table = {"drives": ["sda"], "file_system": {"type": "btrfs", "mkfs": words}}
        command = mkfs_command(Volume.model_validate(table), UUID, ["/dev/sda"])
        assert command.count("-m") == 1
        assert command[command.index("-m") + 1] == metadata
