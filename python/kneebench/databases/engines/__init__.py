"""The engines, one folder each: what a plan calls them, and nothing else."""
