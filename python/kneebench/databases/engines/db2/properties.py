"""The properties of Db2 (engine_properties.py). No server of it has run this."""

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
from kneebench.databases.odbc.properties import safety_settings as safety_settings
from kneebench.databases.odbc.properties import server_program as server_program
from kneebench.databases.odbc.properties import wait_class as wait_class

label = "Db2"
error_class = classes_by(Path(__file__).parent)
named_settings = ("logbufsz", "logfilsiz", "logprimary", "page_age_trgt_mcr", "database_memory")
publishing = (
    "IBM's licence agreement lets you publish results of benchmark tests only with the whole method"
    " (hardware, software, set-up, configuration files), the latest fixes, and IBM's advice on"
    " tuning followed: read its terms before you publish."
)
