"""MariaDB: servers of Debian's or another build that kneebench runs, and running ones by URL."""
