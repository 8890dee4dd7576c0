"""What the numbers say: pure functions over records, for every room; no files, no printing.

No bare number leaves here: an Estimate has its interval and how many runs it rests on, a Comparison
its noise floor, a Bottleneck its evidence.
"""
