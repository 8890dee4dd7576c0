"""Oracle Database, by its maker's ODBC driver and a dialect. Not tried on a real one."""
