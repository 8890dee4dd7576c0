"""The properties of MariaDB (engine_properties.py): what is known of it before a server runs."""

from __future__ import annotations

from signal import SIGTERM

from kneebench.databases.innodb.properties import answers_queries as answers_queries
from kneebench.databases.innodb.properties import checkpoint_cycle_s as checkpoint_cycle_s
from kneebench.databases.innodb.properties import error_class as error_class
from kneebench.databases.innodb.properties import footprint as footprint
from kneebench.databases.innodb.properties import major_version as major_version
from kneebench.databases.innodb.properties import measures_real_hardware as measures_real_hardware
from kneebench.databases.innodb.properties import own_quantities as own_quantities
from kneebench.databases.innodb.properties import packages as packages
from kneebench.databases.innodb.properties import password_variable as password_variable
from kneebench.databases.innodb.properties import postponed as postponed
from kneebench.databases.innodb.properties import publishing as publishing
from kneebench.databases.innodb.properties import safety_settings as safety_settings
from kneebench.databases.innodb.properties import wait_class as wait_class
from kneebench.engine_properties import Listens, ServerProgram

label = "MariaDB"
named_settings = (
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "sync_binlog",
)
listens: Listens = "for users"
server_program: ServerProgram | None = ServerProgram("mariadbd", stop=SIGTERM)
"""SIGTERM ends the sessions and writes all pages out."""
