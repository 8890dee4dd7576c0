"""Room 4: the virtual users."""

from kneebench.workload.load_generator import RunningLoad, generator_spec, running_load

__all__ = ["RunningLoad", "generator_spec", "running_load"]
