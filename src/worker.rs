//! One worker: a thread with its own runtime and a share of the users. (Measured: many connections
//! on one event loop cost 6-7 us of load generator CPU per call, a blocking thread per connection
//! 10-15 us.)

use std::iter;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::arrivals::Arrivals;
use crate::clock::{Clock, RealClock};
use crate::cpu::Cpu;
use crate::generator_spec::GeneratorSpec;
use crate::input_generator::InputGenerator;
use crate::pool::ConnectionSource;
use crate::random::Stream;
use crate::response_arrival;
use crate::session::{Connector, Error, Session};
use crate::shared_state::{HEARTBEAT_NS, SharedState};
use crate::tally::Tally;
use crate::terminal::terminal;
use crate::worker_state::WorkerState;

/// Time that a transaction may still take after everything else has ended; then its outcome is
/// unknown.
pub const RESPONSE_LIMIT: Duration = Duration::from_secs(120);
/// Connections that one worker opens at once: a server may fork a process for each.
const MAX_CONCURRENT_OPENS: usize = 8;

/// Signals of the load generator to its workers; a worker ends when the load generator is dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    Wait,
    Go(Instant),
    Close { drain: Duration, response_limit: Duration },
}

/// The inputs of a worker.
pub struct WorkerSpec<C> {
    pub spec: GeneratorSpec,
    pub connector: Arc<C>,
    pub number: u32,
    pub shared: Arc<SharedState>,
    pub signal: watch::Receiver<Signal>,
    /// Ready, with the threads that do the work; or the reason why not.
    pub report: Sender<Result<Vec<Cpu>, Error>>,
}

/// The whole life of a worker, on its own thread.
pub fn run<C: Connector>(worker: WorkerSpec<C>) -> Result<Tally, Error> {
    let report = worker.report.clone();
    let built = stay_on(&worker.spec.cores).and_then(|()| {
        Builder::new_current_thread()
            .enable_all()
            .on_thread_unpark(response_arrival::woke)
            .build_local(LocalOptions::default())
            .map_err(|error| Error::other(format!("a worker's runtime: {error}")))
    });
    let ended = built.and_then(|runtime| {
        let ended = runtime.block_on(worker.run());
        // A name lookup may still run on its own thread: do not wait for it.
        runtime.shutdown_background();
        ended
    });
    if let Err(error) = &ended {
        let _ = report.send(Err(error.clone()));
    }
    ended
}

