//! What the terminals of one worker share: the schedule, the tally, the end of work.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::board::{Board, SECOND_NS, SecondTally};
use crate::clock::Clock;
use crate::inputs::{Kind, User};
use crate::session::Outcome;
use crate::tally::{Call, Tally};

/// How the terminals of a shift behave.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    /// Keying and think times (a closed loop's; an open loop has its schedule instead).
    pub think_times: bool,
    pub retries: u32,
}

/// One worker's shift; on one thread.
pub struct Shift {
    pub manners: Manners,
    board: Arc<Board>,
    worker: usize,
    arrivals: RefCell<Option<Arrivals>>,
    tally: RefCell<Tally>,
    second: RefCell<SecondTally>,
    closed_ns: Cell<Option<u64>>,
    /// Until then starts of the window that are late are still made up for.
    drained_ns: Cell<u64>,
    /// The last connection of all is lost.
    deserted: Cell<bool>,
    sleepers: RefCell<Vec<Option<Waker>>>,
}

impl Shift {
    /// `arrivals`: the schedule of an open loop; None is a closed one.
    pub fn new(board: Arc<Board>, worker: usize, manners: Manners, arrivals: Option<Arrivals>) -> Rc<Self> {
        Rc::new(Self {
            manners,
            board,
            worker,
            arrivals: RefCell::new(arrivals),
            tally: RefCell::default(),
            second: RefCell::default(),
            closed_ns: Cell::new(None),
            drained_ns: Cell::new(0),
            deserted: Cell::new(false),
            sleepers: RefCell::default(),
        })
    }

    /// A terminal takes its seat.
    pub fn enter(self: &Rc<Self>) -> Seat {
        self.board.alive.fetch_add(1, Relaxed);
        self.sleepers.borrow_mut().push(None);
        Seat { shift: Rc::clone(self), number: self.sleepers.borrow().len() - 1 }
    }

    /// No more starts, but for what was scheduled within the window, and that no longer than `drain`; whoever sleeps is woken.
    pub fn close(&self, now_ns: u64, drain: Duration) {
        self.closed_ns.set(Some(now_ns));
        self.drained_ns.set(now_ns + drain.as_nanos() as u64);
        self.wake();
    }

    fn wake(&self) {
        self.sleepers.borrow_mut().iter_mut().filter_map(Option::take).for_each(Waker::wake);
    }

    /// Hand in the seconds that have ended.
    pub fn turn(&self, now_ns: u64) {
        let now_s = now_ns / SECOND_NS;
        let mut second = self.second.borrow_mut();
        if second.at_s < now_s {
            let ended = std::mem::replace(&mut *second, SecondTally::at(now_s));
            self.board.hand_in(self.worker, Some(ended), now_s);
        }
    }

    /// The tally, once every terminal has ended or is given up: the starts that never were are counted.
    pub fn end(&self, lost: &str) -> Tally {
        let cut_ns = self.cut_ns();
        let mut tally = self.tally.take();
        if let Some(arrivals) = self.arrivals.borrow_mut().as_mut() {
            let start_ns = self.board.window_ns().start;
            tally.unstarted += arrivals.take_while(|&at_ns| at_ns < cut_ns).filter(|&at_ns| at_ns >= start_ns).count() as u64;
        }
        tally.lost_users += tally.abandon(lost);
        tally
    }

    /// Scheduled starts from here on are nobody's: the window's end, or the close.
    fn cut_ns(&self) -> u64 {
        self.board.window_ns().end.min(self.closed_ns.get().unwrap_or(u64::MAX))
    }

    fn closed(&self) -> bool {
        self.closed_ns.get().is_some()
    }

    fn ended(&self, call: &Call, outcome: &Outcome) {
        self.turn(call.ended_ns);
        self.second.borrow_mut().ended(call, outcome);
        let mut tally = self.tally.borrow_mut();
        tally.ended(call, outcome, &self.board.window_ns());
        tally.lost_users += u64::from(matches!(outcome, Outcome::Lost { .. }));
    }
}

/// One terminal's place in the shift, given up when dropped.
pub struct Seat {
    shift: Rc<Shift>,
    number: usize,
}

