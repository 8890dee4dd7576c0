//! The load generator: many terminals on one server. Its life is ready (every connection is open),
//! go (the clock starts), ticks, marks, stop.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::cpu::Cpu;
use crate::generator_spec::GeneratorSpec;
use crate::ledger::Ledger;
use crate::session::{Connector, Error};
use crate::shared_state::{SECOND_NS, SharedState, Tick};
use crate::tally::Tally;
use crate::tally::report::{Report, Rung};
use crate::worker::{self, RESPONSE_LIMIT, Signal};

/// Interval at which a long wait checks for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time after the end of a second at which it is reported without the workers that have not
/// submitted it: they are overloaded.
const SECOND_DEADLINE: Duration = Duration::from_secs(5);
/// Limit for pending responses when a load generator is dropped without a stop.
const DROP_RESPONSE_LIMIT: Duration = Duration::from_secs(1);

/// The reason why a load generator cannot do what was requested.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    /// Connections cannot be opened.
    #[error("{0}")]
    Connection(Error),
    #[error("{0}")]
    Broken(String),
    #[error("interrupted")]
    Interrupted,
}

/// Called about every 100 ms during a long wait; false interrupts it.
pub type KeepWaiting<'a> = &'a dyn Fn() -> bool;

/// A load generator as Python uses it, on a real or a simulated server.
pub trait LoadGenerator: Send + Sync {
    fn ready(&self, keep_waiting: KeepWaiting) -> Result<(), GeneratorError>;
    fn go(&self) -> Result<(), GeneratorError>;
    /// Wait for the end of the current second; all seconds that ended since the last call.
    fn tick(&self, keep_waiting: KeepWaiting) -> Result<Tick, GeneratorError>;
    fn mark(&self, phase: &str) -> Result<f64, GeneratorError>;
    fn stop(&self, keep_waiting: KeepWaiting) -> Result<Report, GeneratorError>;
    /// The ledger of a load that has stopped, once; empty unless its spec wants one.
    fn take_ledger(&self) -> Result<Ledger, GeneratorError>;
}

/// A load generator on its own threads; each has a runtime and a share of the users.
pub struct ThreadedLoadGenerator<C> {
    spec: GeneratorSpec,
    connector: Arc<C>,
    shared: Arc<SharedState>,
    signal: watch::Sender<Signal>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    workers: Vec<JoinHandle<Result<Tally, Error>>>,
    /// Workers whose connections are open.
    ready: u32,
    /// The threads of the workers, and of sessions that have their own.
    cpus: Vec<Cpu>,
    started_at: Option<Instant>,
    /// Seconds reported so far.
    reported_s: u64,
    /// CPU time of these threads at the two marks.
    cpu_s: [f64; 2],
    ledger: Ledger,
}

