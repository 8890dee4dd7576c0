"""What runs on a database host: the lab, the engines and the meters of kneebench as they are, as
the controller orders (other_machine.py).

When the connection ends, or the controller is silent, everything that was opened is ended in turn
and the host is as it was; should this process be killed, a guardian does that by the journal.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from kneebench.campaign.machines.machine_there import InstrumentsThere, MachineThere
from kneebench.campaign.machines.remote import Kept
from kneebench.hosts.pipe import Message, Pipe
from kneebench.hosts.typed_calls import packed_error, packed_event
from kneebench.records import Event

PATIENCE_S = 10.0
"""The controller sends something every second."""
GUARDIAN = 'read done; [ "$done" ] || exec "$0" -c "$1"'
"""A shell that waits for one line; without it, this process was killed."""
CLEAN = "from kneebench.lab.journal import Journal; Journal().clean(lambda event: None)"


def serve(pipe: Pipe) -> None:
    """Do what is ordered until the controller is silent or no longer there; then put the host
    back, which nothing interrupts.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kept = Kept(MachineThere(), InstrumentsThere())
    threading.Thread(target=_interrupt_after, args=(pipe,), daemon=True).start()
    with _guarded():
        try:
            with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
                while True:
                    _obey(kept, pipe, pipe.receive(math.inf))
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            kept.end_all()


def _obey(kept: Kept, pipe: Pipe, order: Message) -> None:
    """Answer one order; what happens meanwhile is sent before the answer."""
    if order["do"] == "beat":
        return
    if order["do"] == "probe":
        pipe.send({"id": order["id"], "now": time.time()})
        return

    def tell(event: Event) -> None:
        pipe.send({"id": order["id"], "event": packed_event(event)})

    try:
        value = kept.obey(order, tell)
    except Exception as error:
        pipe.send({"id": order["id"], "error": packed_error(error)})
    else:
        pipe.send({"id": order["id"], "value": value})


def _interrupt_after(pipe: Pipe) -> None:
    """Interrupt what is under way once the controller is no longer there; again where code of
    others swallowed that.
    """
    pipe.await_silence(PATIENCE_S)
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(PATIENCE_S)


@contextlib.contextmanager
def _guarded() -> Iterator[None]:
    """The block; a shell beside it cleans up by the journal should this process be killed."""
    environment = {**os.environ, "PYTHONPATH": sys.path[0]}
    with subprocess.Popen(
        ["sh", "-c", GUARDIAN, sys.executable, CLEAN],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
        cwd="/",
    ) as guardian:
        yield
        guardian.communicate(b"done\n")
