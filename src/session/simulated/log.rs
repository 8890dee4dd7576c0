//! The log: one flush at a time; all commits that arrive during a flush share the next one (group
//! commit).
//!
//! A commit that finds the log idle flushes at once (as a server without a commit delay). The next
//! flush begins when the current one ends, and each commit that joins makes it a little longer, so
//! its end is final only once it has begun.

/// A flush; waiting commits refer to it by its number.
#[derive(Clone, Copy, Default)]
struct Flush {
    number: u64,
    begin_ns: u64,
    end_ns: u64,
}

/// The current and the next flush of the log, and the totals so far.
#[derive(Default)]
pub struct Log {
    current: Flush,
    next: Option<Flush>,
    flushes: u64,
    flush_time_ns: u64,
    waiting: u64,
}

/// A commit's flush. Check `end_ns` again: others may have joined since.
#[derive(Clone, Copy)]
pub struct FlushTicket {
    number: u64,
    pub end_ns: u64,
}

impl Log {
    /// A commit arrives. A flush that it begins takes `flush_ns()`; each commit adds `commit_ns`.
    pub fn join(
        &mut self,
        now_ns: u64,
        commit_ns: u64,
        flush_ns: impl FnOnce() -> u64,
    ) -> FlushTicket {
        self.roll(now_ns);
        self.waiting += 1;
        let number = self.current.number + 1;
        let flush = if now_ns >= self.current.end_ns {
            self.retire();
            self.current = Flush { number, begin_ns: now_ns, end_ns: now_ns + flush_ns() };
            &mut self.current
        } else {
            let begin_ns = self.current.end_ns;
            self.next.get_or_insert_with(|| Flush {
                number,
                begin_ns,
                end_ns: begin_ns + flush_ns(),
            })
        };
        flush.end_ns += commit_ns;
        FlushTicket { number: flush.number, end_ns: flush.end_ns }
    }

    /// The end of the ticket's flush, as far as is known; in the past once it is over.
    pub fn end_of(&self, ticket: FlushTicket) -> u64 {
        let upcoming =
            self.next.iter().chain([&self.current]).find(|flush| flush.number == ticket.number);
        upcoming.map_or(0, |flush| flush.end_ns)
    }

    /// A commit that joined is flushed.
    pub fn leave(&mut self) {
        self.waiting -= 1;
    }

    /// All waiting commits are aborted; their flushes still run.
    pub fn abandon(&mut self) {
        self.waiting = 0;
    }

    /// Flushes that have ended, and the time they took.
    pub fn flushed(&mut self, now_ns: u64) -> (u64, u64) {
        self.roll(now_ns);
        let Flush { number, begin_ns, end_ns } = self.current;
        let over = number > 0 && end_ns <= now_ns;
        (
            self.flushes + u64::from(over),
            self.flush_time_ns + if over { end_ns - begin_ns } else { 0 },
        )
    }

    /// Commits that wait for the log now.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// If the current flush has ended and another is due, that one becomes current. If none is due,
    /// the ended one stays current (and is counted once it is replaced).
    fn roll(&mut self, now_ns: u64) {
        while now_ns >= self.current.end_ns {
            let Some(next) = self.next.take() else { return };
            self.retire();
            self.current = next;
        }
    }

    /// Count the current flush, except the one before the first.
    fn retire(&mut self) {
        self.flushes += u64::from(self.current.number > 0);
        self.flush_time_ns += self.current.end_ns - self.current.begin_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_that_arrive_during_a_flush_share_the_next_one() {
        let mut log = Log::default();
        let flush = || 100;
        let [alone, early, late] = [0, 10, 99].map(|now_ns| log.join(now_ns, 0, flush));
        assert_eq!([alone.end_ns, early.end_ns, late.end_ns], [100, 200, 200]);
        let after = log.join(100, 0, flush);
        assert_eq!(after.end_ns, 300);
        assert_eq!(log.flushed(299), (2, 200));
        assert_eq!(log.flushed(300), (3, 300));
        assert_eq!(log.join(1_000, 0, flush).end_ns, 1_100);
        assert_eq!(log.flushed(5_000), (4, 400));
    }

    #[test]
    fn every_commit_that_joins_makes_the_flush_longer_for_all() {
        let mut log = Log::default();
        log.join(0, 5, || 100);
        let tickets = [1, 2, 3].map(|now_ns| log.join(now_ns, 5, || 100));
        assert_eq!(tickets.map(|ticket| ticket.end_ns), [210, 215, 220]);
        assert_eq!(tickets.map(|ticket| log.end_of(ticket)), [220; 3]);
        assert_eq!(log.waiting(), 4);
    }
}
