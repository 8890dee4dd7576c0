"""Commands over what was measured: list, show, compare, brief."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kneebench.commands.completing import campaign_names
from kneebench.commands.options import CampaignName, Csv, Json, PageFile, Root, WantedTags, has_tags
from kneebench.commands.output import (
    brief_file,
    checked_page,
    open_page,
    print_line,
    print_text,
    require_one,
    show_campaigns,
    show_csv,
    show_json,
    show_parts,
    write,
    write_figures,
    write_sweep_table,
)
from kneebench.commands.run_options import OpenBrief
from kneebench.directories import CAMPAIGNS

if TYPE_CHECKING:
    from kneebench.records import Results


CampaignNames = Annotated[
    list[str],
    typer.Argument(
        metavar="CAMPAIGN",
        help="Campaigns in the order of the trend; each as in `kneebench show --help`.",
        show_default=False,
        autocompletion=campaign_names,
    ),
]


Anyway = Annotated[
    bool,
    typer.Option("--anyway", help="Also compare what is not comparable, with a caveat for each."),
]


UNBROKEN = 100_000
"""Columns of a list that is piped, so that each campaign has one line."""


def list_campaigns(
    root: Root = CAMPAIGNS,
    tag: WantedTags = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List the campaigns in a folder, newest first: what each found, with its interval.

    \b
    Examples:
      kneebench list
      kneebench list --tag firmware=1.2 --tag site
      kneebench list --in /srv/results --json
    """
    from kneebench.results import campaigns
    from kneebench.results.campaign_names import require_folder

    require_one({"--json": as_json, "--csv": as_csv})
    require_folder(root)
    found = [one for one in campaigns(root) if has_tags(one.tags, tag or [])]
    if as_json:
        show_json([one.model_dump(mode="json") for one in found])
    elif as_csv:
        from kneebench.screen.campaign_list import listed_rows

        show_csv(listed_rows(found))
    elif found:
        from kneebench.screen.campaign_list import CampaignList

        show_parts(CampaignList(found), file_columns=UNBROKEN)
    elif tag:
        print_line(f"no campaigns with {' '.join(tag)} in {root}")
    else:
        where = f"{root}" if root.is_dir() else f"{root} (no such folder)"
        print_line(f"no campaigns in {where}; `kneebench run` creates one")


