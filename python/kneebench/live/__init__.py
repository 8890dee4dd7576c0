"""A page on which a campaign is watched while it runs. It reads the campaign's folder alone, and
the process that measures imports nothing of it.
"""
