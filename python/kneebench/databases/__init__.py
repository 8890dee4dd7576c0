"""Room 3: the engines, one folder each."""
