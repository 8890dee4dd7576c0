//! Settings of every session, one statement each.

/// READ COMMITTED: the procedures read, and lock rows without the gaps between them, as they do on
/// the other databases (docs/decisions/mariadb-procedures.md). No limits that are made for other
/// work: the first is for idle users, the second exists on MariaDB only.
pub const SETTINGS: [&str; 2] = [
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION autocommit = 1, wait_timeout = 31536000 /*M!100101 , max_statement_time = 0 */",
];

/// Settings of a connection for loading: rows come in the order of their key and refer to each
/// other, so neither is checked; with both off, MariaDB 10.7 and later fills an empty table without
/// an undo record for each row. The server waits for rows as long as it takes to make them.
pub const LOADING: &str =
    "SET SESSION unique_checks = 0, foreign_key_checks = 0, net_read_timeout = 3600";
