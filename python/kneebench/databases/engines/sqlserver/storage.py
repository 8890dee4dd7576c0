"""The plan's table of a storage for SQL Server: directories on the server for the files of the
workload's database and of tempdb.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kneebench.plan.values import Part, Text

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
