"""`python -m bench`: run the benchmarks, print their table, keep them as JSON and, if asked to, in
docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import pkgutil
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from bench.ratio import Ratio, Size
from bench.table import performance_page, printed
from kneebench.directories import CAMPAIGNS
from kneebench.lab.host import host

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
KEPT = CAMPAIGNS / "bench.json"


def benchmarks() -> dict[str, ModuleType]:
    """Every benchmark by its name."""
    modules = [
        import_module(f"bench.{module.name}")
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if not module.name.startswith("_")
    ]
    return {module.NAME: module for module in modules if hasattr(module, "NAME")}


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmarks, or all that this machine can run; 0 also if a goal is missed,
    because a benchmark is not a test. 1 if a judge (`MUST_HOLD`) finds a difference, or cannot run.
    """
    known = benchmarks()
    parser = _parser(known)
    asked = parser.parse_args(arguments)
    if unknown := set(asked.names) - set(known):
        parser.error(
            f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}"
        )
    rows = json.loads(asked.json.read_text())["rows"] if asked.json.exists() else {}
    size, failed = Size(quick=asked.quick, images=asked.images), False
    measured: dict[str, Sequence[Ratio]] = {}
    for name in asked.names or sorted(known):
        if reason := getattr(known[name], "unable", str)():
            print(f"{name} not run: {reason}", file=sys.stderr, flush=True)
            failed |= name in asked.names
            continue
        print(f"{name}: {known[name].ABOUT} ...", file=sys.stderr, flush=True)
        found = measured[name] = known[name].measure(size)
        rows[name] = [
            row.model_dump() | {"holds": row.holds, "doubtful": row.doubtful} for row in found
        ]
        print(printed(found), flush=True)
        failed |= _refuted(known[name], found) and not asked.quick
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(
            json.dumps({"machine": host().model_dump(mode="json"), "rows": rows}, indent=2)
        )
    if asked.page:
        PAGE.write_text(performance_page(PAGE.read_text(), measured, host()))
    return int(failed)


def _refuted(module: ModuleType, found: Sequence[Ratio]) -> bool:
    return getattr(module, "MUST_HOLD", False) and not all(row.holds for row in found)


def _parser(known: dict[str, ModuleType]) -> argparse.ArgumentParser:
    about = "\n".join(f"  {name:10} {module.ABOUT}" for name, module in sorted(known.items()))
    parser = argparse.ArgumentParser(
        "bench",
        description=__doc__,
        epilog=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which (default: all)")
    kept = f"where the rows are kept (default {KEPT})"
    quick = "only show that they run: seconds each, figures that mean nothing"
    images = "where loaded databases are kept for other benchmarks and runs (default: nowhere)"
    page = f"also write {PAGE.parent.name}/{PAGE.name} with the parts that were measured"
    parser.add_argument("--json", type=Path, default=KEPT, help=kept)
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--images", type=Path, help=images)
    parser.add_argument("--page", action="store_true", help=page)
    return parser


if __name__ == "__main__":
    sys.exit(main())
