"""What a run that ends early leaves behind, and the command that resumes it."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

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
    return (
        f"{saved} Resume with:"
        f" {shlex.join([*program(), *(word for word in sys.argv[1:] if word != '--fresh')])}"
    )


def program() -> list[str]:
    """How this kneebench is started by hand: by its name where the shell finds this one under it,
    else as it was started.
    """
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return [Path(sys.executable).name, "-m", "kneebench"]
    found = shutil.which("kneebench")
    return ["kneebench" if found and started.exists() and started.samefile(found) else sys.argv[0]]
