//! A crew: many terminals over one server. Ready (everything open), go (the clock starts), marks, ticks, stop.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::board::{Board, SECOND_NS, Tick};
use crate::order::Order;
use crate::tally::{Rung, Tally};
use crate::worker::{self, ANSWER_LIMIT, Cpu, Signal};

/// Often enough for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(100);
/// A worker that has not handed in a second so long after its end is overloaded; the second is handed out without it.
const LATEST: Duration = Duration::from_secs(5);
/// Answers waited for when a crew is dropped without a stop.
const DROP_LIMIT: Duration = Duration::from_secs(1);

/// Why a crew cannot do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    #[error("{0}")]
    Order(String),
    #[error("{0}")]
    Connection(String),
    #[error("{0}")]
    Broken(String),
    #[error("interrupted")]
    Interrupted,
}

/// Asked about every 100 ms of a long wait: false interrupts it.
pub type GoOn<'a> = &'a dyn Fn() -> bool;

/// What Python asks of a crew, on a real server or a simulated one. JSON in records.py's words.
pub trait Crew: Send + Sync {
    fn ready(&self, go_on: GoOn) -> Result<(), Wrong>;
    fn go(&self) -> Result<(), Wrong>;
    fn tick(&self, go_on: GoOn) -> Result<String, Wrong>;
    fn mark(&self, phase: &str) -> Result<f64, Wrong>;
    fn stop(&self, go_on: GoOn) -> Result<String, Wrong>;
}

/// A crew on threads of its own, each with a runtime and a share of the users.
pub struct PostgresCrew {
    order: Order,
    board: Arc<Board>,
    signal: watch::Sender<Signal>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    workers: Vec<JoinHandle<Result<Tally, String>>>,
    cpus: Vec<Cpu>,
    go: Option<Instant>,
    /// Seconds handed out so far.
    ticked_s: u64,
    /// The clients' core time at the marks.
    cpu_s: [f64; 2],
}

impl PostgresCrew {
    pub fn new(json: &str) -> Result<Self, Wrong> {
        let order = Order::parse(json)?;
        if order.address.is_none() {
            return Err(Wrong::Order("the crew's order: there is no address".into()));
        }
        let board = Arc::new(Board::new(order.workers as usize));
        Ok(Self { order, board, signal: watch::Sender::new(Signal::Wait), state: Mutex::default() })
    }

    fn hire(&self, state: &mut State) -> Result<Receiver<Result<Cpu, String>>, Wrong> {
        let (report, reports) = channel();
        for number in 0..self.order.workers {
            let desk = worker::Desk {
                order: self.order.clone(),
                number,
                board: Arc::clone(&self.board),
                signal: self.signal.subscribe(),
                report: report.clone(),
            };
            let thread = std::thread::Builder::new().name(format!("terminals-{number}"));
            let hired = thread.spawn(move || worker::work(desk)).map_err(|wrong| Wrong::Broken(format!("starting a worker: {wrong}")))?;
            state.workers.push(hired);
        }
        Ok(reports)
    }

    /// Seconds since go.
    fn now_ns(state: &State) -> Result<u64, Wrong> {
        state.go.map(|go| go.elapsed().as_nanos() as u64).ok_or_else(|| Wrong::Broken("the crew has not been told to go".into()))
    }

