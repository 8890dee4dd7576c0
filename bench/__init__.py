"""The benchmarks: what kneebench itself costs, each figure a ratio measured side by side in one
run. `make bench` runs them.

A benchmark is a file of this folder with `NAME`, `ABOUT` and `measure(size)`. They are no tests:
nothing fails because a machine is slow. One may have `unable()`, the reason why this machine cannot
run it. One with `MUST_HOLD` is a judge: it fails where what it compares does not agree.
"""
