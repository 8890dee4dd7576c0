"""The plan as a file, and the command that measures it again."""

from __future__ import annotations

from kneebench.brief import served
from kneebench.brief.reading import Reading
from kneebench.brief.section import Section
from kneebench.plan import Plan
from kneebench.plan.writer import to_toml

PLACE = 130
SAID = "Save this as plan.toml: it is the plan, with every default filled in. Then run the command."
RELATIVE = "Relative paths in it start from the directory where kneebench is run."


def section(reading: Reading) -> Section:
    """To be repeated by anyone; passwords were never kept."""
    sentences = (SAID, RELATIVE) if _relative(reading.plan) else (SAID,)
    return Section(name="repeat", title="To repeat it", sentences=sentences, code=(to_toml(_plan(reading)), "kneebench run plan.toml"), fold=True)


def _plan(reading: Reading) -> Plan:
    """As it was kept; but of a server by URL "copy" was only the default's name, and said aloud it would be refused."""
    document = reading.plan.model_dump(mode="json")
    if served.kind(reading.plan) == "url" and document["database"]["restore"] == "copy":
        del document["database"]["restore"]
    return Plan.model_validate(document)


def _relative(plan: Plan) -> bool:
    """Whether a path that is used begins where kneebench is run."""
    if served.kind(plan) != "own":
        return False
    paths = [plan.database.image_path, plan.database.bin_dir, *plan.paths]
    return any(path and not path.is_absolute() for path in paths)
