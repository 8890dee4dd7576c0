//! Counts of the terminals: outcomes, latencies, retries and errors by code. Merging is one method.

pub mod report;

use std::collections::BTreeMap;

use crate::histogram::Latencies;
use crate::inputs::Kind;
use crate::ledger::Ledger;
use crate::session::{Delay, ErrorClass, Outcome};

/// Error codes counted separately, each with its first message; further ones are counted as
/// "other".
const MAX_CODES: usize = 32;
const MAX_MESSAGE_CHARS: usize = 500;

/// Idle to idle: started = committed + rolled_back + failed + unknown.
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub started: u64,
    pub committed: u64,
    /// By design: an order for an item that does not exist.
    pub rolled_back: u64,
    pub failed: u64,
    /// The connection was lost before the response.
    pub unknown: u64,
}

impl Counts {
    /// Count the end of a transaction (not its start). True if it completed: committed, or rolled
    /// back by design.
    pub fn ended(&mut self, outcome: &Outcome) -> bool {
        match outcome.class() {
            None => self.committed += 1,
            Some(ErrorClass::RolledBack) => self.rolled_back += 1,
            Some(ErrorClass::Lost) => self.unknown += 1,
            Some(
                ErrorClass::Retry | ErrorClass::Full | ErrorClass::Refused | ErrorClass::Other,
            ) => self.failed += 1,
        }
        outcome.completed()
    }

    pub fn merge(&mut self, other: &Counts) {
        self.started += other.started;
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.failed += other.failed;
        self.unknown += other.unknown;
    }

    pub fn answered(&self) -> u64 {
        self.committed + self.rolled_back + self.failed + self.unknown
    }
}

/// The intended start of a transaction, and the delay that the load generator itself added.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The scheduled start in an open loop, the actual start in a closed one.
    pub intended_ns: u64,
    /// Delay until a free user ran.
    pub late_ns: u64,
}

/// One transaction from its intended start to its end.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub kind: Kind,
    pub start: Start,
    pub started_ns: u64,
    /// Arrival of the response if known; else the time when it was read.
    pub ended_ns: u64,
    pub delay: Option<Delay>,
}

impl Call {
    /// Time of the database and the wait for a user or a connection, without the load generator's
    /// own delay.
    pub fn latency_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.start.intended_ns + self.start.late_ns)
    }

    /// Time when the load generator read the response.
    pub fn read_ns(&self) -> u64 {
        self.ended_ns + self.delay.map_or(0, |delay| delay.ns)
    }

    /// The user's time in this transaction within the window, less all of it if it began there,
    /// when its latency counts. 0 for one that lies inside or outside.
    fn edges_ns(&self, window_ns: &std::ops::Range<u64>) -> i64 {
        let (began, ended) = (self.start.intended_ns, self.read_ns());
        let within = ended.min(window_ns.end).saturating_sub(began.max(window_ns.start));
        let counted = if window_ns.contains(&began) { ended.saturating_sub(began) } else { 0 };
        within as i64 - counted as i64
    }

    fn wait_ns(&self) -> u64 {
        self.started_ns.saturating_sub(self.start.intended_ns + self.start.late_ns)
    }
}

/// Counts of one transaction type.
#[derive(Clone, Debug, Default, PartialEq)]
struct TransactionTally {
    whole: Counts,
    window: Counts,
    latency: Latencies,
    wait: Latencies,
    retried: BTreeMap<String, u64>,
}

/// Errors of one code.
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedError {
    pub code: String,
    pub count: u64,
    /// The first message.
    pub first: String,
}

/// Counts of one worker, or merged of many.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    types: [TransactionTally; 5],
    errors: BTreeMap<String, CountedError>,
    /// Starts scheduled within the window that did not take place.
    pub unstarted: u64,
    pub lost_users: u64,
    /// The load generator's own delay, if known.
    delay: Latencies,
    /// Number of these delays that come from a receive timestamp.
    stamped: u64,
    /// Users' time in the window that no latency has, less that of latencies after its end.
    edges_ns: i64,
    /// Empty unless the load keeps one.
    pub ledger: Ledger,
}

