//! Sessions, one file per wire protocol: what a terminal asks of a database, and what it can answer.

pub mod postgres;
pub mod simulated;
mod tls;

use std::future::Future;

use crate::inputs::Transaction;

/// One user's connection to a database that has the five transactions installed.
pub trait Session {
    /// Run the transaction to its end: one try, committed or undone by the database.
    fn execute(&mut self, transaction: &Transaction) -> impl Future<Output = Outcome>;
}

/// How a transaction ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// Rolled back by design: an order for an item that does not exist (TPC-C 2.4.1.4).
    RolledBack,
    /// Undone by the database for another transaction's sake: a serialization failure or a deadlock. Worth another try.
    Retry {
        code: String,
    },
    /// Refused by the database. `code` is its class (SQLSTATE).
    Failed {
        code: String,
        message: String,
    },
    /// The connection went away before the answer: whether it committed is unknown.
    Lost {
        message: String,
    },
}