def show(
    campaign: CampaignName,
    root: Root = CAMPAIGNS,
    as_json: Json = False,
    as_csv: Csv = False,
    sweep: Annotated[
        Path | None,
        typer.Option(
            "--sweep",
            help="Write the sweep over memory or cores as a table to this file, .csv or .parquet.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show a campaign: the answer for each storage, and every rung. The CSV has a row for each
    configuration.

    \b
    Examples:
      kneebench show latest
      kneebench show latest~1 --csv
      kneebench show ./copied/campaign --json
      kneebench show ./copied/campaign --sweep sweep.csv
    """
    from kneebench.screen.summary import printed, results_json

    require_one({"--json": as_json, "--csv": as_csv, "--sweep": sweep})
    results = load_named(campaign, root)
    if sweep:
        print_line(str(write_sweep_table(results, sweep)))
    elif as_csv:
        from kneebench.notebook.frames import knees_frame

        show_csv(list(knees_frame(results).rows()))
    elif as_json:
        show_json(results_json(results))
    else:
        show_parts(*printed(results, every_rung=True))


def compare(
    campaigns: CampaignNames,
    root: Root = CAMPAIGNS,
    anyway: Anyway = False,
    page: PageFile = None,
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """Compare campaigns, storage by storage, and show the trend.

    Every storage is compared with the first campaign's baseline. The trend compares each storage
    with itself in the first campaign. Refused if the plans differ in a field that affects the
    figures (the first one is named), or if the servers' engines or major versions differ: that is
    no difference between storages. With --anyway these are caveats. Differences that cannot touch
    the figures are listed below the tables.

    \b
    Examples:
      kneebench compare before after
      kneebench compare latest~1 latest
      kneebench compare january february march
      kneebench compare january february march --page trend.pdf
    """
    from kneebench.errors import PlanError

    checked_page(page)
    require_one({"--json": as_json, "--csv": as_csv})
    if len(campaigns) < 2:
        raise PlanError(
            "cannot compare campaigns",
            seen=f"only {campaigns[0]} is named",
            do="name at least two; `kneebench list` shows them",
        )
    found = load_all(campaigns, root)
    _show_compared(found, page, as_json=as_json, as_csv=as_csv, anyway=anyway)


def _show_compared(
    campaigns: list[Results], page: Path | None, *, as_json: bool, as_csv: bool, anyway: bool
) -> None:
    from kneebench.brief.campaigns import ComparisonPage
    from kneebench.results import compare_campaigns, differences
    from kneebench.results.cross_campaign import caveats
    from kneebench.results.trend import trends

    found, trend = compare_campaigns(campaigns, anyway=anyway), trends(campaigns)
    differing = [one for other in campaigns[1:] for one in differences(campaigns[0], other)]
    whole = ComparisonPage(campaigns, found, trend, differing, caveats(campaigns))
    show_campaigns(whole, page, as_csv=as_csv, as_json=as_json)


Paper = Literal["a4", "us-letter"]
PaperOption = Annotated[
    Paper | None,
    typer.Option("--paper", help="Paper of a PDF. [default: a4]", show_default=False),
]
Appendix = Annotated[
    bool, typer.Option("--appendix", help="A PDF with every rung and setting, and the evidence.")
]
Pdf = Annotated[bool, typer.Option("--pdf", help="Write brief.pdf in the campaign folder.")]
Markdown = Annotated[
    bool, typer.Option("--markdown", help="Print the answer as Markdown, without its figures.")
]
FiguresFolder = Annotated[
    Path | None,
    typer.Option(
        "--figures",
        help="Write each figure to this directory: SVG, PNG, PDF, and as CSV what it draws.",
        show_default=False,
    ),
]
BriefFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Output file, .html, .pdf, .md or .json. [default: brief.html in the campaign folder]",
        show_default=False,
    ),
]


def write_brief(
    campaign: CampaignName,
    out: BriefFile = None,
    pdf: Pdf = False,
    paper: PaperOption = None,
    appendix: Appendix = False,
    figures: FiguresFolder = None,
    markdown: Markdown = False,
    open_brief: OpenBrief = False,
    root: Root = CAMPAIGNS,
) -> None:
    """Write a campaign's brief again from its folder.

    \b
    Examples:
      kneebench brief latest --open
      kneebench brief ./copied/campaign --out brief.json
      kneebench brief ./copied/campaign --pdf --paper us-letter
      kneebench brief ./copied/campaign --figures figures
    """
    require_one({"--markdown": markdown, "--figures": figures, "--pdf": pdf, "--out": out}, out)
    _for_a_pdf(pdf or (out is not None and out.suffix == ".pdf"), paper, appendix=appendix)
    if not (markdown or figures or pdf or (out and out.suffix != ".html")):
        _start_drawing()
    results = load_named(campaign, root)
    if markdown:
        from kneebench.brief import Brief
        from kneebench.brief.markdown import markdown as as_markdown

        print_text(as_markdown(Brief(results)))
        return
    if figures:
        for path in write_figures(results, figures):
            print_line(str(path))
        return
    out = brief_file(results).with_suffix(".pdf") if pdf and out is None else out
    path = write(results, out, paper=paper or "a4", appendix=appendix)
    print_line(str(path))
    if open_brief:
        open_page(path)


def _start_drawing() -> None:
    from kneebench.brief.rendering import start_ahead

    start_ahead()


def _for_a_pdf(written: bool, paper: Paper | None, *, appendix: bool) -> None:
    """Raises PlanError for what only a PDF has, where none is written."""
    from kneebench.errors import PlanError

    named = [name for name, given in (("--paper", paper), ("--appendix", appendix)) if given]
    if named and not written:
        seen, do = "only a PDF has it", "add --pdf, or --out with a file that ends in .pdf"
        raise PlanError(named[0], seen=seen, do=do)


def load_all(names: Sequence[str], root: Path) -> list[Results]:
    """The campaigns of those names, shown by ids that differ; raises PlanError for the first that
    there is none of.
    """
    from kneebench.results.given_campaigns import told_apart

    return told_apart([load_named(name, root) for name in names])


def load_named(name: str, root: Path) -> Results:
    """The campaign of that name; raises PlanError where there is none."""
    from kneebench.results import load
    from kneebench.results.campaign_names import find_campaign

    return load(find_campaign(name, root))
