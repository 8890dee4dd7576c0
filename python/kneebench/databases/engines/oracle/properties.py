"""The properties of Oracle Database (engine_properties.py). No server of it has run this."""

from __future__ import annotations

from pathlib import Path

from kneebench.databases.odbc.properties import answers_queries as answers_queries
from kneebench.databases.odbc.properties import checkpoint_cycle_s as checkpoint_cycle_s
from kneebench.databases.odbc.properties import classes_by
from kneebench.databases.odbc.properties import footprint as footprint
from kneebench.databases.odbc.properties import listens as listens
from kneebench.databases.odbc.properties import major_version as major_version
from kneebench.databases.odbc.properties import measures_real_hardware as measures_real_hardware
from kneebench.databases.odbc.properties import own_quantities as own_quantities
from kneebench.databases.odbc.properties import packages as packages
from kneebench.databases.odbc.properties import password_variable as password_variable
from kneebench.databases.odbc.properties import postponed as postponed
from kneebench.databases.odbc.properties import server_program as server_program
from kneebench.databases.odbc.properties import wait_class as wait_class
from kneebench.engine_properties import SafetySetting

label = "Oracle Database"
error_class = classes_by(Path(__file__).parent)
named_settings = (
    "sga_target",
    "db_cache_size",
    "log_buffer",
    "commit_wait",
    "fast_start_mttr_target",
)
safety_settings = (
    SafetySetting(
        "commit_wait",
        ["", "wait", "force_wait"],
        "a crash can lose commits, and users do not wait for the log",
        "Oracle, Database Reference, COMMIT_WAIT",
    ),
    SafetySetting(
        "db_block_checksum",
        ["typical", "full", "true"],
        "a block that a drive damaged may not be found out",
        "Oracle, Database Reference, DB_BLOCK_CHECKSUM",
    ),
)
publishing = (
    "Oracle's licences forbid to disclose results of benchmark tests of its programs without its"
    " prior consent: have it before you publish."
)
