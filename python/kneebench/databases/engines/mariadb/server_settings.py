"""MariaDB's names among the settings of a managed server (innodb/server_settings.py)."""

from __future__ import annotations

from kneebench.databases.innodb.footprint import GIB, MIB
from kneebench.databases.innodb.server_settings import ProductSettings

SETTINGS = ProductSettings(
    group="mariadbd",
    log="innodb_log_file_size",
    own={"log_warnings": "1"},
    load_log_bytes=GIB,
    image_log_bytes=16 * MIB,
    fixed=(
        *("innodb_page_size", "innodb_checksum_algorithm", "innodb_undo_tablespaces"),
        *("innodb_compression_default", "innodb_encrypt_tables", "innodb_file_per_table"),
        *("innodb_default_row_format", "innodb_compression_algorithm", "innodb_fill_factor"),
    ),
    checking=("--verbose", "--help"),
)
