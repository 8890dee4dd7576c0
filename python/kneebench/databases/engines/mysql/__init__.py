"""MySQL 8 by URL: what it does not share with MariaDB. Not tried on MySQL 8."""
