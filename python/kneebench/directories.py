"""Directories: those that kneebench uses where nobody names another, and how each one is made.

A directory is reached by one name after the other, each opened in the one before it and looked at
there (openat(2)), from the root on. So a link is seen before it is followed, and what was looked at
is what is used. A link is followed if it belongs to us, to root, or to the owner of the root
directory, who in a container may be neither: root would otherwise make directories, and change
their modes, wherever the owner of a home points to.

What only its user may read lies in a directory that nobody else can replace: each one above it
belongs to one of the same users.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from kneebench.errors import Refused
from kneebench.regular_file import kind_of

CAMPAIGNS = Path("kneebench-results")
"""Directory of campaigns, below the one that kneebench is started in."""
MOST_LINKS = 40
"""As many symbolic links as the kernel follows in one path."""
DRAFT = ".draft"
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_PURPOSE = (
    "Kneebench keeps its journal of changes to the machine there; XDG_STATE_HOME names another"
    " directory."
)
_OTHER_STATE = "set XDG_STATE_HOME to another directory, or use sudo -H"


def state_directory() -> Path:
    """Directory of the journal and of tracebacks: below XDG_STATE_HOME or ~/.local/state (XDG base
    directories).

    Raises RuntimeError for a user without a home.
    """
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "kneebench"


def make_private(folder: Path) -> Path:
    """The directory, made where it is missing. The state directory, and what is made in it, is
    open to nobody else, also where an earlier version made it so that others could read it. Drafts
    of killed processes in it are removed.

    Raises Refused where another user could forge what is in it, or choose where it is.
    """
    home = state_directory()
    try:
        for one in reversed((folder, *folder.parents)):
            if one == folder or one.is_relative_to(home):
                with opened_directory(one, mode=0o700, private=True, do=_OTHER_STATE) as handle:
                    if one == home:
                        os.fchmod(handle, 0o700)
    except OSError as error:
        error.add_note(_PURPOSE)
        raise
    _remove_drafts(home if folder.is_relative_to(home) else folder)
    return folder


def make_directory(path: Path, mode: int = 0o777, *, new: bool = False) -> Path:
    """The directory, made where it is missing with those above it, or for `new` made now. The mode
    is its own, less the umask; those above it have the usual one.

    Raises Refused for a link of another user on the way, and OSError.
    """
    with opened_directory(path, mode=mode, new=new):
        return path


@contextlib.contextmanager
def opened_directory(
    path: Path,
    *,
    mode: int | None = None,
    new: bool = False,
    private: bool = False,
    do: str = "use the path that it points to, if you trust that",
) -> Iterator[int]:
    """A directory, open for reading; with a `mode` made where it is missing. With `private`, no
    other user could put another one in its place. `do` is what helps where that is refused.
    """
    walk = _Walk(path, private=private, do=do)
    try:
        try:
            found = walk.end(mode, new=new)
            handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=found)
        except OSError as error:
            error.filename = str(path)
            raise
        try:
            yield handle
        finally:
            os.close(handle)
    finally:
        walk.close()


class _Walk:
    """The way from the root to a directory."""

    def __init__(self, path: Path, *, private: bool, do: str) -> None:
        self._path, self._private, self._do = path, private, do
        self._at = os.open("/", _LOOK)
        self._seen = Path("/")
        self._trusted = {0, os.geteuid(), os.fstat(self._at).st_uid}
        self._names = [(name, True) for name in reversed(path.absolute().parts[1:])]
        """Those still to come, the last one first; and whether the path itself names them."""
        self._links = 0
        self._require_directory(self._at)

    def end(self, mode: int | None, *, new: bool) -> int:
        """The directory that the way ends at."""
        while self._names:
            name, named = self._names.pop()
            if mode is not None and named:
                self._make(name, mode, new=new)
            found = os.open(name, _LOOK, dir_fd=self._at)
            if stat.S_ISLNK(os.fstat(found).st_mode):
                self._follow(found, self._seen / name)
            else:
                self._seen = self._seen.parent if name == ".." else self._seen / name
                self._enter(found)
        return self._at

    def close(self) -> None:
        os.close(self._at)

    def _make(self, name: str, mode: int, *, new: bool) -> None:
        last, above = not self._names, 0o755 if self._private else 0o777
        try:
            os.mkdir(name, mode if last else above, dir_fd=self._at)
        except OSError:  # a drive that is read only says so also of what is there
            if (last and new) or not _is_in(self._at, name):
                raise

    def _enter(self, found: int) -> None:
        os.close(self._at)
        self._at = found
        self._require_directory(found)

    def _follow(self, link: int, path: Path) -> None:
        try:
            self._links += 1
            if self._links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            owner = os.fstat(link).st_uid
            if owner not in self._trusted:
                seen = f"{path} is a symbolic link that belongs to {user_name(owner)}"
                raise Refused(f"cannot use {self._path}", seen=seen, do=self._do)
            target = Path(os.readlink("", dir_fd=link))
        finally:
            os.close(link)
        self._names += [(name, False) for name in reversed(target.parts) if name != "/"]
        if target.is_absolute():
            self._seen = Path("/")
            self._enter(os.open("/", _LOOK))

    def _require_directory(self, found: int) -> None:
        seen = os.fstat(found)
        if not stat.S_ISDIR(seen.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, f"{self._seen} is {kind_of(seen.st_mode)}")
        if not self._private:
            return
        mode, do = stat.S_IMODE(seen.st_mode), self._do
        if seen.st_uid not in self._trusted:
            why = f"{self._seen} belongs to {user_name(seen.st_uid)}"
        elif os.geteuid() == 0 and not mode & stat.S_ISVTX and _others_write(seen):
            why = f"others may write to {self._seen} (mode {mode:04o})"
            do = f"remove that right (chmod go-w), or {do}"
        else:
            return
        raise Refused(f"cannot use {self._path}", seen=why, do=do)


def _is_in(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return True


def _others_write(seen: os.stat_result) -> bool:
    mode = seen.st_mode
    return bool(mode & stat.S_IWOTH or (mode & stat.S_IWGRP and seen.st_gid != 0))


def changeable_by_others(file: Path) -> str:
    """Why a user other than root and ourselves could change what a file contains, or what is under
    its name; empty if none could.
    """
    for _ in range(MOST_LINKS):
        try:
            with opened_directory(file.parent, private=True) as folder:
                seen = os.stat(file.name, dir_fd=folder, follow_symlinks=False)
                if seen.st_uid not in (0, os.geteuid()):
                    return f"{file} belongs to {user_name(seen.st_uid)}"
                if stat.S_ISLNK(seen.st_mode):
                    file = file.parent / os.readlink(file.name, dir_fd=folder)
                    continue
        except Refused as error:
            return error.seen
        except OSError as error:
            return error.strerror or str(error)
        if not stat.S_ISREG(seen.st_mode):
            return f"{file} is {kind_of(seen.st_mode)}"
        mode = stat.S_IMODE(seen.st_mode)
        return f"others may write to {file} (mode {mode:04o})" if _others_write(seen) else ""
    return os.strerror(errno.ELOOP)


def user_name(uid: int) -> str:
    """A user, in words."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def write_private(file: Path, text: str) -> None:
    """Write a file as a whole, which nobody else may read; it is on its drive when this ends. On
    any error nothing is left, and the error names the file.

    Its draft names the process that writes it: who next opens the directory removes it if that was
    killed.
    """
    draft = file.with_name(f"{file.name}.{os.getpid()}-{secrets.token_hex(4)}{DRAFT}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            os.fchmod(handle, 0o600)
            out.write(text)
            out.flush()
            os.fsync(handle)
        draft.replace(file)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(file)
        raise


def drafts_in(folder: Path) -> dict[Path, str]:
    """Files that a process began to write, with that process while it runs, else ""; also those of
    versions that did not name their process.
    """
    found = dict[Path, str]()
    for draft in folder.rglob(f"*{DRAFT}"):
        writer = draft.name.removesuffix(DRAFT).rpartition(".")[2].partition("-")[0]
        runs = writer.isdecimal() and Path("/proc", writer).exists()
        found[draft] = writer if runs else ""
    return found


def _remove_drafts(folder: Path) -> None:
    """The drafts of ended processes in it."""
    for draft, writer in drafts_in(folder).items():
        if not writer:
            draft.unlink(missing_ok=True)
