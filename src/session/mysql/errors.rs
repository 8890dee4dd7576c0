//! Errors of MariaDB and MySQL, by their numbers (their reference manuals: MariaDB, "Error Codes";
//! MySQL, "Server Error Message Reference").

use crate::session::{Error, ErrorClass};

/// SQLSTATE that the procedure `kneebench_new_order` signals for an item that does not exist.
const ROLLED_BACK_BY_DESIGN: &str = "KB001";
/// The first byte of an ERR packet.
pub const ERR: u8 = 0xff;

/// An ERR packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    number: u16,
    /// The SQLSTATE; empty before the server knows the client's capabilities.
    state: String,
    message: String,
}

impl ServerError {
    /// Read the packet's payload, from its first byte.
    pub fn read(payload: &[u8]) -> Self {
        let Some((&[_, low, high], rest)) = payload.split_first_chunk() else {
            return Self::default();
        };
        let (state, message) = match rest.split_at_checked(6) {
            Some((state, message)) if state[0] == b'#' => (&state[1..], message),
            _ => (&[][..], rest),
        };
        Self {
            number: u16::from_le_bytes([low, high]),
            state: String::from_utf8_lossy(state).into(),
            message: String::from_utf8_lossy(message).into(),
        }
    }

    /// The error as the server reports it.
    pub fn error(self) -> Error {
        let Self { number, state, message } = self;
        let state = if state.is_empty() { state } else { format!(", SQLSTATE {state}") };
        Error {
            class: class(number, &state),
            code: number.to_string(),
            message: format!("{message} (error {number}{state})"),
        }
    }

    /// The error of a transaction. If it ends the connection, the transaction may have committed.
    pub fn outcome_error(self) -> Error {
        let ends = ends_connection(self.number);
        let error = self.error();
        if ends { Error { class: ErrorClass::Lost, ..error } } else { error }
    }
}

/// The class of an error.
fn class(number: u16, state: &str) -> ErrorClass {
    match number {
        _ if state.ends_with(ROLLED_BACK_BY_DESIGN) => ErrorClass::RolledBack,
        // a deadlock, a lock wait that took too long, a row changed since the snapshot (MariaDB)
        1213 | 1205 | 1020 => ErrorClass::Retry,
        // connections (of the server, of the user), memory, threads, a full table or disk
        1040 | 1203 | 1226 | 1037 | 1038 | 1041 | 1135 | 1021 | 1114 => ErrorClass::Full,
        // account, database, host, privileges
        1044 | 1045 | 1049 | 1129 | 1130 | 1142 | 1143 | 1227 | 1370 | 1698 => ErrorClass::Refused,
        // password expired, account locked, encryption required
        1820 | 1862 | 3118 | 3159 | 4151 => ErrorClass::Refused,
        // shutdown
        1053 => ErrorClass::Refused,
        _ => ErrorClass::Other,
    }
}

/// Shutdown; a connection that was aborted (1152), had a network error (1158 to 1161), was killed
/// (1927 and 3169), or was idle for too long (4031).
fn ends_connection(number: u16) -> bool {
    matches!(number, 1053 | 1152 | 1158..=1161 | 1927 | 3169 | 4031)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_the_class_that_a_load_generator_acts_on() {
        let classes = [
            (1213, ErrorClass::Retry),
            (1205, ErrorClass::Retry),
            (1040, ErrorClass::Full),
            (1114, ErrorClass::Full),
            (1045, ErrorClass::Refused),
            (1049, ErrorClass::Refused),
            (1365, ErrorClass::Other),
        ];
        assert!(classes.iter().all(|&(number, expected)| class(number, "HY000") == expected));
    }

    #[test]
    fn an_error_is_read_with_and_without_its_sqlstate() {
        let designed = ServerError::read(b"\xff\xc9\xaf#KB001item number is not valid").error();
        assert_eq!((designed.class, designed.code.as_str()), (ErrorClass::RolledBack, "45001"));
        assert_eq!(designed.message, "item number is not valid (error 45001, SQLSTATE KB001)");
        let early = ServerError::read(b"\xff\x10\x04Too many connections").error();
        assert_eq!((early.class, early.code.as_str()), (ErrorClass::Full, "1040"));
        assert_eq!(early.message, "Too many connections (error 1040)");
    }

    #[test]
    fn an_error_that_ends_the_connection_leaves_the_transaction_unknown() {
        let killed = ServerError::read(b"\xff\x87\x07#70100Connection was killed");
        assert_eq!(killed.outcome_error().class, ErrorClass::Lost);
        let shutdown = ServerError::read(b"\xff\x1d\x04#08S01Server shutdown in progress");
        assert_eq!(shutdown.clone().error().class, ErrorClass::Refused);
        assert_eq!(shutdown.outcome_error().class, ErrorClass::Lost);
    }
}
