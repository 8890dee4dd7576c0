"""PostgreSQL, three ways: embedded, your own build (bin_dir), a running server (url)."""

from kneebench.databases.postgres import engine as engine
