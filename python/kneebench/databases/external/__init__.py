"""Servers that run already and are reached by URL, as far as they are the same for every engine."""
