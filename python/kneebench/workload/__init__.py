"""Room 4: the virtual users."""

from kneebench.workload.running import LoadGenerators, RunningLoad, running_load
from kneebench.workload.specification import generator_spec, on_cores

__all__ = ["LoadGenerators", "RunningLoad", "generator_spec", "on_cores", "running_load"]
