"""Room 4: the virtual users."""

from kneebench.workload.running import RunningLoad, running_load
from kneebench.workload.specification import generator_spec, on_cores

__all__ = ["RunningLoad", "generator_spec", "on_cores", "running_load"]
