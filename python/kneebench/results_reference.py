"""Reference of the results folder (docs/results.md, and a page for each of its files in
docs/results/), generated from the records that are written there, the columns of its tables, and
the quantities that meters read.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from kneebench.analysis.wording import capital
from kneebench.measurement import derived_metrics
from kneebench.measurement.quantities import RATIOS, READ
from kneebench.notebook import columns
from kneebench.notebook.columns import CALLS, FRAMES
from kneebench.notebook.frame import FrameColumn
from kneebench.records import Record
from kneebench.results.file_schemas import SECONDS, SERIES
from kneebench.results.formats import DOCUMENTS

HEAD = """# The results folder

A campaign is a folder of plain files, which other tools may read. [Python](python.md) reads it with
`kneebench.load`, and DuckDB reads its tables as they are. Nothing changes after `finished.json` was
written, except that `kneebench brief` writes a page and a later run may add configurations.

| file | content |
|---|---|
| `campaign.json` | the head: plan, host, settings, drives; never a password |
| `climbs/CONFIGURATION.json` | the end of a climb: stop conditions, knee, consistency conditions |
| `rungs/KEY.json` | one rung: what was ordered, counts, latencies, quantities, self-checks |
| `conditions/KEY.json` | consistency conditions after the final run that ends with this rung |
| `series/KEY.parquet` | what the meters read in each second of a rung |
| `seconds/KEY.parquet` | transactions and latencies in each second of a rung |
| `finished.json` | the end of the campaign; missing while it is unfinished |
| `events.jsonl` | JSON objects, one per line: `at` (Unix time), `kind`, `doing`, `share`, `data` |
| `schema/KIND.json` | the JSON Schema of each kind of document |
| `brief.html` | the brief, if it was written |
| `origin` | a code that shows who recorded the campaign, and on which machine |
| `lock` | locked while a campaign is measured |

CONFIGURATION is the id of a configuration. KEY names a rung: `CONFIGURATION.PHASE-USERS`, then
`-REPEAT` if it is not 0, such as `slow-drive.final_run-18-2`. Phases are `warm_up`, `search`,
`bisection`, `confirmation`, `drift_check`, `fixed_load`, `final_run`, `fixed_rate` and
`load_level`.

Each name ends with its unit: `_s` are seconds, `_w` watts, `_bytes` bytes, `_per_s` a rate per
second; a share is from 0 to 1. Times of day are ISO 8601 with their zone. Where the pages of the
files say None, the JSON has `null`.

Each document has the number of its format. Version 0.1.0 writes format 5, the first that is kept:
every later version reads it and all formats after it. Folders and archives of formats 1 to 4, of
development versions, are refused with the version that wrote them. So is a newer format than the
installed version knows. A release whose documents differ in any way has a new number
([record](decisions/results-format.md)).

A rung is used in a figure only if none of its `remarks` has the severity `invalid`. Rungs of the
search are never quoted: figures come from the phases `final_run`, `fixed_rate` and `load_level`.
"""
_TABLES = """## Tables

