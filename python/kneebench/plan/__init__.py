"""Room 1: what shall be asked."""

from kneebench.plan.plan import Plan as Plan
