//! Settings of every session.

/// Generic plans by the keys, whatever the current statistics suggest: a plan flip once made a run
/// seven times too slow without any sign.
pub const SETTINGS: [(&str, &str); 5] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
];

/// Lifts the limits of a server, role or database, which are made for other work. (Of the last two
/// the first exists since 14, the other since 17.) The limit on statements is lifted first, in
/// microseconds: reading `pg_settings` takes a new session milliseconds, which a limit may end.
/// Transactions are READ COMMITTED, as on the other databases, whatever the role's default is.
pub const NO_LIMITS: &str = "SET statement_timeout = 0; \
    SET default_transaction_isolation = 'read committed'; \
    SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN \
    ('lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout', \
    'transaction_timeout');";
