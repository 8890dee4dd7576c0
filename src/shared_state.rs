//! State that the workers share with their load generator: the phase, the number of live terminals,
//! the seconds that ended.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::histogram::Latencies;
use crate::inputs::Kind;
use crate::session::Outcome;
use crate::tally::{Call, Counts};

pub const SECOND_NS: u64 = 1_000_000_000;
/// Interval of a worker's heartbeats while its thread runs.
pub const HEARTBEAT_NS: u64 = SECOND_NS / 10;
/// Seconds kept for a caller that does not tick; older ones are dropped (the tally counts them).
const MAX_SECONDS_KEPT: u64 = 120;
/// A transaction without a response for so long is reported with its age.
pub const WAITING_NS: u64 = 4 * SECOND_NS;

/// One per load generator, shared by its workers.
#[derive(Debug)]
pub struct SharedState {
    window_start_ns: AtomicU64,
    window_end_ns: AtomicU64,
    pub alive: AtomicUsize,
    /// Delay of the latest heartbeat since it was last taken.
    late_ns: AtomicU64,
    seconds: Mutex<Seconds>,
    ended: Condvar,
}

#[derive(Debug)]
struct Seconds {
    kept: Vec<SecondTally>,
    /// Per worker: all seconds before this one are submitted.
    until_s: Vec<u64>,
}

/// Counts of one worker in one second: completions and their latency.
#[derive(Clone, Debug, Default)]
pub struct SecondTally {
    pub at_s: u64,
    /// Ages of the transactions that were old at its end (`WAITING_NS`).
    pub waiting_s: Vec<f64>,
    lines: [(Counts, Option<Box<Latencies>>); 5],
}

impl SecondTally {
    pub fn at(at_s: u64) -> Self {
        Self { at_s, ..Self::default() }
    }

    pub fn ended(&mut self, call: &Call, outcome: &Outcome) {
        let (counts, latencies) = &mut self.lines[call.kind as usize];
        if counts.ended(outcome) {
            latencies.get_or_insert_default().record(call.latency_ns());
        }
    }

    fn merge(&mut self, other: &SecondTally) {
        self.waiting_s.extend(&other.waiting_s);
        for ((counts, mine), (more, its)) in self.lines.iter_mut().zip(&other.lines) {
            counts.merge(more);
            if let Some(its) = its {
                mine.get_or_insert_default().merge(its);
            }
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            at_s: self.at_s,
            answered: self.lines.iter().map(|(counts, _)| counts.answered()).sum(),
            waiting_s: self.waiting_s.clone(),
        }
    }

    fn report(&self) -> impl Iterator<Item = Second> + '_ {
        Kind::ALL.into_iter().zip(&self.lines).map(|(kind, (counts, latencies))| {
            let quantile = |share| latencies.as_ref().map_or(0.0, |l| l.quantile_s(share));
            Second {
                at_s: self.at_s,
                transaction: kind.name(),
                committed: counts.committed,
                rolled_back: counts.rolled_back,
                failed: counts.failed,
                unknown: counts.unknown,
                mean_s: latencies.as_ref().map_or(0.0, |l| l.mean_s()),
                p50_s: quantile(0.5),
                p99_s: quantile(0.99),
                p999_s: quantile(0.999),
                max_s: latencies.as_ref().map_or(0.0, |l| l.max_s()),
                histogram: latencies.as_ref().map_or_else(String::new, |l| l.encoded()),
            }
        })
    }
}

/// The record `Tick` of Python.
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
#[derive(Debug)]
pub struct Tick {
    pub now_s: f64,
    pub alive: usize,
    /// Largest delay of a heartbeat: for so long a thread of the load generator did not run.
    pub late_s: f64,
    pub seconds: Vec<Second>,
    pub progress: Vec<Progress>,
}

impl Tick {
    pub fn new(now_s: f64, alive: usize, late_s: f64, ended: &[SecondTally]) -> Self {
        let seconds = ended.iter().flat_map(SecondTally::report).collect();
        let progress = ended.iter().map(SecondTally::progress).collect();
        Self { now_s, alive, late_s, seconds, progress }
    }
}

/// The record `AnsweredSecond` of Python.
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
#[derive(Debug)]
pub struct Progress {
    pub at_s: u64,
    /// Transactions that the database answered, with an error or without.
    pub answered: u64,
    pub waiting_s: Vec<f64>,
}