impl Tally {
    pub fn started(&mut self, kind: Kind) {
        self.types[kind as usize].whole.started += 1;
    }

    pub fn retried(&mut self, kind: Kind, code: &str) {
        let codes = &mut self.types[kind as usize].retried;
        match codes.get_mut(code) {
            Some(count) => *count += 1,
            None => drop(codes.insert(code.to_owned(), 1)),
        }
    }

    /// Count the end of a transaction. Throughput counts if it ended in the window, latency if it
    /// began there: dropping transactions that end after the window would hide stalls.
    pub fn ended(&mut self, call: &Call, outcome: &Outcome, window_ns: &std::ops::Range<u64>) {
        let tally = &mut self.types[call.kind as usize];
        let completed = tally.whole.ended(outcome);
        if window_ns.contains(&call.ended_ns) {
            tally.window.started += 1;
            tally.window.ended(outcome);
        }
        if completed {
            self.edges_ns += call.edges_ns(window_ns);
        }
        if completed && window_ns.contains(&call.start.intended_ns) {
            tally.latency.record(call.latency_ns());
            tally.wait.record(call.wait_ns());
            if let Some(delay) = call.delay {
                self.delay.record(call.start.late_ns + delay.ns);
                self.stamped += u64::from(delay.stamped);
            }
        }
        if let Outcome::Failed(error) = outcome {
            match error.class {
                ErrorClass::RolledBack => {}
                ErrorClass::Retry => self.error(
                    &error.code,
                    "still failing after all retries that the plan allows",
                    1,
                ),
                ErrorClass::Lost => self.error("connection", &error.message, 1),
                ErrorClass::Full | ErrorClass::Refused | ErrorClass::Other => {
                    self.error(&error.code, &error.message, 1)
                }
            }
        }
    }

    /// Count transactions without a response as unknown, so that the identity holds; returns their
    /// number.
    pub fn abandon(&mut self, message: &str) -> u64 {
        let mut abandoned = 0;
        for tally in &mut self.types {
            let open = tally.whole.started.saturating_sub(tally.whole.answered());
            tally.whole.unknown += open;
            abandoned += open;
        }
        self.error("connection", message, abandoned);
        abandoned
    }

    fn error(&mut self, code: &str, message: &str, times: u64) {
        if times == 0 {
            return;
        }
        let code = if self.errors.contains_key(code) || self.errors.len() < MAX_CODES {
            code
        } else {
            "other"
        };
        if let Some(counted) = self.errors.get_mut(code) {
            counted.count += times;
            return;
        }
        let first = message.chars().take(MAX_MESSAGE_CHARS).collect();
        self.errors
            .insert(code.to_owned(), CountedError { code: code.to_owned(), count: times, first });
    }

    pub fn merge(&mut self, other: &Tally) {
        for (mine, its) in self.types.iter_mut().zip(&other.types) {
            mine.whole.merge(&its.whole);
            mine.window.merge(&its.window);
            mine.latency.merge(&its.latency);
            mine.wait.merge(&its.wait);
            for (code, count) in &its.retried {
                *mine.retried.entry(code.clone()).or_default() += count;
            }
        }
        for counted in other.errors.values() {
            self.error(&counted.code, &counted.first, counted.count);
        }
        self.unstarted += other.unstarted;
        self.lost_users += other.lost_users;
        self.delay.merge(&other.delay);
        self.stamped += other.stamped;
        self.edges_ns += other.edges_ns;
        self.ledger.merge(&other.ledger);
    }

    /// Check that the counters add up. If not, the load generator is faulty and its results must
    /// not be used.
    pub fn identity(&self) -> Result<(), String> {
        let broken = Kind::ALL
            .into_iter()
            .zip(&self.types)
            .find(|(_, tally)| tally.whole.started != tally.whole.answered());
        broken.map_or(Ok(()), |(kind, tally)| {
            Err(format!(
                "{}: started is not the sum of the outcomes: {:?}",
                kind.name(),
                tally.whole
            ))
        })
    }
}

#[cfg(test)]
mod tests;
