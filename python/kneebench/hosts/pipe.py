"""Messages between a controller and a program on a host, over the program's input and output: JSON,
each after its length in four bytes.

This file is also sent to the host, before anything of kneebench is there: it imports the standard
library alone.
"""

import json
import math
import queue
import struct
import threading
import time
from typing import IO, Any

MOST_BYTES = 2**28
"""Of one message. The largest is the package."""
LOOK_S = 0.2
LENGTH = struct.Struct(">I")

Message = dict[str, Any]


class Pipe:
    """One end. Messages are read by a thread of their own, so that a wait for one has a limit."""

    def __init__(self, read: IO[bytes], write: IO[bytes]) -> None:
        self._read, self._write = read, write
        self._arrived: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._sending = threading.Lock()
        self.ended = False
        self.heard_at = time.monotonic()
        """When the other end last sent something; minus infinity once it is no longer there."""
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, message: Message) -> None:
        """Raises OSError where the other end is no longer there."""
        data = json.dumps(message).encode()
        with self._sending:
            self._write.write(LENGTH.pack(len(data)) + data)
            self._write.flush()

    def send_text(self, text: str) -> None:
        """A text after its length in bytes on a line: what starts the other end."""
        data = text.encode()
        self._write.write(f"{len(data)}\n".encode() + data)
        self._write.flush()

    def close(self) -> None:
        """Send nothing more; raises OSError where something is still on its way."""
        self._write.close()

    def receive(self, limit_s: float) -> Message:
        """The next message. Raises EOFError at the end, TimeoutError where none comes in time."""
        if self.ended:
            raise EOFError
        try:
            message = self._arrived.get(timeout=None if limit_s == math.inf else max(0.0, limit_s))
        except queue.Empty:
            raise TimeoutError(f"no message within {limit_s:g} s") from None
        if message is None:
            self.ended = True
            raise EOFError
        return message

    def await_silence(self, patience_s: float) -> None:
        """Wait until the other end has sent nothing for so long from now on, or is no longer
        there.
        """
        began = time.monotonic()
        while self.heard_at > -math.inf and (
            time.monotonic() - max(began, self.heard_at) < patience_s
        ):
            time.sleep(LOOK_S)

    def _listen(self) -> None:
        try:
            while (head := self._read.read(LENGTH.size)) and len(head) == LENGTH.size:
                (length,) = LENGTH.unpack(head)
                if length > MOST_BYTES:
                    break
                self._arrived.put(json.loads(self._read.read(length)))
                self.heard_at = time.monotonic()
        except (OSError, ValueError):
            pass
        self.heard_at = float("-inf")
        self._arrived.put(None)
