//! Errors of a database, by class: what they mean to a load generator, whatever the protocol.

use std::str::FromStr;

use crate::inputs::named;

/// An error with the database's own code and message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub class: ErrorClass,
    /// The code of the protocol (an SQLSTATE, an error number); empty if there is none.
    pub code: String,
    pub message: String,
}

/// The meaning of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// Rolled back in favour of another transaction (serialization failure, deadlock): worth a
    /// retry.
    Retry,
    /// Rolled back by design: an order for an item that does not exist (TPC-C 2.4.1.4).
    RolledBack,
    /// The server lacks a resource: connections, memory, disk space.
    Full,
    /// The server does not admit the user, or does not admit connections now.
    Refused,
    /// No connection, or the connection was lost: it is unknown whether a running transaction
    /// committed.
    Lost,
    Other,
}

impl ErrorClass {
    pub fn name(self) -> &'static str {
        ["retry", "rolled_back", "full", "refused", "lost", "other"][self as usize]
    }

    const ALL: [Self; 6] =
        [Self::Retry, Self::RolledBack, Self::Full, Self::Refused, Self::Lost, Self::Other];
}

impl FromStr for ErrorClass {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        named(name, "error class", &Self::ALL, Self::name)
    }
}

impl Error {
    /// An error without a code of the database.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, code: String::new(), message: message.into() }
    }

    pub fn lost(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Lost, message)
    }

    pub fn other(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Other, message)
    }

    /// The same error, its message preceded by what failed.
    pub fn during(mut self, action: impl std::fmt::Display) -> Self {
        self.message = format!("{action}: {}", self.message);
        self
    }
}
