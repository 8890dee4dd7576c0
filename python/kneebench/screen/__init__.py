"""What people see in a terminal: progress while a campaign runs, tables of what there is.

Decides nothing.
"""
