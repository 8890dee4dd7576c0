"""Room 5: one rung, watched."""
