"""The properties of MySQL (engine_properties.py): those of MariaDB, but servers that kneebench
starts have users on this machine alone.
"""

from __future__ import annotations

from signal import SIGTERM

from kneebench.databases.engines.mariadb import footprint as footprint
from kneebench.databases.engines.mariadb.properties import checkpoint_cycle_s as checkpoint_cycle_s
from kneebench.databases.engines.mariadb.properties import error_class as error_class
from kneebench.databases.engines.mariadb.properties import major_version as major_version
from kneebench.databases.engines.mariadb.properties import own_quantities as own_quantities
from kneebench.databases.engines.mariadb.properties import packages as packages
from kneebench.databases.engines.mariadb.properties import password_variable as password_variable
from kneebench.databases.engines.mariadb.properties import postponed as postponed
from kneebench.databases.engines.mariadb.properties import safety_settings as safety_settings
from kneebench.databases.engines.mariadb.properties import wait_class as wait_class
from kneebench.engine_properties import ServerProgram

label = "MySQL"
publishing = ""
named_settings = (
    "innodb_buffer_pool_size",
    "innodb_redo_log_capacity",
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "sync_binlog",
)
measures_real_hardware = True
listens = False
answers_queries = True
server_program: ServerProgram | None = ServerProgram("mysqld", stop=SIGTERM)
