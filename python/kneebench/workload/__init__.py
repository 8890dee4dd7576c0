"""Room 4: the virtual users."""

from kneebench.workload.load_generator import Running, generator_spec, running

__all__ = ["Running", "generator_spec", "running"]
