"""MySQL's names among the settings of a managed server (innodb/server_settings.py).

The binary log, which is on by default, is off as on MariaDB. Threads of the server write the log:
they are watched too. The image has the smallest log that there is; a restore resizes it.
"""

from __future__ import annotations

from kneebench.databases.innodb.footprint import GIB, MIB
from kneebench.databases.innodb.server_settings import ProductSettings

SETTINGS = ProductSettings(
    group="mysqld",
    log="innodb_redo_log_capacity",
    own={"mysqlx": "OFF", "log_error_verbosity": "2"},
    load_log_bytes=2 * GIB,
    image_log_bytes=8 * MIB,
    fixed=(
        *("innodb_page_size", "innodb_file_per_table", "innodb_default_row_format"),
        *("innodb_fill_factor", "default_table_encryption", "lower_case_table_names"),
    ),
    checking=("--validate-config",),
    watched=("thread/%=ON",),
)
