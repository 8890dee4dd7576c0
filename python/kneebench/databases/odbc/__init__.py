"""Databases that a driver of unixODBC reaches: a dialect, a folder of SQL, says what is the
database's own.
"""
