//! Errors of SQL Server, by their number (its manual: "Database Engine events and errors").

use crate::session::{Error, ErrorClass};

/// The number that the procedure `kneebench.new_order` throws for an item that does not exist.
const ROLLED_BACK_BY_DESIGN: i32 = 50_404;
/// From this severity on the server ends the connection.
const FATAL_SEVERITY: u8 = 20;
/// Babelfish's number for every error that it does not translate.
const BABELFISH: i32 = 33_557_097;
/// Its words for what SQL Server reports as 3960, 1205 and 1222.
const BABELFISH_RETRY: [&str; 3] =
    ["could not serialize access", "deadlock detected", "canceling statement due to lock timeout"];

/// An error as the server reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    pub number: i32,
    pub severity: u8,
    pub message: String,
    /// The procedure that failed, and the line in it; empty outside one.
    pub procedure: String,
    pub line: u32,
}

impl ServerError {
    /// The connection ends, perhaps after the commit.
    pub fn fatal(&self) -> bool {
        self.severity >= FATAL_SEVERITY
    }

    pub fn error(&self) -> Error {
        let Self { number, severity, message, procedure, line } = self;
        let place = match procedure.is_empty() {
            true => String::new(),
            false => format!("; {procedure}, line {line}"),
        };
        Error {
            class: class(*number, message),
            code: number.to_string(),
            message: format!("{message} (error {number}, severity {severity}{place})"),
        }
    }

    /// The error of a transaction. If it is fatal, the connection is lost, and the transaction may
    /// have committed.
    pub fn outcome_error(&self) -> Error {
        let error = self.error();
        if self.fatal() { Error { class: ErrorClass::Lost, ..error } } else { error }
    }
}

/// The class of an error number; Babelfish's own number needs the message.
fn class(number: i32, message: &str) -> ErrorClass {
    match number {
        ROLLED_BACK_BY_DESIGN => ErrorClass::RolledBack,
        // deadlock, lock timeout, conflicts of snapshots and of memory-optimized tables
        1205 | 1222 | 3960 | 3961 | 41301 | 41302 | 41305 | 41325 => ErrorClass::Retry,
        BABELFISH if BABELFISH_RETRY.iter().any(|text| message.contains(text)) => ErrorClass::Retry,
        // memory, locks, space of a file, of the log and of tempdb's versions, connections, quotas
        701 | 802 | 1101 | 1105 | 1204 | 3257 | 3967 | 8645 | 8651 | 9002 | 10928 | 10929
        | 17300 | 17803 | 17809 | 40501 | 40544 | 40549 | 40551 | 40552 | 40553 => ErrorClass::Full,
        // permissions
        229 | 230 | 262 | 297 | 300 | 371 | 916 => ErrorClass::Refused,
        // databases that do not exist, are not open, are read-only, or of one user
        911 | 921 | 922 | 924 | 927 | 942 | 945 | 976 | 978 | 3906 | 4060 | 4064 | 40613 => {
            ErrorClass::Refused
        }
        // logins, and servers that are starting, paused or shutting down
        17142 | 17187 | 17188 | 17892 | 18401 | 18450..=18489 => ErrorClass::Refused,
        _ => ErrorClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_the_class_that_a_load_generator_acts_on() {
        let classes = [
            (50_404, ErrorClass::RolledBack),
            (1205, ErrorClass::Retry),
            (3960, ErrorClass::Retry),
            (1222, ErrorClass::Retry),
            (1105, ErrorClass::Full),
            (9002, ErrorClass::Full),
            (17809, ErrorClass::Full),
            (18456, ErrorClass::Refused),
            (4060, ErrorClass::Refused),
            (911, ErrorClass::Refused),
            (8134, ErrorClass::Other),
            (BABELFISH, ErrorClass::Other),
        ];
        for (number, expected) in classes {
            assert_eq!(class(number, ""), expected, "{number}");
        }
    }

    #[test]
    fn a_conflict_that_babelfish_does_not_translate_is_known_by_its_words() {
        let words = "could not serialize access due to concurrent update";
        assert_eq!(class(BABELFISH, words), ErrorClass::Retry);
        assert_eq!(class(50_001, words), ErrorClass::Other);
    }

    #[test]
    fn a_fatal_error_leaves_the_transaction_unknown() {
        let error = ServerError { number: 1205, severity: 20, ..ServerError::default() };
        assert_eq!(error.outcome_error().class, ErrorClass::Lost);
        assert_eq!(ServerError { severity: 13, ..error }.outcome_error().class, ErrorClass::Retry);
    }
}
