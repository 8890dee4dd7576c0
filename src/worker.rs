//! One worker: a thread with a runtime of its own and a share of the users. (Measured: many connections on one event
//! loop cost 6-7 us of client CPU a call, a blocking thread per connection 10-15 us.)

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::arrivals::Arrivals;
use crate::board::{Board, SECOND_NS};
use crate::clock::{Clock, RealClock};
use crate::order::Order;
use crate::pool::Way;
use crate::random::Stream;
use crate::session::postgres::{Door, Postgres};
use crate::shift::Shift;
use crate::tally::Tally;
use crate::terminal::terminal;
use crate::user::User;

/// How long a transaction may still take once everything else has ended; then its answer is unknown.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(120);
/// Connections that one worker opens at once: a server forks a process for each.
const OPENING: usize = 8;

/// What the crew tells its workers; when the crew is gone they go too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    Wait,
    Go(Instant),
    Close { drain: Duration, answer_limit: Duration },
}

/// What a worker is given.
pub struct Desk {
    pub order: Order,
    pub number: u32,
    pub board: Arc<Board>,
    pub signal: watch::Receiver<Signal>,
    /// Ready, or why not.
    pub report: Sender<Result<Cpu, String>>,
}

/// A thread's core time, as other threads may read it.
#[derive(Clone, Copy, Debug)]
pub struct Cpu(libc::clockid_t);

impl Cpu {
    fn mine() -> Result<Self, String> {
        let mut clock = 0;
        // SAFETY: the thread is the caller's own, and the clock's id goes to a place that is ours.
        match unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) } {
            0 => Ok(Self(clock)),
            code => Err(format!("a thread's CPU clock: {}", std::io::Error::from_raw_os_error(code))),
        }
    }

    /// 0 when the thread has ended.
    pub fn used_s(&self) -> f64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the time goes to a place that is ours; a clock that is gone is an error, not a fault.
        match unsafe { libc::clock_gettime(self.0, &mut time) } {
            0 => time.tv_sec as f64 + time.tv_nsec as f64 / 1e9,
            _ => 0.0,
        }
    }
}

/// The whole life of a worker, on its own thread.
pub fn work(desk: Desk) -> Result<Tally, String> {
    let report = desk.report.clone();
    let built = pin(&desk.order.cores, desk.number).and_then(|()| {
        Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
            .map_err(|wrong| format!("a worker's runtime: {wrong}"))
    });
    let worked = built.and_then(|runtime| {
        let worked = runtime.block_on(desk.shift());
        // A name may still be looked up on a thread of its own: nobody waits for that.
        runtime.shutdown_background();
        worked
    });
    if let Err(message) = &worked {
        let _ = report.send(Err(message.clone()));
    }
    worked
}

/// Keep this thread on the core that is its turn.
fn pin(cores: &[usize], number: u32) -> Result<(), String> {
    let Some(&core) = cores.get(number as usize % cores.len().max(1)) else { return Ok(()) };
    // SAFETY: a zeroed set is an empty one; the order has checked that the core is within it.
    let pinned = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if pinned == 0 { Ok(()) } else { Err(format!("pinning worker {number} to core {core}: {}", std::io::Error::last_os_error())) }
}

impl Desk {
    async fn shift(mut self) -> Result<Tally, String> {
        let sessions = tokio::select! {
            opened = self.open() => opened?,
            () = closed(self.signal.clone()) => return Ok(Tally::default()),
        };
        let _ = self.report.send(Cpu::mine());
        let Some(go) = self.go().await else { return Ok(Tally::default()) };
        let clock = RealClock::new(go).map_err(|wrong| format!("a worker's clock: {wrong}"))?;
        let shift = Shift::new(Arc::clone(&self.board), self.number as usize, self.order.manners(), self.arrivals());
        let mut terminals = JoinSet::new();
        let users = self.users();
        let ways = Way::for_each_of(users.len(), sessions);
        for (user, way) in users.into_iter().zip(ways) {
            terminals.spawn_local(terminal(user, way, clock.clone(), Rc::clone(&shift)));
        }
        let answer_limit = self.until_close(&shift, &clock).await;
        finish(&mut terminals, answer_limit, &mut self.signal).await?;
        Ok(shift.end(&format!("no answer within {} s of the end", answer_limit.as_secs())))
    }

    /// Every connection of this worker, some at a time.
    async fn open(&self) -> Result<Vec<Postgres>, String> {
        let address = self.order.address.as_ref().ok_or("there is no address")?;
        let door = Door::new(address)?;
        let sessions = (0..self.order.connections_of(self.number)).map(|_| Postgres::open(&door));
        stream::iter(sessions).buffered(OPENING).try_collect().await
    }

    /// When the clock started; None when it never will.
    async fn go(&mut self) -> Option<Instant> {
        let signal = *self.signal.wait_for(|signal| *signal != Signal::Wait).await.ok()?;
        if let Signal::Go(go) = signal { Some(go) } else { None }
    }

    fn users(&self) -> Vec<User> {
        let workload = self.order.workload();
        let share = self.order.share(self.number);
        let first = (self.order.first_user + share.start) as usize;
        let streams = Stream::new(self.order.seed, self.order.stream).jumps().skip(first);
        let numbers = share.map(|user| (self.order.first_user + user) as i32);
        numbers.zip(streams).map(|(number, stream)| User::new(workload, number, stream)).collect()
    }

    /// This worker's part of the open loop's rate: as large as its part of the users.
    fn arrivals(&self) -> Option<Arrivals> {
        let share = self.order.share(self.number).len() as f64 / f64::from(self.order.users);
        let first = (self.order.first_user + self.number) as usize;
        let stream = Stream::new(self.order.seed, self.order.stream).aside().jumps().nth(first)?;
        self.order.rate_per_s.map(|rate| Arrivals::new(rate * share, stream))
    }

    /// Hand in every second at its end, until the crew says close or is gone; how long answers may still take.
    async fn until_close(&mut self, shift: &Shift, clock: &RealClock) -> Duration {
        loop {
            let next_ns = (clock.now_ns() / SECOND_NS + 1) * SECOND_NS;
            tokio::select! {
                () = clock.sleep_until(next_ns) => shift.turn(clock.now_ns()),
                changed = self.signal.changed() => {
                    let signal = *self.signal.borrow_and_update();
                    match (changed, signal) {
                        (Ok(()), Signal::Close { drain, answer_limit }) => {
                            shift.close(clock.now_ns(), drain);
                            return drain + answer_limit;
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

/// Wait for the terminals to end; those that do not in time, or before the crew loses its patience, are given up.
async fn finish(terminals: &mut JoinSet<()>, limit: Duration, signal: &mut watch::Receiver<Signal>) -> Result<(), String> {
    let deadline = tokio::time::sleep(limit);
    tokio::pin!(deadline);
    loop {
        tokio::select! {
            ended = terminals.join_next() => match ended {
                Some(ended) => ended.map_err(|wrong| format!("a terminal failed: {wrong}"))?,
                None => return Ok(()),
            },
            () = &mut deadline => break,
            _ = signal.changed() => break,
        }
    }
    terminals.shutdown().await;
    Ok(())
}
