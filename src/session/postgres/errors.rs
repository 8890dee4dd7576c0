//! Errors of PostgreSQL, by the class of their SQLSTATE (appendix A of its manual).

use std::error::Error as _;

use crate::session::{Error, ErrorClass};

/// SQLSTATE that the function `kneebench.new_order` raises for an item that does not exist.
const ROLLED_BACK_BY_DESIGN: &str = "KB001";

/// The class of an SQLSTATE.
pub fn class(code: &str) -> ErrorClass {
    match code {
        ROLLED_BACK_BY_DESIGN => ErrorClass::RolledBack,
        "40001" | "40P01" => ErrorClass::Retry,
        // invalid_catalog_name, insufficient_privilege, cannot_connect_now
        "3D000" | "42501" | "57P03" => ErrorClass::Refused,
        _ if code.starts_with("28") => ErrorClass::Refused,
        _ if code.starts_with("53") => ErrorClass::Full,
        _ => ErrorClass::Other,
    }
}

/// An error that the server reports, in its words.
pub fn error(severity: &str, message: String, details: String, code: String) -> Error {
    Error {
        class: class(&code),
        message: format!("{severity}: {message}{details} (SQLSTATE {code})"),
        code,
    }
}

/// An error of tokio-postgres: the server's error, or a failure below it.
pub fn driver_error(error: &tokio_postgres::Error) -> Error {
    if let Some(db) = error.as_db_error() {
        let details = [db.detail(), db.hint()]
            .into_iter()
            .flatten()
            .map(|part| format!("; {part}"))
            .collect();
        return self::error(db.severity(), db.message().into(), details, db.code().code().into());
    }
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    Error::lost(causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_class_that_a_load_generator_acts_on() {
        let classes = [
            ("KB001", ErrorClass::RolledBack),
            ("40001", ErrorClass::Retry),
            ("40P01", ErrorClass::Retry),
            ("53300", ErrorClass::Full),
            ("53100", ErrorClass::Full),
            ("28P01", ErrorClass::Refused),
            ("3D000", ErrorClass::Refused),
            ("22012", ErrorClass::Other),
        ];
        assert!(classes.iter().all(|&(code, expected)| class(code) == expected));
    }
}
