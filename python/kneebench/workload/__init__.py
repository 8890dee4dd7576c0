"""Room 4: the virtual users."""

from kneebench.workload.crew import CrewOrder, Running, crew_order, running

__all__ = ["CrewOrder", "Running", "crew_order", "running"]
