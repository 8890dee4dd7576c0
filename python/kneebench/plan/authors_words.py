"""The plan's table `[brief]`: what its author adds to the brief, marked there as their words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from kneebench.plan.values import Name, Note, Part, Sentence, Text, wrong


class AuthorsWords(Part):
    """What the author adds to the brief, marked as their words; kneebench's own finding stays."""

    title: Annotated[Sentence, Field(description="Title of the publication, above the finding")] = (
        ""
    )
    authors: Annotated[tuple[Name, ...], Field(max_length=20, description="Their names")] = ()
    organisation: Annotated[Name, Field(description="Whom they work for")] = ""
    summary: Annotated[
        Text, Field(description="Paragraph below the finding, such as what it means to a buyer")
    ] = ""
    storages: dict[Name, Note] = Field(
        default={}, max_length=100, description="Description of a storage, by its name in the plan"
    )

    def check(self, storages: Iterable[str]) -> None:
        """Raise the rule's error for a storage that the plan has not."""
        known = list(storages)
        if unknown := next((name for name in self.storages if name not in known), ""):
            sentence = f"a storage, one of: {', '.join(known)}"
            raise wrong("brief", "storages", unknown, sentence=sentence)
