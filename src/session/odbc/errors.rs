//! Errors of a driver, by class: as the dialect says, else by their SQLSTATE (ODBC, appendix A).

use kneebench::session::{Error, ErrorClass};

/// SQLSTATEs that say nothing more than that it failed: the driver's own number does.
const GENERAL: [&str; 3] = ["HY000", "S1000", "IM001"];
/// Characters of an SQLSTATE.
const STATE: usize = 5;

/// What a dialect says of errors: an SQLSTATE, a number of the database, or words of its message,
/// each with a class. The first that fits counts.
#[derive(Clone, Debug, Default)]
pub struct Classes(pub Vec<(String, ErrorClass)>);

/// What a driver says of an error.
struct Diagnosis<'a> {
    state: &'a str,
    number: i32,
    message: String,
}

impl Diagnosis<'_> {
    /// The SQLSTATE, or the database's number where that says more.
    fn code(&self) -> String {
        match self.number != 0 && GENERAL.contains(&self.state) {
            true => self.number.to_string(),
            false => self.state.into(),
        }
    }

    fn is(&self, known: &str) -> bool {
        let number = known.parse().is_ok_and(|number: i32| number == self.number);
        known == self.state || number || (known.len() > STATE && self.message.contains(known))
    }

    /// Where the dialect says nothing.
    fn standard_class(&self) -> ErrorClass {
        match self.state {
            "40001" => ErrorClass::Retry,
            "08004" | "28000" => ErrorClass::Refused,
            "HYT00" | "HYT01" => ErrorClass::Lost,
            state if state.starts_with("08") => ErrorClass::Lost,
            _ => ErrorClass::Other,
        }
    }
}

impl Classes {
    /// The error as the driver reports it.
    pub fn error(&self, failed: &odbc_api::Error) -> Error {
        let odbc_api::Error::Diagnostics { record, .. } = failed else {
            return Error::other(failed.to_string());
        };
        let message = String::from_utf8_lossy(&record.message);
        self.classified(&Diagnosis {
            state: record.state.as_str(),
            number: record.native_error,
            message: message.split_whitespace().collect::<Vec<_>>().join(" "),
        })
    }

    fn classified(&self, seen: &Diagnosis) -> Error {
        let known = self.0.iter().find(|(known, _)| seen.is(known));
        Error {
            class: known.map_or_else(|| seen.standard_class(), |&(_, class)| class),
            code: seen.code(),
            message: format!("{} (SQLSTATE {}, {})", seen.message, seen.state, seen.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(state: &str, number: i32, message: &str) -> (ErrorClass, String) {
        let classes = Classes(vec![
            ("KB001".into(), ErrorClass::RolledBack),
            ("1205".into(), ErrorClass::Retry),
            ("too many clients".into(), ErrorClass::Full),
        ]);
        let error = classes.classified(&Diagnosis { state, number, message: message.into() });
        (error.class, error.code)
    }

    #[test]
    fn a_dialect_knows_errors_by_state_number_or_words() {
        assert_eq!(class("KB001", 1, ""), (ErrorClass::RolledBack, "KB001".into()));
        assert_eq!(class("HY000", 1205, ""), (ErrorClass::Retry, "1205".into()));
        let full = class("08001", 101, "FATAL: sorry, too many clients already");
        assert_eq!(full, (ErrorClass::Full, "08001".into()));
    }

    #[test]
    fn other_errors_have_the_class_of_their_state() {
        assert_eq!(class("40001", 0, "").0, ErrorClass::Retry);
        assert_eq!(class("08S01", 26, "").0, ErrorClass::Lost);
        assert_eq!(class("28000", 0, "").0, ErrorClass::Refused);
        assert_eq!(class("22012", 7, ""), (ErrorClass::Other, "22012".into()));
    }
}