/// The record `Second` of Python.
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
#[derive(Debug)]
pub struct Second {
    pub at_s: u64,
    pub transaction: &'static str,
    pub committed: u64,
    pub rolled_back: u64,
    pub failed: u64,
    pub unknown: u64,
    pub mean_s: f64,
    pub p50_s: f64,
    pub p99_s: f64,
    pub p999_s: f64,
    pub max_s: f64,
    pub histogram: String,
}

impl SharedState {
    pub fn new(workers: usize) -> Self {
        Self {
            window_start_ns: AtomicU64::new(u64::MAX),
            window_end_ns: AtomicU64::new(u64::MAX),
            alive: AtomicUsize::new(0),
            late_ns: AtomicU64::new(0),
            seconds: Mutex::new(Seconds { kept: Vec::new(), until_s: vec![0; workers] }),
            ended: Condvar::new(),
        }
    }

    /// The window as far as it is known: empty before it opens, without an end before it closes.
    pub fn window_ns(&self) -> Range<u64> {
        self.window_start_ns.load(Relaxed)..self.window_end_ns.load(Relaxed)
    }

    /// Enter the next phase: "warm_up", then "window", then "cool_down", each once.
    pub fn mark(&self, phase: &str, now_ns: u64) -> Result<(), String> {
        let Range { start, end } = self.window_ns();
        match phase {
            "window" if start == u64::MAX => self.window_start_ns.store(now_ns, Relaxed),
            "cool_down" if start != u64::MAX && end == u64::MAX => {
                self.window_end_ns.store(now_ns, Relaxed)
            }
            _ => {
                return Err(format!(
                    "cannot enter the phase {phase:?} now: \
                     the order is warm_up, window, cool_down, each once"
                ));
            }
        }
        Ok(())
    }

    /// Record the time between two heartbeats of a worker.
    pub fn record_heartbeat(&self, gap_ns: u64) {
        if gap_ns > HEARTBEAT_NS {
            self.late_ns.fetch_max(gap_ns - HEARTBEAT_NS, Relaxed);
        }
    }

    /// Largest heartbeat delay since the last call.
    pub fn take_late_s(&self) -> f64 {
        self.late_ns.swap(0, Relaxed) as f64 / SECOND_NS as f64
    }

    /// Submit a second of a worker; all its seconds before `until_s` are then submitted.
    pub fn submit(&self, worker: usize, second: Option<SecondTally>, until_s: u64) {
        let mut seconds = self.seconds();
        seconds.kept.extend(second);
        seconds.kept.retain(|kept| kept.at_s + MAX_SECONDS_KEPT >= until_s);
        seconds.until_s[worker] = until_s;
        drop(seconds);
        self.ended.notify_all();
    }

    /// Wait until every worker has submitted all seconds before `until_s`; false on timeout.
    pub fn wait_for(&self, until_s: u64, deadline: Instant) -> bool {
        let mut seconds = self.seconds();
        while seconds.until_s.iter().any(|&worker| worker < until_s) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return false;
            }
            seconds =
                self.ended.wait_timeout(seconds, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Take the seconds in `range`, merged over the workers.
    pub fn take(&self, range: Range<u64>) -> Vec<SecondTally> {
        let mut seconds = self.seconds();
        let (taken, kept) = std::mem::take(&mut seconds.kept)
            .into_iter()
            .partition(|second| second.at_s < range.end);
        seconds.kept = kept;
        drop(seconds);
        let mut merged = merged(taken);
        let first = range.start.max(range.end.saturating_sub(MAX_SECONDS_KEPT));
        (first..range.end)
            .map(|at_s| merged.remove(&at_s).unwrap_or(SecondTally::at(at_s)))
            .collect()
    }

    fn seconds(&self) -> MutexGuard<'_, Seconds> {
        self.seconds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Merge by second. The tally of a single worker is moved: a histogram is 200 kB, and adding one
/// touches all of it.
fn merged(seconds: Vec<SecondTally>) -> BTreeMap<u64, SecondTally> {
    let mut merged: BTreeMap<u64, SecondTally> = BTreeMap::new();
    for second in seconds {
        match merged.entry(second.at_s) {
            Entry::Vacant(first) => {
                first.insert(second);
            }
            Entry::Occupied(mut others) => others.get_mut().merge(&second),
        }
    }
    merged
}
