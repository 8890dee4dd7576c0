//! Connections that users share: who wants one waits in a line for the next that is free, first come, first served.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

/// A user's way to the database: a connection of its own, or whichever is free.
pub enum Way<S> {
    Own(S),
    Shared(Rc<Pool<S>>),
}

impl<S> Way<S> {
    /// A way for each of so many users: connections of their own where there are enough, else all share.
    pub fn for_each_of(users: usize, sessions: Vec<S>) -> Vec<Self> {
        if sessions.len() >= users {
            return sessions.into_iter().map(Way::Own).collect();
        }
        let pool = Pool::new(sessions);
        (0..users).map(|_| Way::Shared(Rc::clone(&pool))).collect()
    }
}

/// The connections of one worker's users; on one thread.
pub struct Pool<S> {
    free: RefCell<VecDeque<S>>,
    /// Those who wait, by the order of their coming.
    line: RefCell<VecDeque<(u64, Waker)>>,
    came: Cell<u64>,
    alive: Cell<usize>,
}

impl<S> Pool<S> {
    pub fn new(sessions: Vec<S>) -> Rc<Self> {
        let alive = Cell::new(sessions.len());
        Rc::new(Self { free: RefCell::new(sessions.into()), line: RefCell::default(), came: Cell::new(0), alive })
    }

    /// The next free connection, in turn; None when the last one is lost. It is given back or lost, never just dropped.
    pub fn take(&self) -> impl Future<Output = Option<S>> {
        let mut place = Place { pool: self, number: None };
        poll_fn(move |context| {
            if self.alive.get() == 0 {
                return Poll::Ready(None);
            }
            if place.first() {
                let free = self.free.borrow_mut().pop_front();
                if free.is_some() {
                    place.leave();
                    return Poll::Ready(free);
                }
            }
            place.wait(context.waker());
            Poll::Pending
        })
    }

    pub fn give_back(&self, session: S) {
        self.free.borrow_mut().push_back(session);
        self.call();
    }

    /// A connection has gone for good; true when it was the last.
    pub fn lose(&self) -> bool {
        self.alive.set(self.alive.get().saturating_sub(1));
        let last = self.alive.get() == 0;
        if last {
            self.line.take().into_iter().for_each(|(_, waker)| waker.wake());
        }
        last
    }

    /// Wake the first in the line where something is free.
    fn call(&self) {
        if self.free.borrow().is_empty() {
            return;
        }
        if let Some((_, waker)) = self.line.borrow().front() {
            waker.wake_by_ref();
        }
    }
}

/// A place in the line, given up when dropped.
struct Place<'a, S> {
    pool: &'a Pool<S>,
    number: Option<u64>,
}

impl<S> Place<'_, S> {
    /// Whoever has no place yet is first where nobody waits.
    fn first(&self) -> bool {
        self.pool.line.borrow().front().map(|&(number, _)| number) == self.number
    }

    fn wait(&mut self, waker: &Waker) {
        let mut line = self.pool.line.borrow_mut();
        let Some(number) = self.number else {
            let number = self.pool.came.replace(self.pool.came.get() + 1);
            self.number = Some(number);
            line.push_back((number, waker.clone()));
            return;
        };
        if let Ok(at) = line.binary_search_by_key(&number, |&(number, _)| number) {
            line[at].1.clone_from(waker);
        }
    }

    fn leave(&mut self) {
        let Some(number) = self.number.take() else { return };
        let mut line = self.pool.line.borrow_mut();
        if let Ok(at) = line.binary_search_by_key(&number, |&(number, _)| number) {
            line.remove(at);
        }
        drop(line);
        self.pool.call();
    }
}

impl<S> Drop for Place<'_, S> {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::executor::{Executor, SimulatedClock};

    type Log = Rc<RefCell<Vec<(u32, u64)>>>;

    /// User n comes at n ns and keeps what it gets for 10 ns; when each got it.
    fn run(users: u32, sessions: Vec<u32>, loses: impl Fn(u32) -> bool + Copy + 'static, patience: Option<u32>) -> (Vec<(u32, u64)>, bool) {
        let (mut executor, pool, log) = (Executor::default(), Pool::new(sessions), Log::default());
        let clock = SimulatedClock::starting_now(executor.timeline());
        for user in 0..users {
            let (clock, pool, log) = (clock.clone(), Rc::clone(&pool), Rc::clone(&log));
            executor.spawn(async move {
                clock.sleep_until(u64::from(user)).await;
                let mut taking = Box::pin(pool.take());
                if patience == Some(user) {
                    assert!(futures_util::future::poll_immediate(&mut taking).await.is_none(), "nothing is free");
                    return;
                }
                let Some(session) = taking.await else { return };
                log.borrow_mut().push((user, clock.now_ns()));
                clock.sleep_until(clock.now_ns() + 10).await;
                if loses(user) {
                    pool.lose();
                } else {
                    pool.give_back(session);
                }
            });
        }
        let ended = executor.finish(10_000);
        (log.take(), ended)
    }

    #[test]
    fn who_comes_first_is_served_first() {
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
    fn who_gives_up_waiting_holds_nobody_up() {
        let (log, ended) = run(4, vec![1], |_| false, Some(1));
        assert_eq!((log, ended), (vec![(0, 0), (2, 10), (3, 20)], true));
    }

    #[test]
    fn a_newcomer_does_not_pass_the_one_who_was_called() {
        let (mut executor, pool, log) = (Executor::default(), Pool::new(vec![1]), Log::default());
        let clock = SimulatedClock::starting_now(executor.timeline());
        for user in 0..2 {
            let (clock, pool, log) = (clock.clone(), Rc::clone(&pool), Rc::clone(&log));
            executor.spawn(async move {
                for turn in 0..3 {
                    let Some(session) = pool.take().await else { return };
                    log.borrow_mut().push((user, turn));
                    clock.sleep_until(clock.now_ns() + 1).await;
                    pool.give_back(session);
                }
            });
        }
        assert!(executor.finish(100));
        assert_eq!(log.take(), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
    }
}
