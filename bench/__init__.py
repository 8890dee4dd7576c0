"""The benchmarks: what kneebench itself costs, each figure a ratio measured side by side in one
run. `make bench` runs them.

A benchmark is a file of this folder with `NAME`, `ABOUT` and `measure(size)`. They are no tests:
nothing fails because a machine is slow.
"""