    fn dismiss(&self, state: &mut State, limit: Duration) {
        let _ = self.signal.send(Signal::Close { answer_limit: limit, drain: Duration::ZERO });
        state.workers.drain(..).for_each(|worker| drop(worker.join()));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark_at(&self, state: &mut State, phase: &str) -> Result<f64, Wrong> {
        let now_ns = Self::now_ns(state)?;
        self.board.mark(phase, now_ns).map_err(Wrong::Broken)?;
        state.cpu_s[usize::from(phase == "cool_down")] = state.cpus.iter().map(Cpu::used_s).sum();
        Ok(now_ns as f64 / 1e9)
    }

    fn rung(&self, state: &State, whole_s: f64) -> Rung {
        let window = self.board.window_ns();
        Rung {
            users: self.order.users,
            window_s: if window.start == u64::MAX { 0.0 } else { (window.end - window.start) as f64 / 1e9 },
            whole_s,
            client_cpu_s: state.cpu_s[1] - state.cpu_s[0],
            client_workers: self.order.workers as usize,
            client_cores: self.order.client_cores(),
            queued: self.order.queued(),
        }
    }
}

impl Crew for PostgresCrew {
    fn ready(&self, go_on: GoOn) -> Result<(), Wrong> {
        let mut state = self.state();
        if !state.workers.is_empty() || state.go.is_some() {
            return Err(Wrong::Broken("the crew is ready already".into()));
        }
        let reports = self.hire(&mut state)?;
        while state.cpus.len() < self.order.workers as usize {
            let refused = match reports.recv_timeout(GLANCE) {
                Ok(Ok(cpu)) => {
                    state.cpus.push(cpu);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) if go_on() => continue,
                Err(RecvTimeoutError::Timeout) => Wrong::Interrupted,
                Err(RecvTimeoutError::Disconnected) => Wrong::Broken("a worker ended before it was ready".into()),
                Ok(Err(message)) => Wrong::Connection(format!("while opening {} connections: {message}", self.order.connections)),
            };
            self.dismiss(&mut state, Duration::ZERO);
            return Err(refused);
        }
        Ok(())
    }

    fn go(&self) -> Result<(), Wrong> {
        let mut state = self.state();
        if state.cpus.len() < self.order.workers as usize || state.go.is_some() {
            return Err(Wrong::Broken("go comes once, after ready".into()));
        }
        let go = Instant::now();
        state.go = Some(go);
        self.signal.send(Signal::Go(go)).map_err(|_| Wrong::Broken("no worker is left".into()))
    }

    fn tick(&self, go_on: GoOn) -> Result<String, Wrong> {
        let (go, first_s) = {
            let state = self.state();
            Self::now_ns(&state)?;
            (state.go.unwrap_or_else(Instant::now), state.ticked_s)
        };
        let until_s = go.elapsed().as_nanos() as u64 / SECOND_NS + 1;
        let latest = go + Duration::from_secs(until_s) + LATEST;
        while !self.board.wait_for(until_s, Instant::now() + GLANCE) && Instant::now() < latest {
            if !go_on() {
                return Err(Wrong::Interrupted);
            }
            let state = self.state();
            if state.workers.iter().any(JoinHandle::is_finished) || state.workers.is_empty() {
                return Err(Wrong::Broken("while the crew worked: a worker has ended".into()));
            }
        }
        self.state().ticked_s = until_s;
        let seconds = self.board.take(first_s..until_s);
        let alive = self.board.alive.load(std::sync::atomic::Ordering::Relaxed);
        json(&Tick { now_s: go.elapsed().as_secs_f64(), alive, seconds })
    }

    fn mark(&self, phase: &str) -> Result<f64, Wrong> {
        self.mark_at(&mut self.state(), phase)
    }

    fn stop(&self, go_on: GoOn) -> Result<String, Wrong> {
        let mut state = self.state();
        Self::now_ns(&state)?;
        if state.workers.is_empty() {
            return Err(Wrong::Broken("the crew has stopped already".into()));
        }
        let window = self.board.window_ns();
        if window.start != u64::MAX && window.end == u64::MAX {
            self.mark_at(&mut state, "cool_down")?;
        }
        let drain = Duration::from_secs_f64(self.order.drain_s);
        let _ = self.signal.send(Signal::Close { answer_limit: ANSWER_LIMIT, drain });
        while !state.workers.iter().all(JoinHandle::is_finished) {
            if !go_on() {
                self.dismiss(&mut state, Duration::ZERO);
                return Err(Wrong::Interrupted);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let whole_s = Self::now_ns(&state)? as f64 / 1e9;
        let mut sum = Tally::default();
        for worker in state.workers.drain(..) {
            let tally = worker.join().map_err(|_| Wrong::Broken("a worker panicked".into()))?;
            sum.merge(&tally.map_err(Wrong::Broken)?);
        }
        sum.identity().map_err(Wrong::Broken)?;
        json(&sum.report(self.rung(&state, whole_s)))
    }
}

impl Drop for PostgresCrew {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.dismiss(&mut state, DROP_LIMIT);
    }
}

/// A record as Python reads it.
pub fn json<T: serde::Serialize>(record: &T) -> Result<String, Wrong> {
    serde_json::to_string(record).map_err(|wrong| Wrong::Broken(format!("writing JSON: {wrong}")))
}
