"""The properties of databases that kneebench does not know: those of all by a driver."""

from __future__ import annotations

from kneebench.databases.odbc.dialect import class_of_state as error_class
from kneebench.databases.odbc.properties import answers_queries as answers_queries
from kneebench.databases.odbc.properties import checkpoint_cycle_s as checkpoint_cycle_s
from kneebench.databases.odbc.properties import footprint as footprint
from kneebench.databases.odbc.properties import listens as listens
from kneebench.databases.odbc.properties import major_version as major_version
from kneebench.databases.odbc.properties import measures_real_hardware as measures_real_hardware
from kneebench.databases.odbc.properties import named_settings as named_settings
from kneebench.databases.odbc.properties import own_quantities as own_quantities
from kneebench.databases.odbc.properties import packages as packages
from kneebench.databases.odbc.properties import password_variable as password_variable
from kneebench.databases.odbc.properties import postponed as postponed
from kneebench.databases.odbc.properties import publishing as publishing
from kneebench.databases.odbc.properties import safety_settings as safety_settings
from kneebench.databases.odbc.properties import server_program as server_program
from kneebench.databases.odbc.properties import wait_class as wait_class

label = "ODBC"
__all__ = ["error_class"]