impl Seat {
    /// Wait for the next start: the intended time, or None when work is over. In a closed loop that is now, after the
    /// keying time; in an open loop the next of the schedule, which may be past.
    pub async fn start<C: Clock>(&self, clock: &C, kind: Kind) -> Option<u64> {
        let next = self.shift.arrivals.borrow_mut().as_mut().and_then(Iterator::next);
        let start_ns = match next {
            Some(at_ns) => self.scheduled(clock, at_ns).await,
            None => {
                self.pause(clock, kind.keying_s()).await;
                (!self.shift.closed() && !self.shift.deserted.get()).then(|| clock.now_ns())
            }
        };
        if start_ns.is_none() && self.shift.deserted.get() {
            self.stranded();
        }
        start_ns
    }

    /// A start that waits for a connection. One that is never granted is unstarted.
    pub fn wants(&self, intended_ns: u64) -> Wanted<'_> {
        Wanted { shift: &self.shift, intended_ns, open: true }
    }

    /// No connection is left for this user.
    pub fn stranded(&self) {
        self.shift.tally.borrow_mut().lost_users += 1;
    }

    /// The last connection is lost: those who sleep need not wake for another.
    pub fn desert(&self) {
        self.shift.deserted.set(true);
        self.shift.wake();
    }

    async fn scheduled<C: Clock>(&self, clock: &C, at_ns: u64) -> Option<u64> {
        if at_ns > clock.now_ns() {
            self.sleep_until(clock, at_ns).await;
        }
        let wanted = self.wants(at_ns);
        (!self.shift.deserted.get() && wanted.granted(clock.now_ns())).then_some(at_ns)
    }

    /// The think time after a transaction (TPC-C 5.2.5.4: at most ten times its mean).
    pub async fn think<C: Clock>(&self, clock: &C, kind: Kind, user: &mut User) {
        if self.shift.manners.think_times {
            let mean_s = kind.thinking_s();
            self.pause(clock, user.random.exponential(mean_s).min(10.0 * mean_s)).await;
        }
    }

    pub fn started(&self, kind: Kind) {
        self.shift.tally.borrow_mut().started(kind);
    }

    pub fn retried(&self, kind: Kind, code: &str) {
        self.shift.tally.borrow_mut().retried(kind, code);
    }

    pub fn ended(&self, call: &Call, outcome: &Outcome) {
        self.shift.ended(call, outcome);
    }

    pub fn retries(&self) -> u32 {
        self.shift.manners.retries
    }

    async fn pause<C: Clock>(&self, clock: &C, seconds: f64) {
        let closed_loop = self.shift.arrivals.borrow().is_none();
        if self.shift.manners.think_times && closed_loop {
            self.sleep_until(clock, clock.now_ns() + (seconds * 1e9) as u64).await;
        }
    }

    /// Sleep, but not longer than work goes on.
    async fn sleep_until<C: Clock>(&self, clock: &C, at_ns: u64) {
        let mut sleeping = pin!(clock.sleep_until(at_ns));
        poll_fn(|context| {
            if self.shift.closed() || self.shift.deserted.get() {
                return Poll::Ready(());
            }
            let slept = sleeping.as_mut().poll(context);
            self.shift.sleepers.borrow_mut()[self.number] = slept.is_pending().then(|| context.waker().clone());
            slept
        })
        .await;
    }
}

/// A start that is wanted. Dropped before it is granted it counts as unstarted, if it belongs to the window.
pub struct Wanted<'a> {
    shift: &'a Shift,
    intended_ns: u64,
    open: bool,
}

impl Wanted<'_> {
    /// Whether there is still time for it: until the close; after it, for what was due before, until the drain ends.
    pub fn granted(mut self, now_ns: u64) -> bool {
        let due = self.intended_ns < self.shift.cut_ns();
        self.open = due && self.shift.closed() && now_ns >= self.shift.drained_ns.get();
        !self.shift.closed() || (due && !self.open)
    }
}

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        let window = self.shift.board.window_ns();
        let counts = self.open && self.intended_ns >= window.start && self.intended_ns < self.shift.cut_ns();
        self.shift.tally.borrow_mut().unstarted += u64::from(counts);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shift.board.alive.fetch_sub(1, Relaxed);
    }
}
