"""What the rules that size a server's settings go by."""

from __future__ import annotations

from typing import NamedTuple


class Machine(NamedTuple):
    """The rules' input: `log_space_bytes` is that of the smallest log directory; `cache_bytes` the
    size that the server's own cache must have, whatever the plan's settings say, None for the rule;
    `limited`: a memory limit, which huge pages would escape.
    """

    cores: int
    memory_bytes: int
    log_space_bytes: int
    cache_bytes: int | None = None
    limited: bool = False
