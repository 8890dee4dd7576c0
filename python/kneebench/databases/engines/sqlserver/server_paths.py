"""Paths on a server, of Windows or Linux by their own form."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from kneebench.plan.values import Part, Text


def joined(directory: str, name: str) -> str:
    r"""A path on the server, of Windows or Linux by the directory's own form.

    >>> joined("D:\\data", "x.mdf"), joined("/var/opt", "x.mdf")
    ('D:\\data\\x.mdf', '/var/opt/x.mdf')
    """
    return (
        ntpath.join(directory, name) if is_windows(directory) else posixpath.join(directory, name)
    )


def is_windows(path: str) -> bool:
    """Whether a path is one of Windows."""
    return not path.startswith("/")


def within(path: str, directories: Iterable[str]) -> bool:
    r"""Whether a file is directly in one of these directories.

    >>> within("D:\\Data\\x.mdf", ["d:\\data\\"]), within("/a/b/x", ["/a"])
    (True, False)
    """
    return any(folded(parent(path)) == folded(directory) for directory in directories)


def parent(path: str) -> str:
    """The directory that a file is in."""
    return ntpath.dirname(path) if is_windows(path) else posixpath.dirname(path)


def folded(directory: str) -> str:
    r"""A path as the server compares it: Windows ignores case.

    >>> folded("D:\\Data\\"), folded("/Data/")
    ('d:\\data', '/Data')
    """
    if not is_windows(directory):
        return posixpath.normpath(directory)
    return ntpath.normcase(ntpath.normpath(directory))


# The plan's table of a storage for SQL Server: directories on the server for the files of the
# workload's database and of tempdb.

Places = Annotated[tuple[Text, ...], Field(max_length=64)]


class SqlServerStorage(Part):
    """Directories on a SQL Server that this storage stands for; they override those of
    `[database]`.
    """

    data: Annotated[
        Places, Field(description="Directories for the data files, which are spread over them")
    ] = ()
    log: Annotated[Text, Field(description="Directory for the log file")] = ""
    tempdb: Annotated[
        Places,
        Field(description="Directories that tempdb's files must be in; verified, not changed"),
    ] = ()