All tables are in Parquet, compressed with zstd. The window begins at the rung's `warm_up_s` and is
as long as its `tally.window_s`. In `series` `at_s` is the end of a second, from the rung's start;
in `seconds` it is the start of one, from the start of the load. A second belongs to the window if
its middle does: `at_s - 0.5` in `series`, `at_s + 0.5` in `seconds`.
[An example](python.md#duckdb-on-the-folder) joins the tables with the rungs.

```{toctree}
:hidden:

results/campaign
results/climb
results/rung
results/conditions
results/series
results/seconds
results/finished
```
"""
_QUANTITIES = """## Quantities

The names in `series`, with their units. A counter's value is its rate since the reading before; a
gauge's value is what was read. A ratio is the quotient of counters' rises: a mean of its values
over some seconds is not that of the seconds. Of each rung's window, `quantities` in its document
has one number. A quantity that nothing can read is missing.
"""
_DERIVED = """These are derived from them for a rung's window alone: its document has them, and
`series` has not. With meters of power so is `system.power`, in W, of the meter or sum that the
campaign names.

| quantity | content |
|---|---|"""
FRAMES_HEAD = """# The columns of the frames

`results.rungs()` and its like give [frames](python.md#tables). Each column's unit is at the end of
its name: `_s` are seconds, `_bytes` bytes, `_per_s` a rate per second. A whole is a whole
number, a flag is true or false, and a time is in UTC. A number that was not measured is missing.
"""
_WRITTEN = "<!-- Written by `make docs`; change the source, not this file. -->"
_HISTOGRAM = FrameColumn("text", "Latencies as an HDR histogram, V2, compressed, base64")


FILES = {
    "rung": "rungs/KEY.json",
    "climb": "climbs/CONFIGURATION.json",
    "conditions": "conditions/KEY.json",
    "finished": "finished.json",
    "campaign": "campaign.json",
}
"""By kind of document. A record in several of them is on the page of the first."""
TABLES = {"series": "series/KEY.parquet", "seconds": "seconds/KEY.parquet"}


def results_reference() -> dict[str, str]:
    """docs/results.md and the page of each file, with its fields, columns and units; by path."""
    head = HEAD
    for name, file in {**FILES, **TABLES}.items():
        head = head.replace(f"| `{file}` |", f"| [`{file}`](results/{name}.md) |")
    pages = {"results.md": [head, _TABLES], **_tables(), **_documents()}
    return {path: "\n".join((*parts, _WRITTEN, "")) for path, parts in pages.items()}


def frames_reference() -> str:
    """docs/frames.md: the columns of each frame."""
    lines = [FRAMES_HEAD]
    named = {f"results.{name}()": found for name, found in FRAMES.items()}
    named |= {f"{call}.frame()": found for call, found in CALLS.items()}
    for name, found in named.items():
        lines += [f"## `{name}`\n", "| column | kind | content |", "|---|---|---|"]
        lines += [_cells(f"`{one}`", column.kind, column.about) for one, column in found.items()]
        lines += [""]
    return "\n".join((*lines, _WRITTEN, ""))


def _tables() -> dict[str, list[str]]:
    return {
        "results/series.md": [*_table("series", SERIES, columns.SERIES), *_quantities()],
        "results/seconds.md": [
            *_table("seconds", SECONDS, {**columns.SECONDS, "histogram": _HISTOGRAM})
        ],
    }


def _table(name: str, types: dict[str, str], about: dict[str, FrameColumn]) -> Iterator[str]:
    yield f"# `{TABLES[name]}`\n"
    yield "[Tables](../results.md#tables) says which of its rows belong to the window.\n"
    yield "| column | type | content |\n|---|---|---|"
    yield from (_cells(f"`{column}`", kind, about[column].about) for column, kind in types.items())
    yield ""


def _quantities() -> Iterator[str]:
    yield f"{_QUANTITIES}\n| quantity | unit | kind |\n|---|---|---|"
    for name, one in sorted(READ.items()):
        if one.kind != "histogram":
            yield _cells(f"`{name}`", one.unit, one.kind)
    for name, ratio in sorted(RATIOS.items()):
        parts = " and ".join(ratio.numerators), " and ".join(ratio.denominators)
        instead = f"; where that is not read: {ratio.instead}" if ratio.instead else ""
        yield _cells(f"`{name}`", ratio.unit, f"ratio: {parts[0]} by {parts[1]}{instead}")
    yield f"\n{_DERIVED}"
    yield from (_cells(f"`{name}`", capital(text)) for name, text in _derived())
    yield ""


def _derived() -> Iterator[tuple[str, str]]:
    """The derived metrics, as their module lists them: name and content."""
    listed = inspect.cleandoc(derived_metrics.__doc__ or "").split("\n- ")[1:]
    for one in listed:
        name, _, text = re.sub(r"\s+", " ", one).partition(": ")
        yield name, text


def _documents() -> dict[str, list[str]]:
    """The page of each document, with the records within it that no page before it has."""
    classes, place = {one.__name__: one for one in _below(Record)}, dict[str, str]()
    pages = dict[str, list[str]]()
    for kind, file in FILES.items():
        schema = DOCUMENTS[kind].model_json_schema(mode="serialization")
        records = {
            name: one for name, one in sorted(schema.pop("$defs", {}).items()) if name not in place
        }
        place |= dict.fromkeys(records, f"{kind}.md")
        elsewhere = {name: page for name, page in place.items() if name not in records}
        parts = [*_record(f"# `{file}`", DOCUMENTS[kind], schema, elsewhere)]
        for name, one in records.items():
            parts += _record(f"## {name}", classes[name], one, elsewhere)
        pages[f"results/{kind}.md"] = parts
    return pages


def _below(kind: type[Record]) -> Iterator[type[Record]]:
    """Its subclasses, and theirs."""
    for inner in kind.__subclasses__():
        yield inner
        yield from _below(inner)


def _record(
    title: str, kind: type, schema: dict[str, Any], elsewhere: Mapping[str, str]
) -> Iterator[str]:
    """A record's fields; `elsewhere`: the pages of the records that are not on its own."""
    about = field_docstrings(kind)
    words = (kind.__doc__ or "").partition(">>>")[0]
    text = re.sub(r"\s+", " ", inspect.cleandoc(words)).strip()
    yield f"{title}\n\n{textwrap.fill(text, 100, break_on_hyphens=False)}\n"
    yield "| field | type | content |\n|---|---|---|"
    for name, one in schema["properties"].items():
        yield _cells(f"`{name}`", _type(one, elsewhere), about.get(name, ""))
    yield ""


def field_docstrings(kind: type) -> dict[str, str]:
    """The text below each field of a class, where there is one, on one line."""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        ast.unparse(field.target): re.sub(r"\s+", " ", text.value.value).strip()
        for field, text in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _type(schema: dict[str, Any], elsewhere: Mapping[str, str]) -> str:
    """The type of a field, in a few words."""

    def named(inner: dict[str, Any]) -> str:
        return _type(inner, elsewhere)

    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}]({elsewhere.get(name, '')}#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(named, schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if "prefixItems" in schema:
        return f"list: {', '.join(map(named, schema['prefixItems']))}"
    if schema.get("type") == "array":
        return f"list of {named(schema.get('items', {}))}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"{named(inner)} by name" if isinstance(inner, dict) else "object"
    return str(schema.get("type", schema.get("const", "any")))


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
