"""What a run that ends early leaves behind, and the command that resumes it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from kneebench.started import command_line, program

if TYPE_CHECKING:
    from types import TracebackType

    from kneebench.records import Event, Watch


class Resumable:
    """The campaign of this command, known from its events; what ends it early gets a note (PEP 678)
    with the command that resumes it.
    """

    def __init__(self) -> None:
        self._folder: Path | None = None

    def __enter__(self) -> Resumable:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        from kneebench.results.campaign_folders import has_head

        if error is not None and self._folder and has_head(self._folder):
            error.add_note(_sentence(self._folder))

    def watcher(self, watch: Watch) -> Watch:
        """`watch`, which learns nothing new by it."""

        def receive(event: Event) -> None:
            if "folder" in event.data:
                self._folder = Path(str(event.data["folder"]))
            watch(event)

        return receive


def _sentence(folder: Path) -> str:
    from kneebench.results.campaign_reader import rung_files

    rungs = len(rung_files(folder))
    saved = f"{rungs} rung{'' if rungs == 1 else 's'} saved in {folder}."
    if (folder / "finished.json").exists():
        return (
            f"{saved} The campaign is finished. Write its brief with:"
            f" {shlex.join([*program(), 'brief', str(folder)])}"
        )
    return f"{saved} Resume with: {command_line(without=['--fresh'])}"
