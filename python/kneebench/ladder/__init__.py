"""Room 6: the search for the knee.

Four words kept apart: the *search* climbs quickly to find where things happen; the *stop* is the
rung where a condition fired; the *knee* is the rung before it; the *report* is the knee measured
again, properly.
"""
