"""`python -m bench.timed_load VALUES SECONDS`: our load generator as a rung drives it, without
meters; prints its sums each second.
"""

from __future__ import annotations

import json
import os
import sys

from kneebench._core import Address, GeneratorSpec, LoadGenerator
from kneebench.workload import running_load

PASSWORD = "KNEEBENCH_BENCH_PASSWORD"
"""The variable that the password of the server is read from, where it needs one."""


def main(given: str, seconds: int) -> None:
    """Ready, go, a tick each second, stop."""
    values = json.loads(given)
    where = {"protocol": "postgres", **values.pop("address")}
    address = Address(**where | {"password": os.environ.get(PASSWORD)})
    generator = LoadGenerator(GeneratorSpec(**values), address)
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
    if failed := users.stop().whole.failed:
        sys.exit(f"{failed} transactions failed")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
