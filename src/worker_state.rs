//! State that the terminals of one worker share: the schedule, the tally, the end of the load.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::clock::Clock;
use crate::input_generator::InputGenerator;
use crate::inputs::{Kind, Transaction};
use crate::ledger::{self, Entry};
use crate::session::{ErrorClass, Outcome};
use crate::shared_state::{SECOND_NS, SecondTally, SharedState, WAITING_NS};
use crate::tally::{Call, Start, Tally};

/// Options of the terminals.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions {
    /// Keying and think times (a closed loop's; an open loop has its schedule instead).
    pub think_times: bool,
    pub retries: u32,
    /// Keep a ledger of the orders.
    pub ledger: bool,
}

/// The run state of one worker; used on its thread only.
pub struct WorkerState {
    pub options: TerminalOptions,
    shared: Arc<SharedState>,
    worker: usize,
    arrivals: RefCell<Option<Arrivals>>,
    tally: RefCell<Tally>,
    second: RefCell<SecondTally>,
    /// Time of the last heartbeat.
    last_read_ns: Cell<u64>,
    closed_ns: Cell<Option<u64>>,
    /// End of the drain: until then overdue starts of the window still run.
    drain_end_ns: Cell<u64>,
    /// The last connection is lost.
    all_lost: Cell<bool>,
    sleepers: RefCell<Vec<Option<Waker>>>,
    /// Start of the transaction of each terminal; `NONE_NS` without one.
    under_way_ns: RefCell<Vec<u64>>,
    /// The order of each terminal that waits for its answer, where a ledger is kept.
    open_orders: RefCell<Vec<Option<Entry>>>,
}

const NONE_NS: u64 = u64::MAX;

impl WorkerState {
    /// `arrivals`: the schedule of an open loop; None for a closed loop.
    pub fn new(
        shared: Arc<SharedState>,
        worker: usize,
        options: TerminalOptions,
        arrivals: Option<Arrivals>,
    ) -> Rc<Self> {
        Rc::new(Self {
            options,
            shared,
            worker,
            arrivals: RefCell::new(arrivals),
            tally: RefCell::default(),
            second: RefCell::default(),
            last_read_ns: Cell::new(0),
            closed_ns: Cell::new(None),
            drain_end_ns: Cell::new(0),
            all_lost: Cell::new(false),
            sleepers: RefCell::default(),
            under_way_ns: RefCell::default(),
            open_orders: RefCell::default(),
        })
    }

    /// Register a terminal.
    pub fn register_terminal(self: &Rc<Self>) -> TerminalHandle {
        self.shared.alive.fetch_add(1, Relaxed);
        self.sleepers.borrow_mut().push(None);
        self.under_way_ns.borrow_mut().push(NONE_NS);
        self.open_orders.borrow_mut().push(None);
        TerminalHandle { state: Rc::clone(self), number: self.sleepers.borrow().len() - 1 }
    }

    /// Allow no more starts, except for those scheduled within the window, and these for at most
    /// `drain`. Sleeping terminals are woken.
    pub fn close(&self, now_ns: u64, drain: Duration) {
        self.closed_ns.set(Some(now_ns));
        self.drain_end_ns.set(now_ns + drain.as_nanos() as u64);
        self.wake();
    }

    fn wake(&self) {
        self.sleepers.borrow_mut().iter_mut().filter_map(Option::take).for_each(Waker::wake);
    }

    /// Record a heartbeat, then submit the seconds that have ended.
    pub fn advance(&self, now_ns: u64) {
        self.shared.record_heartbeat(now_ns.saturating_sub(self.last_read_ns.replace(now_ns)));
        let now_s = now_ns / SECOND_NS;
        let mut second = self.second.borrow_mut();
        if second.at_s < now_s {
            let mut ended = std::mem::replace(&mut *second, SecondTally::at(now_s));
            ended.waiting_s = self.waiting_s(now_ns);
            self.shared.submit(self.worker, Some(ended), now_s);
        }
    }

    /// Ages of the transactions that have had no response for long.
    fn waiting_s(&self, now_ns: u64) -> Vec<f64> {
        let under_way_ns = self.under_way_ns.borrow();
        let ages_ns = under_way_ns.iter().map(|&start_ns| now_ns.saturating_sub(start_ns));
        ages_ns.filter(|&age_ns| age_ns >= WAITING_NS).map(|ns| ns as f64 / 1e9).collect()
    }

    /// The tally, once every terminal has ended or was aborted; scheduled starts that never took
    /// place are counted.
    pub fn end(&self, lost: &str) -> Tally {
        let cut_ns = self.cut_ns();
        let mut tally = self.tally.take();
        if let Some(arrivals) = self.arrivals.borrow_mut().as_mut() {
            let start_ns = self.shared.window_ns().start;
            tally.unstarted += arrivals
                .take_while(|&at_ns| at_ns < cut_ns)
                .filter(|&at_ns| at_ns >= start_ns)
                .count() as u64;
        }
        tally.lost_users += tally.abandon(lost);
        tally.ledger.unknown.extend(self.open_orders.take().into_iter().flatten());
        tally
    }

    /// Scheduled starts from this time on do not count: the end of the window, or the close.
    fn cut_ns(&self) -> u64 {
        self.shared.window_ns().end.min(self.closed_ns.get().unwrap_or(u64::MAX))
    }

    fn closed(&self) -> bool {
        self.closed_ns.get().is_some()
    }

