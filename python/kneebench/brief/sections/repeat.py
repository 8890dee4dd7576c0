"""The plan as a file, and the command that measures it again."""

from __future__ import annotations

from kneebench.brief import server_provenance
from kneebench.brief.section import Section
from kneebench.brief.view_model import ViewModel
from kneebench.plan import Plan
from kneebench.plan.resolve import database_plans
from kneebench.plan.writer import to_toml
from kneebench.results.compare_plans import plan_document

PLACE = 130
INSTRUCTION = "Save this plan, with all defaults filled in, as plan.toml. Then run the command."
COMMANDS = (
    'Commands are not saved because they may contain secrets: replace each "[not kept, hash ...]"'
    " with the command itself."
)
RELATIVE = "Relative paths start from the directory where kneebench runs."


def section(view: ViewModel) -> Section:
    """To be repeated by anyone; passwords were never kept."""
    plan = Plan.model_validate(plan_document(view.plan))
    notes = {INSTRUCTION: True, RELATIVE: _relative(plan), COMMANDS: bool(plan.kept_commands)}
    sentences = tuple(sentence for sentence, holds in notes.items() if holds)
    return Section(
        name="repeat",
        title="Reproduce this result",
        sentences=sentences,
        code=(to_toml(plan), "kneebench run plan.toml"),
        fold=True,
    )


def _relative(plan: Plan) -> bool:
    """Whether a path that is used begins where kneebench is run."""
    own = [one for one in database_plans(plan).values() if server_provenance.kind(one) == "own"]
    paths = [path for one in own for path in (*one.database.paths, *plan.paths)]
    return any(not path.is_absolute() for path in paths)
