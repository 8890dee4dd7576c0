//! Settings of every session, one statement each.

/// READ COMMITTED: the procedures read, and lock rows without the gaps between them, as they do on
/// the other databases (docs/decisions/mariadb-procedures.md). No limits that are made for other
/// work: the first is for idle users, the second exists on MariaDB only. Nothing depends on what
/// the server sets for its sessions: mode, time zone, transactions and character set are ours. The
/// control sessions have the same (databases/innodb/session.py).
pub const SETTINGS: [&str; 3] = [
    "SET NAMES utf8mb4",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
    "SET SESSION autocommit = 1, completion_type = 0, \
    sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', \
    sql_safe_updates = 0, sql_select_limit = 18446744073709551615, \
    wait_timeout = 31536000 /*M!100101 , max_statement_time = 0 */",
];

/// Settings of a connection for loading: rows come in the order of their key and refer to each
/// other, so neither is checked; with both off, MariaDB 10.7 and later fills an empty table without
/// an undo record for each row. The server waits for rows as long as it takes to make them.
pub const LOADING: &str =
    "SET SESSION unique_checks = 0, foreign_key_checks = 0, net_read_timeout = 3600";
