//! Arrival time of a response that the kernel does not timestamp (Unix sockets, TLS), estimated
//! from the scheduler for this thread.
//!
//! A sleeping worker becomes runnable when a response arrives, and /proc/thread-self/schedstat
//! counts how long it then waits for a core. So the response that wakes it arrived when that wait
//! began. Others that are ready by then arrived between that moment and the end of the wait: the
//! middle is taken. One reading costs 0.8 us, once per wake-up.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

thread_local! {
    static WAKE: RefCell<Option<Wake>> = const { RefCell::new(None) };
}

/// The last wake-up of a worker.
struct Wake {
    schedstat: File,
    last: SchedStat,
    at: Instant,
    /// Arrival of the response that woke it; taken by the first one that is read.
    first: Option<Instant>,
    /// Arrival of any other response.
    others: Instant,
}

/// A thread's scheduler statistics (Linux, Documentation/scheduler/sched-stats.rst).
#[derive(Clone, Copy, Debug, PartialEq)]
struct SchedStat {
    /// Time runnable without a core.
    waited_ns: u64,
    /// Number of times it was given a core.
    timeslices: u64,
}

impl SchedStat {
    /// None if the kernel keeps no statistics: it then prints zeros.
    fn read(schedstat: &File) -> Option<Self> {
        let mut buffer = [0; 64];
        let read = schedstat.read_at(&mut buffer, 0).ok()?;
        let mut numbers = std::str::from_utf8(&buffer[..read])
            .ok()?
            .split_ascii_whitespace()
            .skip(1)
            .map_while(|text| text.parse().ok());
        let read = Self { waited_ns: numbers.next()?, timeslices: numbers.next()? };
        (read.timeslices > 0).then_some(read)
    }
}

impl Wake {
    fn new() -> Option<Self> {
        let schedstat = File::open("/proc/thread-self/schedstat").ok()?;
        let (last, at) = (SchedStat::read(&schedstat)?, Instant::now());
        Some(Self { schedstat, last, at, first: None, others: at })
    }

    fn woke(&mut self) {
        let Some(stat) = SchedStat::read(&self.schedstat) else { return };
        let at = Instant::now();
        let waited = Duration::from_nanos(stat.waited_ns.saturating_sub(self.last.waited_ns));
        // not before the last reading: part of the wait may belong to the time while it was busy
        let runnable = at.checked_sub(waited).unwrap_or(self.at).max(self.at);
        self.first = (stat.timeslices > self.last.timeslices).then_some(runnable);
        let earliest = self.first.unwrap_or(self.at);
        self.others = earliest + (at - earliest) / 2;
        (self.last, self.at) = (stat, at);
    }
}

/// Start estimating on this thread; no effect if the kernel keeps no such statistics.
pub fn watch() {
    WAKE.with_borrow_mut(|wake| {
        if wake.is_none() {
            *wake = Wake::new();
        }
    });
}

/// The worker has polled for events; it slept before if there were none.
pub fn woke() {
    WAKE.with_borrow_mut(|wake| wake.iter_mut().for_each(Wake::woke));
}

/// A timer woke the worker, not a response.
pub fn by_timer() {
    WAKE.with_borrow_mut(|wake| wake.iter_mut().for_each(|wake| wake.first = None));
}

/// Time since the arrival of the response that was just read; None if unknown.
pub fn delay_ns() -> Option<u64> {
    WAKE.with_borrow_mut(|wake| {
        let wake = wake.as_mut()?;
        Some(wake.first.take().unwrap_or(wake.others).elapsed().as_nanos() as u64)
    })
}

#[cfg(test)]
mod tests;
