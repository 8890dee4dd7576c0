"""Predictions: a queueing model is fitted to a finished campaign and run with another drive, memory
or number of cores.
"""
