"""Two climbs whose knees are at different numbers of users, and what that explains by itself.

A knee is any number of users that gives 97% of the best throughput. So two climbs of the same
storage may find it at different ones. By that alone NOPM differs by up to 3%, and latency in a
closed loop as much as the load.
"""

from __future__ import annotations

from kneebench.analysis.knee_fit import LOWER
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
