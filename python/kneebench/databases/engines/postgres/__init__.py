"""PostgreSQL, three ways: embedded, your own build (bin_dir), a running server (url)."""
