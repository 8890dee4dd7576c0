"""The shelf of meters of power: one file for each type, with its table of the plan."""
