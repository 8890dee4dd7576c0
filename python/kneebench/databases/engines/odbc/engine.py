"""The engine of databases that kneebench does not know: databases/odbc/engine.py."""

from kneebench.databases.odbc.engine import open_engine as open_engine
