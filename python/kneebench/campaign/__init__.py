"""The room above the others, which puts them together: a campaign from its plan to its results."""
