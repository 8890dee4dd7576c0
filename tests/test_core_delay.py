"""The load generator's own delay: what it adds is told apart from what the database took, on each
transport.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench.records import Tally
from tests import leftovers
from tests.leftovers import MEMORY
from tests.stand_in import BIN, FUNCTIONS, GENERATOR, Postgres, free_port

pytestmark = [
    pytest.mark.postgres15,
    pytest.mark.skipif(not BIN.exists(), reason="needs Debian's PostgreSQL 15"),
]

FROZEN_S = 4.0
"""Long beside what any process of a busy machine waits for its turn."""
SCRIPT = f"""{GENERATOR}generator.mark("window")
print("window", flush=True)
for _ in range(3):
    generator.tick()
print(json.dumps(generator.stop()))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Postgres, int]]:
    """A server on a Unix socket and on TCP, without TLS; in memory, so that no busy drive is in its
    latency.
    """
    folder = Path(leftovers.folder("delay", MEMORY))
    folder.chmod(0o755)
    postgres, port = Postgres(folder), free_port()
    try:
        postgres.stop()
        postgres.start(f"-c port={port} -c listen_addresses=127.0.0.1")
        postgres.sql(FUNCTIONS, port=port)
        yield postgres, port
    finally:
        postgres.stop()
        shutil.rmtree(folder)


def values(postgres: Postgres, port: int, host: str, **changes: object) -> str:
    given = postgres.values(**changes)
    return json.dumps({**given, "address": given["address"] | {"host": host, "port": port}})


def tally_of(values: str, frozen_s: float = 0.0) -> Tally:
    """The tally of a load generator in its own process, which is frozen for a while in its
    window.
    """
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, values], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stdout.readline() == "window\n"
        if frozen_s:
            time.sleep(0.5)
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(frozen_s)
            os.kill(process.pid, signal.SIGCONT)
        return Tally.model_validate_json(process.stdout.read())


def test_answers_that_arrive_by_tcp_while_the_load_generator_stands_still_have_their_true_latency(
    server: tuple[Postgres, int],
) -> None:
    def delayed_s() -> float:
        tally = tally_of(values(*server, "127.0.0.1"), FROZEN_S)
        assert tally.latency and tally.delay
        assert tally.delay_stamped == tally.delay.n == tally.latency.n
        assert tally.latency.max_s < 0.5 * FROZEN_S
        return tally.delay.max_s

    # the server may have stalled, too, when the load generator did
    assert any(delayed_s() > 0.95 * FROZEN_S for _ in range(3))


@pytest.mark.parametrize("rate_per_s", [None, 500.0])
def test_on_a_unix_socket_the_scheduler_tells_the_delay_of_each_transaction(
    server: tuple[Postgres, int], rate_per_s: float | None
) -> None:
    postgres, port = server
    tally = tally_of(values(postgres, port, str(postgres.folder), rate_per_s=rate_per_s))
    assert tally.latency and tally.delay
    assert (tally.delay.n, tally.delay_stamped) == (tally.latency.n, 0)
    assert 0 < tally.delay.mean_s < tally.delay.max_s


def test_a_start_that_the_load_generator_was_late_for_is_its_delay_and_not_latency(
    server: tuple[Postgres, int],
) -> None:
    some = values(*server, "127.0.0.1", rate_per_s=8.0, users=80, workers=1)
    tally = tally_of(some, FROZEN_S)
    assert tally.latency and tally.delay and tally.wait
    assert tally.delay.max_s > 0.5 * FROZEN_S, "one was due in the freeze's first half"
    assert tally.wait.max_s < 0.5 * FROZEN_S and tally.latency.max_s < 0.5 * FROZEN_S
