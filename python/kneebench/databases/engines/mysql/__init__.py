"""MySQL 8: what it does not share with MariaDB."""
