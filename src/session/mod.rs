//! The seam between the load generator and a database: connector, session, outcome. One folder per
//! wire protocol implements it.

pub mod error;
mod exchange;
pub mod mysql;
pub mod opening;
pub mod postgres;
mod receive_timestamp;
pub mod simulated;
pub mod socket;
pub mod spread;
mod stream;
pub mod tds;
pub mod tls;
mod transport;

use std::future::Future;

pub use self::error::{Error, ErrorClass};
use crate::cpu::Cpu;
use crate::inputs::Transaction;

/// Opens sessions of one database.
pub trait Connector {
    type Session: Session + 'static;

    /// Open a session that is ready for the five transactions.
    fn open(&self) -> impl Future<Output = Result<Self::Session, Error>>;

    /// Open the session of this number, by which a connector of several databases chooses one.
    fn open_nth(&self, _number: u32) -> impl Future<Output = Result<Self::Session, Error>> {
        self.open()
    }
}

/// One user's connection to a database that has the five transactions installed.
pub trait Session {
    /// Run the transaction to its end: one try, committed or rolled back by the database.
    fn execute(&mut self, transaction: &Transaction) -> impl Future<Output = Outcome>;

    /// Delay of the last response between its arrival and its reading; None if unknown.
    fn delay(&self) -> Option<Delay> {
        None
    }

    /// The session's own thread, where it has one: its driver waits for responses.
    fn thread(&self) -> Option<Cpu> {
        None
    }
}

/// Delay between the arrival of a response and its reading by the load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    pub ns: u64,
    /// Measured: by the kernel's receive timestamp, or by the session's own thread; else estimated
    /// from the scheduler (response_arrival.rs).
    pub stamped: bool,
}

impl Delay {
    /// No delay exceeds its call. A timestamp that does is of a clock that was set meanwhile; an
    /// estimate is replaced by half the call.
    pub fn within(self, call_ns: u64) -> Option<Self> {
        match self.ns <= call_ns {
            true => Some(self),
            false => (!self.stamped).then_some(Self { ns: call_ns / 2, ..self }),
        }
    }
}

/// The outcome of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    Failed(Error),
}

impl Outcome {
    /// The class of the error, if any.
    pub fn class(&self) -> Option<ErrorClass> {
        match self {
            Outcome::Committed => None,
            Outcome::Failed(error) => Some(error.class),
        }
    }

    /// Completed as the workload intends: committed, or rolled back by design.
    pub fn completed(&self) -> bool {
        matches!(self.class(), None | Some(ErrorClass::RolledBack))
    }
}

#[cfg(test)]
mod certificate;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