/// Pin this thread to these cores, and the threads that it starts from now on; none: not pinned.
fn stay_on(cores: &[usize]) -> Result<(), Error> {
    if cores.is_empty() {
        return Ok(());
    }
    // SAFETY: a zeroed set is empty; the spec guarantees that the cores fit into it.
    let pinned = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cores.iter().for_each(|&core| libc::CPU_SET(core, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    let failed = || {
        let error = std::io::Error::last_os_error();
        Error::other(format!("pinning a worker to cores {cores:?}: {error}"))
    };
    if pinned == 0 { Ok(()) } else { Err(failed()) }
}

impl<C: Connector> WorkerSpec<C> {
    async fn run(mut self) -> Result<Tally, Error> {
        let sessions = tokio::select! {
            opened = self.open() => opened?,
            () = closed(self.signal.clone()) => return Ok(Tally::default()),
        };
        stay_on(self.core())?;
        let theirs = sessions.iter().filter_map(Session::thread);
        let own = Cpu::of_this_thread().map_err(|error| Error::other(error.to_string()));
        let threads = own.map(|own| iter::once(own).chain(theirs).collect());
        let _ = self.report.send(threads);
        let Some(go) = self.go().await else { return Ok(Tally::default()) };
        let clock = RealClock::new(go)
            .map_err(|error| Error::other(format!("a worker's clock: {error}")))?;
        let state = WorkerState::new(
            Arc::clone(&self.shared),
            self.number as usize,
            self.spec.terminal_options(),
            self.arrivals(),
        );
        let mut terminals = JoinSet::new();
        let inputs = self.inputs();
        let sources = ConnectionSource::for_users(inputs.len(), sessions);
        for (inputs, source) in inputs.into_iter().zip(sources) {
            terminals.spawn_local(terminal(inputs, source, clock.clone(), Rc::clone(&state)));
        }
        let response_limit = self.run_until_close(&state, &clock).await;
        finish(&mut terminals, response_limit, &mut self.signal).await?;
        Ok(state.end(&format!("no response within {} s of the end", response_limit.as_secs())))
    }

    /// Open every connection of this worker, a few at a time.
    async fn open(&self) -> Result<Vec<C::Session>, Error> {
        let numbers = self.spec.connections_of(self.number);
        let sessions = numbers.map(|number| self.connector.open_nth(number));
        stream::iter(sessions).buffered(MAX_CONCURRENT_OPENS).try_collect().await
    }

    /// The start of the clock; None when the load generator closes before.
    async fn go(&mut self) -> Option<Instant> {
        let signal = *self.signal.wait_for(|signal| *signal != Signal::Wait).await.ok()?;
        if let Signal::Go(go) = signal { Some(go) } else { None }
    }

    /// This worker's core: they are assigned in turn, once sessions that have threads of their own
    /// have started them on all of them.
    fn core(&self) -> &[usize] {
        let cores = &self.spec.cores;
        let place = self.number as usize % cores.len().max(1);
        cores.get(place..=place).unwrap_or_default()
    }

    fn inputs(&self) -> Vec<InputGenerator> {
        let share = self.spec.share(self.number);
        let first = (self.spec.first_user + share.start) as usize;
        let streams = Stream::new(self.spec.seed, self.spec.stream).jumps().skip(first);
        let users = share.map(|user| self.spec.of_user(self.spec.first_user + user));
        users
            .zip(streams)
            .map(|((workload, number), stream)| InputGenerator::new(workload, number, stream))
            .collect()
    }

    /// This worker's share of the open loop's rate: proportional to its share of the users.
    fn arrivals(&self) -> Option<Arrivals> {
        let share = self.spec.share(self.number).len() as f64 / f64::from(self.spec.users);
        let first = (self.spec.first_user + self.number) as usize;
        let stream = Stream::new(self.spec.seed, self.spec.stream).aside().jumps().nth(first)?;
        self.spec.rate_per_s.map(|rate| Arrivals::new(rate * share, stream))
    }

    /// Record heartbeats and submit every second at its end until the load generator closes or is
    /// dropped. Returns the limit for pending responses.
    async fn run_until_close(&mut self, state: &WorkerState, clock: &RealClock) -> Duration {
        loop {
            let next_ns = (clock.now_ns() / HEARTBEAT_NS + 1) * HEARTBEAT_NS;
            tokio::select! {
                () = clock.sleep_until(next_ns) => state.advance(clock.now_ns()),
                changed = self.signal.changed() => {
                    let signal = *self.signal.borrow_and_update();
                    match (changed, signal) {
                        (Ok(()), Signal::Close { drain, response_limit }) => {
                            state.close(clock.now_ns(), drain);
                            return drain + response_limit;
                        }
                        (Ok(()), _) => {}
                        (Err(_), _) => return Duration::ZERO,
                    }
                }
            }
        }
    }
}

async fn closed(mut signal: watch::Receiver<Signal>) {
    let _ = signal.wait_for(|signal| matches!(signal, Signal::Close { .. })).await;
}

/// Wait until the terminals end. Those that exceed the limit, or a second signal, are aborted.
async fn finish(
    terminals: &mut JoinSet<()>,
    limit: Duration,
    signal: &mut watch::Receiver<Signal>,
) -> Result<(), Error> {
    let deadline = tokio::time::sleep(limit);
    tokio::pin!(deadline);
    loop {
        tokio::select! {
            ended = terminals.join_next() => match ended {
                Some(ended) => {
                    ended.map_err(|error| Error::other(format!("a terminal failed: {error}")))?
                }
                None => return Ok(()),
            },
            () = &mut deadline => break,
            _ = signal.changed() => break,
        }
    }
    terminals.shutdown().await;
    Ok(())
}
