"""How the users of a rung are divided over load hosts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from kneebench._core import GeneratorSpec

FIELDS = (
    "warehouses",
    "profile",
    "home",
    "think_times",
    "retries",
    "seed",
    "stream",
    "drain_s",
    "cores",
)
"""Of a load generator's specification: the same on every host."""


class HostShare(NamedTuple):
    """The users of one host: how many, and how many are on the hosts before it."""

    users: int
    first: int


def divided(whole: int, weights: Sequence[float]) -> list[int]:
    """A whole number in parts as the weights are, by largest remainders.

    >>> divided(10, [1, 1, 2]), divided(3, [1, 1]), divided(1, [1, 1, 1])
    ([3, 2, 5], [2, 1], [1, 0, 0])
    """
    exact = [whole * weight / sum(weights) for weight in weights]
    parts = [int(one) for one in exact]
    nearest = sorted(range(len(parts)), key=lambda n: (parts[n] - exact[n], n))
    for n in nearest[: whole - sum(parts)]:
        parts[n] += 1
    return parts


def host_shares(users: int, weights: Sequence[float]) -> list[HostShare]:
    """The users of each host, in order: a user has the same number whatever the hosts.

    >>> host_shares(5, [2, 1, 1])
    [HostShare(users=3, first=0), HostShare(users=1, first=3), HostShare(users=1, first=4)]
    """
    parts = divided(users, weights)
    return [
        HostShare(part, upto - part) for part, upto in zip(parts, accumulate(parts), strict=True)
    ]


def spec_of(spec: GeneratorSpec, share: HostShare, cores: int, threads: int) -> dict[str, Any]:
    """The specification of one host's part. `threads`: of the plan; 0: as many as its cores, and
    never more than it has users.

    The rate and the shared connections are divided as the users are.
    """
    part = share.users / spec.users
    upto = [spec.connections * n // spec.users for n in (share.first, share.first + share.users)]
    return {
        **{name: getattr(spec, name) for name in FIELDS},
        "users": share.users,
        "first_user": share.first,
        "all_users": spec.users,
        "rate_per_s": None if spec.rate_per_s is None else spec.rate_per_s * part,
        "connections": max(1, upto[1] - upto[0]) if spec.connections else 0,
        "workers": threads or max(1, min(share.users, cores)),
    }
