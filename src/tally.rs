//! What terminals count: outcomes, latencies, retries and errors by class. Merging is one method.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::histogram::{Latencies, Latency};
use crate::inputs::Kind;
use crate::session::Outcome;

/// Classes of errors kept apart, each with its first message; what comes after them is counted as "other".
const MOST_CLASSES: usize = 32;
const LONGEST_MESSAGE: usize = 500;

/// Idle to idle: started = committed + rolled_back + failed + unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub started: u64,
    pub committed: u64,
    /// By design: an order for an item that does not exist.
    pub rolled_back: u64,
    pub failed: u64,
    /// The connection was lost before the answer.
    pub unknown: u64,
}

impl Counts {
    /// Count one that has ended (not its start). True where it was completed as the workload means it.
    pub fn ended(&mut self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Committed => self.committed += 1,
            Outcome::RolledBack => self.rolled_back += 1,
            Outcome::Retry { .. } | Outcome::Failed { .. } => self.failed += 1,
            Outcome::Lost { .. } => self.unknown += 1,
        }
        matches!(outcome, Outcome::Committed | Outcome::RolledBack)
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

/// One transaction from its intended start to its end.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub kind: Kind,
    /// When it should have started: in an open loop as scheduled, in a closed one when it did.
    pub intended_ns: u64,
    pub started_ns: u64,
    pub ended_ns: u64,
}

/// One transaction type.
#[derive(Clone, Debug, Default, PartialEq)]
struct Line {
    whole: Counts,
    window: Counts,
    latency: Latencies,
    wait: Latencies,
    retried: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SeenError {
    code: String,
    count: u64,
    first: String,
}

/// What one worker counted, or many merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    lines: [Line; 5],
    errors: BTreeMap<String, SeenError>,
    /// Starts scheduled within the window that never took place.
    pub unstarted: u64,
    pub lost_users: u64,
}

impl Tally {
    pub fn started(&mut self, kind: Kind) {
        self.lines[kind as usize].whole.started += 1;
    }

    pub fn retried(&mut self, kind: Kind, code: &str) {
        let classes = &mut self.lines[kind as usize].retried;
        match classes.get_mut(code) {
            Some(count) => *count += 1,
            None => drop(classes.insert(code.to_owned(), 1)),
        }
    }

    /// Count one that has ended. Throughput belongs to the window that it ended in, latency to the one that it began in:
    /// leaving out those that end after the window would leave out the stalls.
    pub fn ended(&mut self, call: &Call, outcome: &Outcome, window_ns: &std::ops::Range<u64>) {
        let line = &mut self.lines[call.kind as usize];
        let completed = line.whole.ended(outcome);
        if window_ns.contains(&call.ended_ns) {
            line.window.started += 1;
            line.window.ended(outcome);
        }
        if completed && window_ns.contains(&call.intended_ns) {
            line.latency.record(call.ended_ns.saturating_sub(call.intended_ns));
            line.wait.record(call.started_ns.saturating_sub(call.intended_ns));
        }
        match outcome {
            Outcome::Committed | Outcome::RolledBack => {}
            Outcome::Retry { code } => self.error(code, "still so after every retry that the plan allows", 1),
            Outcome::Failed { code, message } => self.error(code, message, 1),
            Outcome::Lost { message } => self.error("connection", message, 1),
        }
    }

    /// Count what never got an answer as unknown, so that the identity holds; how many those were.
    pub fn abandon(&mut self, message: &str) -> u64 {
        let mut abandoned = 0;
        for line in &mut self.lines {
            let open = line.whole.started.saturating_sub(line.whole.answered());
            line.whole.unknown += open;
            abandoned += open;
        }
        self.error("connection", message, abandoned);
        abandoned
    }

    fn error(&mut self, code: &str, message: &str, times: u64) {
        if times == 0 {
            return;
        }
        let code = if self.errors.contains_key(code) || self.errors.len() < MOST_CLASSES { code } else { "other" };
        if let Some(seen) = self.errors.get_mut(code) {
            seen.count += times;
            return;
        }
        let first = message.chars().take(LONGEST_MESSAGE).collect();
        self.errors.insert(code.to_owned(), SeenError { code: code.to_owned(), count: times, first });
    }

    pub fn merge(&mut self, other: &Tally) {
        for (mine, its) in self.lines.iter_mut().zip(&other.lines) {
            mine.whole.merge(&its.whole);
            mine.window.merge(&its.window);
            mine.latency.merge(&its.latency);
            mine.wait.merge(&its.wait);
            for (code, count) in &its.retried {
                *mine.retried.entry(code.clone()).or_default() += count;
            }
        }
        for seen in other.errors.values() {
            self.error(&seen.code, &seen.first, seen.count);
        }
        self.unstarted += other.unstarted;
        self.lost_users += other.lost_users;
    }

    /// Counters that do not add up are a fault of the load generator: nothing it says may be used.
    pub fn identity(&self) -> Result<(), String> {
        let broken = Kind::ALL.into_iter().zip(&self.lines).find(|(_, line)| line.whole.started != line.whole.answered());
        broken.map_or(Ok(()), |(kind, line)| Err(format!("{}: started is not the sum of the ends: {:?}", kind.name(), line.whole)))
    }

    /// The record `Tally` of Python.
    pub fn report(&self, rung: Rung) -> Report<'_> {
        let mut all = Line::default();
        self.lines.iter().for_each(|line| {
            all.latency.merge(&line.latency);
            all.wait.merge(&line.wait);
        });
        let wait = |line: &Line| if rung.queued { line.wait.latency() } else { None };
        let report = |line: &Line| LineReport {
            whole: line.whole,
            window: line.window,
            latency: line.latency.latency(),
            wait: wait(line),
            retried: line.retried.clone(),
        };
        Report {
            transactions: Kind::ALL.into_iter().zip(&self.lines).map(|(kind, line)| (kind.name(), report(line))).collect(),
            latency: all.latency.latency(),
            wait: wait(&all),
            errors: self.errors.values().collect(),
            unstarted: self.unstarted,
            lost_users: self.lost_users,
            rung,
        }
    }
}

/// What the tally itself does not know of its rung.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rung {
    pub users: u32,
    pub window_s: f64,
    pub whole_s: f64,
    pub client_cpu_s: f64,
    pub client_workers: usize,
    /// That the workers share; None where their time is a model's.
    pub client_cores: Option<usize>,
    /// Starts may have to wait: for a user (open loop) or for a connection.
    #[serde(skip)]
    pub queued: bool,
}

/// The record `Tally` of Python.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    #[serde(flatten)]
    rung: Rung,
    transactions: BTreeMap<&'static str, LineReport>,
    latency: Option<Latency>,
    wait: Option<Latency>,
    errors: Vec<&'a SeenError>,
    unstarted: u64,
    lost_users: u64,
}

#[derive(Debug, Serialize)]
struct LineReport {
    whole: Counts,
    window: Counts,
    latency: Option<Latency>,
    wait: Option<Latency>,
    retried: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests;
