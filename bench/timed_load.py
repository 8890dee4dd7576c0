"""`python -m bench.timed_load VALUES SECONDS`: our load generator as a rung drives it, without
meters; prints its sums each second.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from kneebench._core import Address, GeneratorSpec, LoadGenerator
from kneebench.databases.odbc.dialect import dialect_in
from kneebench.databases.odbc.session import OdbcAddress
from kneebench.workload import running_load

PASSWORD = "KNEEBENCH_BENCH_PASSWORD"
"""The variable that the password of the server is read from, where it needs one."""

DIALECT = Path(__file__).parent.parent / "docs" / "dialects" / "postgresql"
"""Of a load over ODBC, whatever the server: its calls are the standard ones."""


def main(given: str, seconds: int) -> None:
    """Ready, go, a tick each second, stop."""
    values = json.loads(given)
    generator = _generator(values.pop("address"), GeneratorSpec(**values))
    generator.ready()
    committed, rolled_back, new_orders, now_s = 0, 0, 0, 0.0
    with running_load(generator) as users:
        while now_s < seconds - 0.5:
            tick = users.tick()
            now_s = tick.now_s
            committed += sum(second.committed for second in tick.seconds)
            rolled_back += sum(second.rolled_back for second in tick.seconds)
            new_orders += sum(
                second.committed for second in tick.seconds if second.transaction == "new_order"
            )
            print(f"[{now_s}, {committed + rolled_back}, {new_orders}, {rolled_back}]", flush=True)
        print("end", flush=True)
    ended = users.stop()
    if failed := ended.whole.failed:
        sys.exit(f"{failed} transactions failed: {ended.errors[0].first}")


def _generator(where: dict[str, Any], spec: GeneratorSpec) -> LoadGenerator:
    if string := where.get("odbc"):
        dialect = dialect_in(DIALECT).model_copy(update={"session": ()})
        return OdbcAddress(string=string, dialect=dialect).load_generator(spec)
    given = {"protocol": "postgres", **where, "password": os.environ.get(PASSWORD)}
    return LoadGenerator(spec, Address(**given))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
