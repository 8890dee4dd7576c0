//! The report of a tally: its counts and latencies as values for Python.

use std::collections::BTreeMap;

use super::{CountedError, Counts, Tally, TransactionTally};
use crate::histogram::{Latencies, Latency};
use crate::inputs::Kind;

/// Facts of the rung that the tally does not count itself.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    pub users: u32,
    pub window_s: f64,
    pub whole_s: f64,
    pub load_generator_cpu_s: f64,
    pub load_generator_threads: usize,
    /// Cores that the workers share; None in the simulation.
    pub load_generator_cores: Option<usize>,
    /// Starts may wait: for a user (open loop) or for a connection.
    pub queued: bool,
}

/// The record `Tally` of Python.
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
#[derive(Debug)]
pub struct Report {
    pub users: u32,
    pub window_s: f64,
    pub whole_s: f64,
    pub transactions: BTreeMap<&'static str, TransactionReport>,
    pub latency: Option<Latency>,
    /// None unless starts may wait.
    pub wait: Option<Latency>,
    pub delay: Option<Latency>,
    pub delay_stamped: u64,
    pub errors: Vec<CountedError>,
    pub unstarted: u64,
    pub lost_users: u64,
    pub edges_s: f64,
    pub load_generator_cpu_s: f64,
    pub load_generator_threads: usize,
    pub load_generator_cores: Option<usize>,
}

/// The record `TransactionTally` of Python.
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
#[derive(Debug)]
pub struct TransactionReport {
    pub whole: Counts,
    pub window: Counts,
    pub latency: Option<Latency>,
    pub wait: Option<Latency>,
    pub retried: BTreeMap<String, u64>,
}

impl Tally {
    /// The report of a rung with this tally.
    pub fn report(self, rung: Rung) -> Report {
        let (latency, wait) = self.over_all_types();
        let wait_latency = |wait: &Latencies| if rung.queued { wait.latency() } else { None };
        let report = |tally: TransactionTally| TransactionReport {
            whole: tally.whole,
            window: tally.window,
            latency: tally.latency.latency(),
            wait: wait_latency(&tally.wait),
            retried: tally.retried,
        };
        Report {
            users: rung.users,
            window_s: rung.window_s,
            whole_s: rung.whole_s,
            transactions: Kind::ALL
                .map(Kind::name)
                .into_iter()
                .zip(self.types.map(report))
                .collect(),
            latency: latency.latency(),
            wait: wait_latency(&wait),
            delay: self.delay.latency(),
            delay_stamped: self.stamped,
            errors: self.errors.into_values().collect(),
            unstarted: self.unstarted,
            lost_users: self.lost_users,
            edges_s: self.edges_ns as f64 / 1e9,
            load_generator_cpu_s: rung.load_generator_cpu_s,
            load_generator_threads: rung.load_generator_threads,
            load_generator_cores: rung.load_generator_cores,
        }
    }

    /// Latencies and waits of all transaction types together.
    fn over_all_types(&self) -> (Latencies, Latencies) {
        let mut sum = <(Latencies, Latencies)>::default();
        for tally in &self.types {
            sum.0.merge(&tally.latency);
            sum.1.merge(&tally.wait);
        }
        sum
    }
}
