"""The simulated engine: a database and its drives as a discrete-event model, for tests, the
tutorial and what-if questions.
"""
