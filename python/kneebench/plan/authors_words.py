"""The plan's table `[brief]`: what its author adds to the brief, marked there as their words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from kneebench.plan.values import Directory, Name, Note, Part, Sentence, Text, wrong

LOGOS = (".svg", ".png")
MOST_LOGO_BYTES = 1_000_000


class AuthorsWords(Part):
    """What the author adds to the brief, marked as their words; kneebench's own finding stays."""

    title: Annotated[Sentence, Field(description="Title of the publication, above the finding")] = (
        ""
    )
    authors: Annotated[tuple[Name, ...], Field(max_length=20, description="Their names")] = ()
    organisation: Annotated[Name, Field(description="Whom they work for")] = ""
    logo: Annotated[
        Directory | None,
        Field(description="Picture above the finding: an .svg or .png of at most 1 MB"),
    ] = None
    summary: Annotated[
        Text, Field(description="Paragraph below the finding, such as what it means to a buyer")
    ] = ""
    storages: dict[Name, Note] = Field(
        default={}, max_length=100, description="Description of a storage, by its name in the plan"
    )

    def check(self, storages: Iterable[str]) -> None:
        """Raise the rule's error for a storage that the plan has not, and for a logo that is no
        picture.
        """
        if self.logo and self.logo.suffix not in LOGOS:
            raise wrong("brief", "logo", sentence=f"a file that ends in {' or '.join(LOGOS)}")
        known = list(storages)
        if unknown := next((name for name in self.storages if name not in known), ""):
            sentence = f"a storage, one of: {', '.join(known)}"
            raise wrong("brief", "storages", unknown, sentence=sentence)
