"""The shelf of sections: one file each, with a `PLACE` (where on the page) and `section(view)`,
which gives None when it has nothing to say.
"""
