"""Predictions: a queueing model is fitted to a finished campaign and run with another drive, memory
or number of cores.
"""

# A plan's tables load those of the engines, so that they come before any table of an engine.
import kneebench.plan  # noqa: F401
