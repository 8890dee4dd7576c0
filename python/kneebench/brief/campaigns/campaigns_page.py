"""What the pages of `accept` and `compare` have in common: HTML, PDF and Markdown, and a
CSV of their figures.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kneebench.analysis.wording import DERIVED_FROM, behind_label, listed
from kneebench.brief.drawn_rows import as_csv
from kneebench.brief.markdown import plain_markdown
from kneebench.brief.pdf import Paper, compiled, plain_document
from kneebench.brief.rendering import Page
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.records import Estimate, Results, label_of
from kneebench.results.atomic_write import write_bytes

COMPARED = tuple(
    Column(title=title, number=False)
    for title in ("Campaign", "Measured", "Machine", "Kneebench", "Databases", "Question")
)
LABELS = {
    "Simulated": "Simulated: {} measured a model, not hardware.",
    "Emulated drives": (
        "Emulated drives: {} measured them. No figure here says anything about a real drive."
    ),
}
"""What the banner says of the campaigns with a label."""


class CampaignsPage(Page):
    """A page over several campaigns. `what`: the command that makes it."""

    what: str
    campaigns: Sequence[Results]

    @property
    def derived(self) -> str:
        """The fair-use line of their workload."""
        return DERIVED_FROM[self.campaigns[0].campaign.resolved.workload]

    @property
    def version(self) -> str:
        return version("kneebench")

    @property
    @abstractmethod
    def figures(self) -> list[dict[str, Any]]:
        """Every figure as a flat row."""

    @property
    def kicker(self) -> str:
        """What it is, and from when to when was measured."""
        days = sorted({one.campaign.started_at[:10] for one in self.campaigns})
        return f"kneebench {self.what} · {' to '.join(dict.fromkeys((days[0], days[-1])))}"

    @property
    def banner(self) -> str:
        """Which campaigns measured a model or emulated drives; empty for hardware."""
        ids = {
            label: list(
                dict.fromkeys(c.campaign.id for c in self.campaigns if c.campaign.label == label)
            )
            for label in LABELS
        }
        every = len({one.campaign.id for one in self.campaigns})
        return " ".join(
            LABELS[label].format("all campaigns" if len(some) == every else listed(some))
            for label, some in ids.items()
            if some
        )

    @property
    def label(self) -> str:
        """The same in a word or two."""
        return label_of(one.campaign for one in self.campaigns)

    def labelled(self, title: str) -> str:
        """A title behind the label, if there is one."""
        return behind_label(self.label, title)

    @property
    def says(self) -> str:
        return f"{self.label}. {self.derived}" if self.label else self.derived

    @property
    def closing(self) -> list[str]:
        """The end of the page."""
        return [f"{self.derived} Written from the campaign folders by kneebench {self.version}."]

    def html(self) -> str:
        return self.render_page("campaigns/page.html.j2")

    def pdf(self, paper: Paper = "a4") -> bytes:
        """The same as a PDF."""
        document = plain_document(
            self,
            paper,
            kicker=self.kicker,
            banner=self.banner,
            subtitle=self.subtitle,
            closing=self.closing,
        )
        return compiled(self.sections, document)

    def markdown(self) -> str:
        """The same as Markdown."""
        front = (self.kicker, self.banner, self.subtitle)
        return plain_markdown(self.title, front, self.sections, self.closing)

    def csv(self) -> str:
        """Its figures as CSV, in SI units."""
        return as_csv(self.figures).decode()

    def write(self, path: str | Path, *, paper: Paper = "a4") -> Path:
        """Write it by the end of the file's name: .html, .pdf, .md or .csv; whole or not at all."""
        path = Path(path)
        if path.suffix == ".html":
            return super().write(path)
        if path.suffix == ".pdf":
            content = self.pdf(paper)
        else:
            content = (self.markdown() if path.suffix == ".md" else self.csv()).encode()
        write_bytes(path, content)
        return path


def flat(name: str, found: Estimate | None) -> dict[str, float | None]:
    """A figure with the ends of its interval, for a flat row; None where there is none."""
    if found is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def said(
    name: str, title: str, sentences: Iterable[str], *, caveats: bool = False
) -> Section | None:
    """A section of sentences; None without any."""
    every, tone = tuple(sentences), "note" if caveats else "plain"
    return Section(name=name, title=title, sentences=every, tone=tone) if every else None


def ended(text: str) -> str:
    """A sentence that begins with a campaign's name, which stays as it is."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def present(*made: Section | None) -> tuple[Section, ...]:
    """The sections that have something to say."""
    return tuple(one for one in made if one)


def compared_section(campaigns: Sequence[Results]) -> Section:
    """Which campaigns stand against each other, and where each was measured."""
    return Section(
        name="campaigns",
        title="What was compared",
        tables=(Table(columns=COMPARED, rows=tuple(map(_campaign_row, campaigns))),),
    )


def _campaign_row(results: Results) -> Row:
    campaign = results.campaign
    host = campaign.host
    cells = (
        campaign.id,
        campaign.started_at[:16].replace("T", " "),
        f"{host.cores} cores, {host.cpu}",
        campaign.kneebench,
        ", ".join(dict.fromkeys(campaign.engines.values())),
        campaign.resolved.question,
    )
    return Row(cells=cells)
