"""What MariaDB and MySQL have in common: one protocol, one storage engine, nearly one SQL."""
