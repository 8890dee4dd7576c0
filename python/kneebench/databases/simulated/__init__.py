"""The simulated engine: a database and its drives as a discrete-event model, for tests, the tutorial and what-if questions."""

from kneebench.databases.simulated.engine import open_engine

__all__ = ["open_engine"]