    fn ended(&self, call: &Call, outcome: &Outcome) {
        self.advance(call.read_ns());
        self.second.borrow_mut().ended(call, outcome);
        let mut tally = self.tally.borrow_mut();
        tally.ended(call, outcome, &self.shared.window_ns());
        tally.lost_users += u64::from(outcome.class() == Some(ErrorClass::Lost));
    }
}

/// One terminal's handle on the state; dropping it ends the terminal.
pub struct TerminalHandle {
    state: Rc<WorkerState>,
    number: usize,
}

impl TerminalHandle {
    /// Wait for the next start; None at the end of the load. A closed loop starts at once, after
    /// the keying time; an open loop starts at the next scheduled time, which may be past.
    pub async fn start<C: Clock>(&self, clock: &C, kind: Kind) -> Option<Start> {
        let next = self.state.arrivals.borrow_mut().as_mut().and_then(Iterator::next);
        let start = match next {
            Some(at_ns) => self.scheduled(clock, at_ns).await,
            None => {
                self.pause(clock, kind.keying_s()).await;
                (!self.state.closed() && !self.state.all_lost.get())
                    .then(|| Start { intended_ns: clock.now_ns(), late_ns: 0 })
            }
        };
        if start.is_none() && self.state.all_lost.get() {
            self.connection_lost();
        }
        start
    }

    /// A start that waits for a connection; if never granted, it counts as unstarted.
    pub fn pending(&self, intended_ns: u64) -> PendingArrival<'_> {
        PendingArrival { state: &self.state, intended_ns, open: true }
    }

    /// This user has no connection any more.
    pub fn connection_lost(&self) {
        self.state.tally.borrow_mut().lost_users += 1;
    }

    /// The last connection is lost: wake the terminals that sleep, so that they end.
    pub fn all_connections_lost(&self) {
        self.state.all_lost.set(true);
        self.state.wake();
    }

    async fn scheduled<C: Clock>(&self, clock: &C, at_ns: u64) -> Option<Start> {
        let free = at_ns > clock.now_ns();
        if free {
            self.sleep_until(clock, at_ns).await;
        }
        let (arrival, now_ns) = (self.pending(at_ns), clock.now_ns());
        let late_ns = if free { now_ns.saturating_sub(at_ns) } else { 0 };
        (!self.state.all_lost.get() && arrival.granted(now_ns))
            .then_some(Start { intended_ns: at_ns, late_ns })
    }

    /// The think time after a transaction (TPC-C 5.2.5.4: at most ten times its mean).
    pub async fn think<C: Clock>(&self, clock: &C, kind: Kind, inputs: &mut InputGenerator) {
        if self.state.options.think_times {
            let mean_s = kind.thinking_s();
            self.pause(clock, inputs.random.exponential(mean_s).min(10.0 * mean_s)).await;
        }
    }

    pub fn started(&self, transaction: &Transaction, at_ns: u64) {
        self.state.under_way_ns.borrow_mut()[self.number] = at_ns;
        self.state.tally.borrow_mut().started(transaction.kind());
        if self.state.options.ledger {
            self.state.open_orders.borrow_mut()[self.number] = ledger::entry(transaction);
        }
    }

    pub fn retried(&self, kind: Kind, code: &str) {
        self.state.tally.borrow_mut().retried(kind, code);
    }

    pub fn ended(&self, call: &Call, outcome: &Outcome) {
        self.state.under_way_ns.borrow_mut()[self.number] = NONE_NS;
        self.state.ended(call, outcome);
        if !self.state.options.ledger {
            return;
        }
        if let Some(order) = self.state.open_orders.borrow_mut()[self.number].take() {
            self.state.tally.borrow_mut().ledger.enter(order, outcome, call.read_ns());
        }
    }

    pub fn retries(&self) -> u32 {
        self.state.options.retries
    }

    async fn pause<C: Clock>(&self, clock: &C, seconds: f64) {
        let closed_loop = self.state.arrivals.borrow().is_none();
        if self.state.options.think_times && closed_loop {
            self.sleep_until(clock, clock.now_ns() + (seconds * 1e9) as u64).await;
        }
    }

    /// Sleep until `at_ns`, or until the end of the load.
    async fn sleep_until<C: Clock>(&self, clock: &C, at_ns: u64) {
        let mut sleeping = pin!(clock.sleep_until(at_ns));
        poll_fn(|context| {
            if self.state.closed() || self.state.all_lost.get() {
                return Poll::Ready(());
            }
            let slept = sleeping.as_mut().poll(context);
            self.state.sleepers.borrow_mut()[self.number] =
                slept.is_pending().then(|| context.waker().clone());
            slept
        })
        .await;
    }
}

/// A start that is due but not granted yet. One that is dropped before counts as unstarted if it
/// belongs to the window.
pub struct PendingArrival<'a> {
    state: &'a WorkerState,
    intended_ns: u64,
    open: bool,
}

impl PendingArrival<'_> {
    /// True if there is still time for it: until the close, and until the end of the drain for what
    /// was due before the close.
    pub fn granted(mut self, now_ns: u64) -> bool {
        let due = self.intended_ns < self.state.cut_ns();
        self.open = due && self.state.closed() && now_ns >= self.state.drain_end_ns.get();
        !self.state.closed() || (due && !self.open)
    }
}

impl Drop for PendingArrival<'_> {
    fn drop(&mut self) {
        let window = self.state.shared.window_ns();
        let counts =
            self.open && self.intended_ns >= window.start && self.intended_ns < self.state.cut_ns();
        self.state.tally.borrow_mut().unstarted += u64::from(counts);
    }
}

impl Drop for TerminalHandle {
    fn drop(&mut self) {
        self.state.shared.alive.fetch_sub(1, Relaxed);
    }
}
