"""TPROC-H, as far as it is the same on every engine. Derived from TPC-H, not comparable with TPC
results.
"""
