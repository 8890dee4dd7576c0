"""The engine of Db2: databases/odbc/engine.py, with the dialect in this folder."""

from kneebench.databases.odbc.engine import open_engine as open_engine