impl<C: Connector + Send + Sync + 'static> ThreadedLoadGenerator<C> {
    /// A load generator that has opened nothing yet.
    pub fn new(spec: GeneratorSpec, connector: C) -> Self {
        let spec = spec.resolved();
        let shared = Arc::new(SharedState::new(spec.workers as usize));
        Self {
            spec,
            connector: Arc::new(connector),
            shared,
            signal: watch::Sender::new(Signal::Wait),
            state: Mutex::default(),
        }
    }

    fn spawn_workers(
        &self,
        state: &mut State,
    ) -> Result<Receiver<Result<Vec<Cpu>, Error>>, GeneratorError> {
        let (report, reports) = channel();
        for number in 0..self.spec.workers {
            let worker_spec = worker::WorkerSpec {
                spec: self.spec.clone(),
                connector: Arc::clone(&self.connector),
                number,
                shared: Arc::clone(&self.shared),
                signal: self.signal.subscribe(),
                report: report.clone(),
            };
            let thread = std::thread::Builder::new().name(format!("terminals-{number}"));
            let spawned = thread
                .spawn(move || worker::run(worker_spec))
                .map_err(|error| GeneratorError::Broken(format!("starting a worker: {error}")))?;
            state.workers.push(spawned);
        }
        Ok(reports)
    }

    /// Nanoseconds since go.
    fn now_ns(state: &State) -> Result<u64, GeneratorError> {
        state.started_at.map(|at| at.elapsed().as_nanos() as u64).ok_or_else(|| {
            GeneratorError::Broken("the load generator has not started: call go first".into())
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark_at(&self, state: &mut State, phase: &str) -> Result<f64, GeneratorError> {
        let now_ns = Self::now_ns(state)?;
        self.shared.mark(phase, now_ns).map_err(GeneratorError::Broken)?;
        state.cpu_s[usize::from(phase == "cool_down")] = state.cpus.iter().map(Cpu::used_s).sum();
        Ok(now_ns as f64 / 1e9)
    }

    fn rung(&self, state: &State, whole_s: f64) -> Rung {
        let window = self.shared.window_ns();
        Rung {
            users: self.spec.users,
            window_s: if window.start == u64::MAX {
                0.0
            } else {
                (window.end - window.start) as f64 / 1e9
            },
            whole_s,
            // the clock of a thread that ended with its connection is 0
            load_generator_cpu_s: (state.cpu_s[1] - state.cpu_s[0]).max(0.0),
            load_generator_threads: state.cpus.len(),
            load_generator_cores: self.spec.available_cores(),
            queued: self.spec.queued(),
        }
    }
}

impl<C: Connector + Send + Sync + 'static> LoadGenerator for ThreadedLoadGenerator<C> {
    fn ready(&self, keep_waiting: KeepWaiting) -> Result<(), GeneratorError> {
        let mut state = self.state();
        if !state.workers.is_empty() || state.started_at.is_some() {
            return Err(GeneratorError::Broken("the load generator is ready already".into()));
        }
        let reports = self.spawn_workers(&mut state)?;
        while state.ready < self.spec.workers {
            let failure = match reports.recv_timeout(POLL_INTERVAL) {
                Ok(Ok(threads)) => {
                    state.ready += 1;
                    state.cpus.extend(threads);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) if keep_waiting() => continue,
                Err(RecvTimeoutError::Timeout) => GeneratorError::Interrupted,
                Err(RecvTimeoutError::Disconnected) => {
                    GeneratorError::Broken("a worker ended before it was ready".into())
                }
                Ok(Err(error)) => GeneratorError::Connection(
                    error.during(format_args!("cannot open {} connections", self.spec.connections)),
                ),
            };
            shut_down(&self.signal, &mut state, Duration::ZERO);
            return Err(failure);
        }
        Ok(())
    }

    fn go(&self) -> Result<(), GeneratorError> {
        let mut state = self.state();
        if state.ready < self.spec.workers || state.started_at.is_some() {
            return Err(GeneratorError::Broken("go comes once, after ready".into()));
        }
        let started = Instant::now();
        state.started_at = Some(started);
        self.signal
            .send(Signal::Go(started))
            .map_err(|_| GeneratorError::Broken("no worker is alive".into()))
    }

    fn tick(&self, keep_waiting: KeepWaiting) -> Result<Tick, GeneratorError> {
        let (started, first_s) = {
            let state = self.state();
            Self::now_ns(&state)?;
            (state.started_at.unwrap_or_else(Instant::now), state.reported_s)
        };
        let until_s = started.elapsed().as_nanos() as u64 / SECOND_NS + 1;
        let deadline = started + Duration::from_secs(until_s) + SECOND_DEADLINE;
        while !self.shared.wait_for(until_s, Instant::now() + POLL_INTERVAL)
            && Instant::now() < deadline
        {
            if !keep_waiting() {
                return Err(GeneratorError::Interrupted);
            }
            let state = self.state();
            if state.workers.iter().any(JoinHandle::is_finished) || state.workers.is_empty() {
                return Err(GeneratorError::Broken("a worker ended during the load".into()));
            }
        }
        self.state().reported_s = until_s;
        let ended = self.shared.take(first_s..until_s);
        let alive = self.shared.alive.load(std::sync::atomic::Ordering::Relaxed);
        Ok(Tick::new(started.elapsed().as_secs_f64(), alive, self.shared.take_late_s(), &ended))
    }

    fn mark(&self, phase: &str) -> Result<f64, GeneratorError> {
        self.mark_at(&mut self.state(), phase)
    }

    fn stop(&self, keep_waiting: KeepWaiting) -> Result<Report, GeneratorError> {
        let mut state = self.state();
        Self::now_ns(&state)?;
        if state.workers.is_empty() {
            return Err(GeneratorError::Broken("the load generator has stopped already".into()));
        }
        let window = self.shared.window_ns();
        if window.start != u64::MAX && window.end == u64::MAX {
            self.mark_at(&mut state, "cool_down")?;
        }
        let drain = Duration::from_secs_f64(self.spec.drain_s);
        let _ = self.signal.send(Signal::Close { response_limit: RESPONSE_LIMIT, drain });
        while !state.workers.iter().all(JoinHandle::is_finished) {
            if !keep_waiting() {
                shut_down(&self.signal, &mut state, Duration::ZERO);
                return Err(GeneratorError::Interrupted);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let whole_s = Self::now_ns(&state)? as f64 / 1e9;
        let mut sum = Tally::default();
        for worker in state.workers.drain(..) {
            let tally =
                worker.join().map_err(|_| GeneratorError::Broken("a worker panicked".into()))?;
            sum.merge(&tally.map_err(|error| GeneratorError::Broken(error.message))?);
        }
        sum.identity().map_err(GeneratorError::Broken)?;
        state.ledger = std::mem::take(&mut sum.ledger);
        Ok(sum.report(self.rung(&state, whole_s)))
    }

    fn take_ledger(&self) -> Result<Ledger, GeneratorError> {
        Ok(std::mem::take(&mut self.state().ledger))
    }
}

impl<C> Drop for ThreadedLoadGenerator<C> {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        shut_down(&self.signal, &mut state, DROP_RESPONSE_LIMIT);
    }
}

/// Close the workers and wait for their end.
fn shut_down(signal: &watch::Sender<Signal>, state: &mut State, response_limit: Duration) {
    let _ = signal.send(Signal::Close { response_limit, drain: Duration::ZERO });
    state.workers.drain(..).for_each(|worker| drop(worker.join()));
}
