"""A database that kneebench does not know, by its driver and a dialect of the user's."""
