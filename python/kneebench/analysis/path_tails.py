"""Short names of several paths: their last parts, as many as tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def path_tails(paths: Sequence[Path]) -> list[Path]:
    """The end of each path: of all the same number of parts, the fewest by which different paths
    differ.

    >>> [str(one) for one in path_tails([Path("/a/h1/night"), Path("/a/h3/night")])]
    ['h1/night', 'h3/night']
    >>> [str(one) for one in path_tails([Path("/a/one"), Path("/b/two")])]
    ['one', 'two']
    """
    for length in range(1, max((len(path.parts) for path in paths), default=0)):
        tails = [Path(*path.parts[-length:]) for path in paths]
        if len(set(tails)) == len(set(paths)):
            return tails
    return list(paths)
