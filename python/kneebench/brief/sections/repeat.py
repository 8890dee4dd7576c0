"""The plan as a file, and the command that measures it again."""

from __future__ import annotations

from kneebench.brief import server_provenance
from kneebench.brief.section import Section
from kneebench.brief.view_model import ViewModel
from kneebench.plan.study import Study
from kneebench.plan.writer import to_bare_toml

INSTRUCTION = (
    "Save the first text as plan.toml, then run the command. The last text is the same plan with"
    " the defaults of the kneebench that measured, in case a later one has others."
)
FOLDER = "All that was measured is in the folder of this page: campaign.json, rungs, series."
COMMANDS = (
    'Commands are not saved because they may contain secrets: replace each "[not kept, hash ...]"'
    " with the command itself."
)
RELATIVE = "Relative paths start from the directory where kneebench runs."


def section(view: ViewModel) -> Section:
    """To be repeated by anyone; passwords were never kept."""
    study = Study.kept(view.plan.document)  # every key that this version has is one of the plan's
    notes = {INSTRUCTION: True, RELATIVE: _relative(study), COMMANDS: bool(study.kept_commands)}
    sentences = (*(sentence for sentence, holds in notes.items() if holds), FOLDER)
    written, whole = (to_bare_toml(study, defaults=defaults) for defaults in (False, True))
    return Section(
        name="repeat",
        title="Reproduce this result",
        sentences=sentences,
        code=(written, "kneebench run plan.toml", whole),
        part="appendix",
    )


def _relative(study: Study) -> bool:
    """Whether a path that is used begins where kneebench is run."""
    own = [one for one in study.databases.values() if server_provenance.kind(one) == "own"]
    paths = [path for one in own for path in (*one.database.paths, *study.paths)]
    return any(not path.is_absolute() for path in paths)
