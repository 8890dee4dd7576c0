"""The engine SQL Server: a running server by URL, which kneebench neither starts nor stops."""
