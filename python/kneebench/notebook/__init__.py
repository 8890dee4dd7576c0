"""What Python and notebooks see: campaigns as frames, charts and pages, and the progress of one.

It stands on all rooms and measures nothing itself.
"""
