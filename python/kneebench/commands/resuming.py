"""What a run that ends early leaves behind, and the command that resumes it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
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

    def __init__(self, pairs: int | None = None) -> None:
        """`pairs`: so many pairs of `noise` are left with this one."""
        self._folder: Path | None = None
        self._pairs = pairs

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
            error.add_note(_sentence(self._folder, self._pairs))

    def watcher(self, watch: Watch) -> Watch:
        """`watch`, which learns nothing new by it."""

        def receive(event: Event) -> None:
            if "folder" in event.data:
                self._folder = Path(str(event.data["folder"]))
            watch(event)

        return receive


def _sentence(folder: Path, pairs: int | None) -> str:
    from kneebench.results.campaign_reader import rung_files

    rungs = len(rung_files(folder))
    saved = f"{rungs} rung{'' if rungs == 1 else 's'} saved in {folder}."
    if (folder / "finished.json").exists():
        return (
            f"{saved} The campaign is finished. Write its brief with:"
            f" {shlex.join([*program(), 'brief', str(folder)])}"
        )
    again = shlex.split(command_line(without=["--fresh"]))
    return f"{saved} Resume with: {shlex.join(_with_pairs(again, pairs) if pairs else again)}"


def _with_pairs(words: Sequence[str], left: int) -> list[str]:
    """The command `noise` for the pairs that are left.

    >>> _with_pairs(["noise", "--pairs", "3", "--yes"], 2), _with_pairs(["noise", "--pairs=3"], 1)
    (['noise', '--yes', '--pairs', '2'], ['noise', '--pairs', '1'])
    """
    kept = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if "--pairs" not in (before, word) and not word.startswith("--pairs=")
    ]
    return [*kept, "--pairs", str(left)]
