//! What the workers and their crew tell each other while they work: the phase, who is alive, the seconds that ended.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::histogram::Latencies;
use crate::inputs::Kind;
use crate::session::Outcome;
use crate::tally::{Call, Counts};

pub const SECOND_NS: u64 = 1_000_000_000;
/// Seconds kept for a crew that does not ask; older ones are dropped (the tally has them all).
const MOST_SECONDS: u64 = 120;

/// One per crew, shared by its workers.
#[derive(Debug)]
pub struct Board {
    window_start_ns: AtomicU64,
    window_end_ns: AtomicU64,
    pub alive: AtomicUsize,
    seconds: Mutex<Seconds>,
    ended: Condvar,
}

#[derive(Debug)]
struct Seconds {
    kept: Vec<SecondTally>,
    /// For each worker the second before which it has handed in all.
    until_s: Vec<u64>,
}

/// What one worker counted in one second: completions in it, and their latency.
#[derive(Clone, Debug, Default)]
pub struct SecondTally {
    pub at_s: u64,
    lines: [(Counts, Option<Box<Latencies>>); 5],
}

impl SecondTally {
    pub fn at(at_s: u64) -> Self {
        Self { at_s, ..Self::default() }
    }

    pub fn ended(&mut self, call: &Call, outcome: &Outcome) {
        let (counts, latencies) = &mut self.lines[call.kind as usize];
        if counts.ended(outcome) {
            latencies.get_or_insert_default().record(call.ended_ns.saturating_sub(call.intended_ns));
        }
    }

    fn merge(&mut self, other: &SecondTally) {
        for ((counts, mine), (more, its)) in self.lines.iter_mut().zip(&other.lines) {
            counts.merge(more);
            if let Some(its) = its {
                mine.get_or_insert_default().merge(its);
            }
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
#[derive(Debug, Serialize)]
pub struct Tick {
    pub now_s: f64,
    pub alive: usize,
    pub seconds: Vec<Second>,
}

/// The record `Second` of Python.
#[derive(Debug, Serialize)]
pub struct Second {
    at_s: u64,
    transaction: &'static str,
    committed: u64,
    rolled_back: u64,
    failed: u64,
    unknown: u64,
    mean_s: f64,
    p50_s: f64,
    p99_s: f64,
    p999_s: f64,
    max_s: f64,
    histogram: String,
}

impl Board {
    pub fn new(workers: usize) -> Self {
        Self {
            window_start_ns: AtomicU64::new(u64::MAX),
            window_end_ns: AtomicU64::new(u64::MAX),
            alive: AtomicUsize::new(0),
            seconds: Mutex::new(Seconds { kept: Vec::new(), until_s: vec![0; workers] }),
            ended: Condvar::new(),
        }
    }

    /// The window as far as it is known: before it opens it is empty, before it closes it has no end.
    pub fn window_ns(&self) -> Range<u64> {
        self.window_start_ns.load(Relaxed)..self.window_end_ns.load(Relaxed)
    }

    /// From "warm_up" to "window" to "cool_down", each once.
    pub fn mark(&self, phase: &str, now_ns: u64) -> Result<(), String> {
        let Range { start, end } = self.window_ns();
        match phase {
            "window" if start == u64::MAX => self.window_start_ns.store(now_ns, Relaxed),
            "cool_down" if start != u64::MAX && end == u64::MAX => self.window_end_ns.store(now_ns, Relaxed),
            _ => return Err(format!("the phase {phase:?} cannot be entered now: after warm_up come window and cool_down, each once")),
        }
        Ok(())
    }

    /// A worker hands in a second, and says that it has handed in all before `until_s`.
    pub fn hand_in(&self, worker: usize, second: Option<SecondTally>, until_s: u64) {
        let mut seconds = self.seconds();
        seconds.kept.extend(second);
        seconds.kept.retain(|kept| kept.at_s + MOST_SECONDS >= until_s);
        seconds.until_s[worker] = until_s;
        drop(seconds);
        self.ended.notify_all();
    }

    /// Wait until every worker has handed in all seconds before `until_s`; False when the time is up first.
    pub fn wait_for(&self, until_s: u64, deadline: Instant) -> bool {
        let mut seconds = self.seconds();
        while seconds.until_s.iter().any(|&worker| worker < until_s) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return false;
            }
            seconds = self.ended.wait_timeout(seconds, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The seconds in `which`, workers merged, all five transactions in each. What is handed out is dropped.
    pub fn take(&self, which: Range<u64>) -> Vec<Second> {
        let mut seconds = self.seconds();
        let (taken, kept) = std::mem::take(&mut seconds.kept).into_iter().partition(|second| second.at_s < which.end);
        seconds.kept = kept;
        drop(seconds);
        let mut merged = merged(taken);
        let first = which.start.max(which.end.saturating_sub(MOST_SECONDS));
        (first..which.end).flat_map(|at_s| merged.remove(&at_s).unwrap_or(SecondTally::at(at_s)).report().collect::<Vec<_>>()).collect()
    }

    fn seconds(&self) -> MutexGuard<'_, Seconds> {
        self.seconds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// By their second. One worker's is handed on as it is: a histogram is 200 kB, and to add one up touches all of it.
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
