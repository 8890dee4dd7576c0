"""Room 4: the virtual users."""

from kneebench.workload.running import RunningLoad, running_load
from kneebench.workload.specification import generator_spec

__all__ = ["RunningLoad", "generator_spec", "running_load"]
