//! Connections that users share: a user waits for the next free one, first come, first served.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use tokio::sync::Semaphore;

/// Where a user gets its connection: its own, or the next free one of a pool.
pub enum ConnectionSource<S> {
    Own(S),
    Shared(Rc<Pool<S>>),
}

impl<S> ConnectionSource<S> {
    /// A source per user: own connections if there are enough, else a shared pool.
    pub fn for_users(users: usize, sessions: Vec<S>) -> Vec<Self> {
        if sessions.len() >= users {
            return sessions.into_iter().map(ConnectionSource::Own).collect();
        }
        let pool = Pool::new(sessions);
        (0..users).map(|_| ConnectionSource::Shared(Rc::clone(&pool))).collect()
    }
}

/// The connections of one worker's users; used on one thread only.
pub struct Pool<S> {
    free: RefCell<VecDeque<S>>,
    /// One permit per free connection, granted in order of arrival; closed when the last connection
    /// is lost.
    permits: Semaphore,
    alive: Cell<usize>,
}

impl<S> Pool<S> {
    pub fn new(sessions: Vec<S>) -> Rc<Self> {
        let (permits, alive) = (Semaphore::new(sessions.len()), Cell::new(sessions.len()));
        Rc::new(Self { free: RefCell::new(sessions.into()), permits, alive })
    }

    /// The next free connection, in turn; None if the last one is lost. The caller releases or
    /// discards it, and never just drops it.
    pub async fn acquire(&self) -> Option<S> {
        self.permits.acquire().await.ok()?.forget();
        self.free.borrow_mut().pop_front()
    }

    /// Return a connection to the pool.
    pub fn release(&self, session: S) {
        self.free.borrow_mut().push_back(session);
        self.permits.add_permits(1);
    }

    /// A connection is lost; true if it was the last.
    pub fn discard(&self) -> bool {
        self.alive.set(self.alive.get().saturating_sub(1));
        let last = self.alive.get() == 0;
        if last {
            self.permits.close();
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::executor::{Executor, SimulatedClock};

    type Log = Rc<RefCell<Vec<(u32, u64)>>>;

    /// InputGenerator n comes at n ns and keeps what it gets for 10 ns; when each got it.
    fn run(
        users: u32,
        sessions: Vec<u32>,
        loses: impl Fn(u32) -> bool + Copy + 'static,
        gives_up: Option<u32>,
    ) -> (Vec<(u32, u64)>, bool) {
        let (mut executor, pool, log) = (Executor::default(), Pool::new(sessions), Log::default());
        let clock = SimulatedClock::starting_now(executor.timeline());
        for user in 0..users {
            let (clock, pool, log) = (clock.clone(), Rc::clone(&pool), Rc::clone(&log));
            executor.spawn(async move {
                clock.sleep_until(u64::from(user)).await;
                let mut acquiring = Box::pin(pool.acquire());
                if gives_up == Some(user) {
                    assert!(
                        futures_util::future::poll_immediate(&mut acquiring).await.is_none(),
                        "nothing is free"
                    );
                    return;
                }
                let Some(session) = acquiring.await else { return };
                log.borrow_mut().push((user, clock.now_ns()));
                clock.sleep_until(clock.now_ns() + 10).await;
                if loses(user) {
                    pool.discard();
                } else {
                    pool.release(session);
                }
            });
        }
        let ended = executor.finish(10_000);
        (log.take(), ended)
    }

    #[test]
    fn users_are_served_in_order_of_arrival() {
        let (log, ended) = run(6, vec![1, 2], |_| false, None);
        assert_eq!((log, ended), (vec![(0, 0), (1, 1), (2, 10), (3, 11), (4, 20), (5, 21)], true));
    }

    #[test]
    fn a_lost_connection_leaves_the_others_to_all() {
        let (log, ended) = run(4, vec![1, 2], |user| user == 0, None);
        assert_eq!((log, ended), (vec![(0, 0), (1, 1), (2, 11), (3, 21)], true));
    }

    #[test]
    fn with_the_last_connection_everyone_leaves() {
        let (log, ended) = run(9, vec![1], |_| true, None);
        assert_eq!((log, ended), (vec![(0, 0)], true));
    }

    #[test]
    fn a_cancelled_wait_delays_no_other_user() {
        let (log, ended) = run(4, vec![1], |_| false, Some(1));
        assert_eq!((log, ended), (vec![(0, 0), (2, 10), (3, 20)], true));
    }

    #[test]
    fn a_new_user_does_not_overtake_one_that_was_woken() {
        let (mut executor, pool, log) = (Executor::default(), Pool::new(vec![1]), Log::default());
        let clock = SimulatedClock::starting_now(executor.timeline());
        for user in 0..2 {
            let (clock, pool, log) = (clock.clone(), Rc::clone(&pool), Rc::clone(&log));
            executor.spawn(async move {
                for turn in 0..3 {
                    let Some(session) = pool.acquire().await else { return };
                    log.borrow_mut().push((user, turn));
                    clock.sleep_until(clock.now_ns() + 1).await;
                    pool.release(session);
                }
            });
        }
        assert!(executor.finish(100));
        assert_eq!(log.take(), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
    }
}
