//! The log: one flush at a time; all commits that arrive during a flush share the next one (group
//! commit).
//!
//! A commit that finds the log idle flushes at once (as a server without a commit delay). The
//! others wait for their turn; the first one whose turn comes flushes for all that wait by then.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Commits and flushes so far, and whose turn it is to flush.
pub struct Log {
    turn: Arc<Semaphore>,
    arrived: u64,
    flushed: u64,
    flushes: u64,
    flush_time_ns: u64,
    waiting: u64,
}

/// A flush that begins: of the commits up to this one, so many.
pub struct Flush {
    last: u64,
    pub commits: u64,
    began_ns: u64,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            turn: Arc::new(Semaphore::new(1)),
            arrived: 0,
            flushed: 0,
            flushes: 0,
            flush_time_ns: 0,
            waiting: 0,
        }
    }
}

impl Log {
    /// A commit arrives: its number, and what it waits for.
    pub fn arrive(&mut self) -> (u64, Arc<Semaphore>) {
        self.arrived += 1;
        self.waiting += 1;
        (self.arrived, self.turn.clone())
    }

    /// The turn of a commit has come: the flush that it begins, for all that have arrived; None if
    /// an earlier one contained it.
    pub fn begin(&self, commit: u64, now_ns: u64) -> Option<Flush> {
        let (last, commits) = (self.arrived, self.arrived - self.flushed);
        (commit > self.flushed).then_some(Flush { last, commits, began_ns: now_ns })
    }

    pub fn end(&mut self, flush: &Flush, now_ns: u64) {
        self.flushed = flush.last;
        self.flushes += 1;
        self.flush_time_ns += now_ns - flush.began_ns;
    }

    /// A commit that arrived is flushed.
    pub fn leave(&mut self) {
        self.waiting -= 1;
    }

    /// All waiting commits are aborted.
    pub fn abandon(&mut self) {
        self.waiting = 0;
    }

    /// Flushes that have ended, and the time they took.
    pub fn flushed(&self) -> (u64, u64) {
        (self.flushes, self.flush_time_ns)
    }

    /// Commits that wait for the log now.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_contains_all_commits_that_arrived_before_it_began() {
        let mut log = Log::default();
        let [alone, early, late] = [(); 3].map(|()| log.arrive().0);
        let first = Flush { last: alone, commits: 1, began_ns: 0 };
        log.end(&first, 100);
        let second = log.begin(early, 100).expect("not flushed yet");
        let next = log.arrive().0;
        assert_eq!(second.commits, 2);
        log.end(&second, 250);
        assert!(log.begin(late, 250).is_none());
        assert_eq!(log.begin(next, 250).map(|flush| flush.commits), Some(1));
        assert_eq!((log.flushed(), log.waiting()), ((2, 250), 4));
    }

    #[test]
    fn one_commit_flushes_at_a_time() {
        let mut log = Log::default();
        let turn = log.arrive().1;
        let _first = turn.clone().try_acquire_owned().expect("nobody flushes");
        assert!(turn.try_acquire_owned().is_err());
    }
}
