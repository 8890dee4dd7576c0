"""Two climbs whose knees are at different numbers of users, and what that explains by itself.

A knee is any number of users that gives 97% of the best throughput. So two climbs of the same
storage may find it at different ones. By that alone NOPM differs by up to 3%, and latency in a
closed loop as much as the load.
"""

from __future__ import annotations

from kneebench.analysis.final_estimates import quotient
from kneebench.analysis.knee_fit import LOWER, throughput_share
from kneebench.analysis.knee_interval import users_interval
from kneebench.analysis.quantity_ratio import KNEE_LATENCY, NOPM, ComparedQuantity
from kneebench.records import Climb, Estimate


def knees_apart(climb: Climb, against: Climb, quantity: ComparedQuantity, ratio: Estimate) -> str:
    """Why a ratio at the knees of two campaigns is no difference: they are at different numbers of
    users, and that may be all. Empty where it is not, or where the numbers are the same.
    """
    users = climb.knee_users, against.knee_users
    if None in users or users[0] == users[1]:
        return ""
    explained = ratio.low < 1 / (1 - LOWER) and ratio.high > 1 - LOWER
    if quantity is KNEE_LATENCY or (quantity is NOPM and explained):
        return f"the knees are at different numbers of users ({users[0]} vs. {users[1]})"
    return ""


def compared_users(climb: Climb, against: Climb) -> int | None:
    """The users of the baseline's knee, where those of the climb's are others although the two do
    not contradict each other: the interval of either contains the other's knee.
    """
    own, base = users_interval(climb), users_interval(against)
    if own is None or base is None or own.value == base.value:
        return None
    within = own.low <= base.value <= own.high or base.low <= own.value <= base.high
    return int(base.value) if within else None


def carried_nopm(climb: Climb, nopm: Estimate, users: int) -> Estimate | None:
    """NOPM of a climb's knee at other users, by the curves through its own rungs. A knee has at
    least 97% of the best throughput, so no more than that is ever added or taken away. None where
    the climb did not measure as many or as few users.
    """
    share = throughput_share(climb.rungs, climb.knee_users or 0, users)
    if share is None or nopm.low <= 0:
        return None
    value, low, high = (
        min(max(one, 1 - LOWER), 1 / (1 - LOWER)) for one in (share.value, share.low, share.high)
    )
    return quotient(nopm, Estimate(value=value, low=low, high=high, n=nopm.n, method=share.method))
