"""The number of cores that a fixed load keeps busy: the most of which the least busy one reaches
the limit of saturation.

With fewer cores each is busier, so it is searched for between what is known to be too many and what
is known to be busy (docs/decisions/saturating-cores.md).
"""

from __future__ import annotations

from collections.abc import Mapping


def next_try(tried: Mapping[int, float], most: int, busy: float) -> int | None:
    """The number of cores to measure next; None once the answer is known. `tried`: by number of
    cores how busy the least busy one was, of the `most` that there are; `busy`: the limit.

    >>> next_try({}, 8, 0.97), next_try({8: 0.98}, 8, 0.97)
    (8, None)
    >>> next_try({8: 0.5}, 8, 0.97), next_try({8: 0.5, 4: 0.98}, 8, 0.97)
    (4, 6)
    """
    if not tried:
        return most
    enough = max((cores for cores, share in tried.items() if share >= busy), default=0)
    many = min((cores for cores, share in tried.items() if share < busy), default=most + 1)
    if enough == most or many - enough <= 1:
        return None
    if not enough and len(tried) == 1:  # the load fills about so many
        return min(max(1, int(many * tried[many] / busy)), many - 1)
    return (enough + many) // 2


def saturated(tried: Mapping[int, float], busy: float) -> int:
    """The answer, once there is nothing more to try; 1 where even one core is not busy enough."""
    return max((cores for cores, share in tried.items() if share >= busy), default=1)
