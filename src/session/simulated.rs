//! A database and its drives as a discrete-event model: cores, buffer misses on a data device, a log with group commit.
//!
//! A transaction computes, misses a block, computes again, and so on; what has written then waits for its log flush:
//!
//! ```text
//!   execute -> cores (k, one queue) <-> data device (c channels, one queue) -> log (group commit) -> answer
//! ```
//!
//! Service times are exponential, a seeded stream; their means change a little from second to second (`noise`) and from
//! restore to restore (`restore_noise`). The cache is cold after a restore and warms with the transactions done.

pub mod ledger;
pub mod log;
pub mod model;
pub mod readings;
pub mod station;

use std::cell::RefCell;
use std::rc::Rc;

use crate::executor::Timeline;
use crate::inputs::{Kind, Transaction};
use crate::session::{Outcome, Session};
use ledger::Ledger;
use log::Log;
use model::{Luck, Model, SECOND_NS, Storage};
use station::Station;

/// Code of a transaction that was refused because too many were running (SQLSTATE too_many_connections).
const FULL: &str = "53300";
const DEADLOCK: &str = "40P01";
/// Core time that a refusal takes: who is refused and asks again at once must not stop the clock.
const REFUSAL_NS: f64 = 100_000.0;

/// The database's state, shared by all its sessions; crews come and go, it stays.
pub struct Database {
    storage: Storage,
    weights: [f64; 5],
    luck: Luck,
    cores: Station,
    device: Station,
    log: Log,
    ledger: Ledger,
    checkpoints: Checkpoints,
    active: usize,
    asked: u64,
    done: u64,
}

/// Timed checkpoints, and the pages that each one writes in the time until the next.
#[derive(Default)]
struct Checkpoints {
    timed: u64,
    requested: u64,
    begun_ns: u64,
    pages: f64,
    pages_before: f64,
}

/// What one transaction will ask for, drawn when it begins.
struct Journey {
    misses: u32,
    slice_ns: f64,
    fate: Fate,
}

#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Commit,
    RollBack,
    Deadlock,
}

impl Database {
    pub fn new(model: &Model) -> Self {
        let Model { storage, warehouses, seed, .. } = model;
        Self {
            weights: model.weights(),
            luck: Luck::new(*seed, storage.noise, storage.restore_noise),
            cores: Station::new(storage.cores),
            device: Station::new(storage.read_channels),
            log: Log::default(),
            ledger: Ledger::new(*warehouses),
            checkpoints: Checkpoints::default(),
            active: 0,
            asked: 0,
            done: 0,
            storage: storage.clone(),
        }
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Every transaction under way is given up by its client, with nothing written.
    pub fn abandon(&mut self) {
        self.active = 0;
        self.cores.abandon();
        self.device.abandon();
        self.log.abandon();
    }

    /// What was seen of the server's end, once it has ended.
    pub fn dead(&self, now_ns: u64) -> Option<String> {
        let Storage { dies_after_s, .. } = self.storage;
        let dead = dies_after_s > 0.0 && now_ns as f64 >= dies_after_s * SECOND_NS as f64;
        dead.then(|| format!("the simulated server ended at {dies_after_s} s, as its model says"))
    }

    /// A checkpoint now: `timed`, or because someone asked.
    pub fn checkpoint(&mut self, now_ns: u64, timed: bool) {
        self.checkpoints.timed += u64::from(timed);
        self.checkpoints.requested += u64::from(!timed);
        self.checkpoints.pages_before += self.checkpoints.pages;
        self.checkpoints.pages = self.ledger.checkpoint();
        self.checkpoints.begun_ns = now_ns;
    }

    /// The checkpoint that is due since the last transaction, if any.
    fn checkpoint_when_due(&mut self, now_ns: u64) {
        let every_ns = (self.storage.checkpoint_every_s * SECOND_NS as f64) as u64;
        let since_ns = now_ns - self.checkpoints.begun_ns;
        if every_ns > 0 && since_ns >= every_ns {
            self.checkpoint(now_ns - since_ns % every_ns, true);
        }
    }

    /// Buffer misses of a transaction of mean weight, by how warm the cache is.
    fn misses(&self) -> f64 {
        let warmth = self.done as f64 / self.storage.warm_after.max(1) as f64;
        self.storage.reads_per_transaction + self.storage.cold_reads_per_transaction * (-warmth).exp()
    }

    fn begin(&mut self, transaction: &Transaction, now_ns: u64) -> Result<Journey, Outcome> {
        if let Some(message) = self.dead(now_ns) {
            return Err(Outcome::Lost { message });
        }
        self.asked += 1;
        self.checkpoint_when_due(now_ns);
        let full = self.storage.full_after_users;
        if full > 0 && self.active >= full {
            self.ledger.refuse();
            return Err(Outcome::Failed {
                code: FULL.into(),
                message: format!("the simulated server is full: {full} transactions are running"),
            });
        }
        self.active += 1;
        Ok(self.journey(transaction))
    }

    fn journey(&mut self, transaction: &Transaction) -> Journey {
        let weight = self.weights[transaction.kind() as usize];
        let misses = self.luck.rounded(weight * self.misses());
        let crowd = self.active.saturating_sub(self.storage.cores) as f64;
        let cpu_ns = weight * self.storage.cpu_per_transaction_s * SECOND_NS as f64 * (1.0 + self.storage.contention * crowd);
        let rolls_back = matches!(transaction, Transaction::NewOrder(order) if order.rolls_back());
        let fate = match rolls_back {
            _ if self.luck.chance(self.storage.deadlocks) => Fate::Deadlock,
            true => Fate::RollBack,
            false => Fate::Commit,
        };
        Journey { misses, slice_ns: cpu_ns / f64::from(misses + 1), fate }
    }

    fn end(&mut self, transaction: &Transaction, journey: &Journey, now_ns: u64) -> Outcome {
        self.active -= 1;
        if let Some(message) = self.dead(now_ns) {
            return Outcome::Lost { message };
        }
        self.done += 1;
        match journey.fate {
            Fate::Commit => self.ledger.commit(transaction),
            Fate::RollBack | Fate::Deadlock => self.ledger.roll_back(transaction),
        }
        match journey.fate {
            Fate::Commit => Outcome::Committed,
            Fate::RollBack => Outcome::RolledBack,
            Fate::Deadlock => Outcome::Retry { code: DEADLOCK.into() },
        }
    }
}

/// One user's session.
#[derive(Clone)]
pub struct SimulatedSession {
    database: Rc<RefCell<Database>>,
    timeline: Rc<Timeline>,
}

impl SimulatedSession {
    pub fn new(database: Rc<RefCell<Database>>, timeline: Rc<Timeline>) -> Self {
        Self { database, timeline }
    }

    async fn compute(&self, slice_ns: f64) {
        let arrived_ns = self.timeline.now_ns();
        let end_ns = {
            let Database { luck, cores, .. } = &mut *self.database.borrow_mut();
            let mood = luck.mood(arrived_ns).cores;
            cores.enter(arrived_ns, luck.exponential_ns(slice_ns * mood))
        };
        self.timeline.sleep_until(end_ns).await;
        self.database.borrow_mut().cores.leave(arrived_ns, end_ns);
    }

    async fn read(&self) {
        let arrived_ns = self.timeline.now_ns();
        let end_ns = {
            let Database { luck, device, storage, .. } = &mut *self.database.borrow_mut();
            let mood = luck.mood(arrived_ns).device;
            device.enter(arrived_ns, luck.exponential_ns(storage.read_latency_s * SECOND_NS as f64 * mood))
        };
        self.timeline.sleep_until(end_ns).await;
        self.database.borrow_mut().device.leave(arrived_ns, end_ns);
    }

    /// Wait for the flush that holds this commit. It may grow while it has not begun: look again at its first end.
    async fn flush(&self) {
        let seat = self.join_flush(self.timeline.now_ns());
        let mut end_ns = seat.end_ns;
        while self.timeline.now_ns() < end_ns {
            self.timeline.sleep_until(end_ns).await;
            end_ns = self.database.borrow().log.end_of(seat);
        }
        self.database.borrow_mut().log.leave();
    }

    fn join_flush(&self, now_ns: u64) -> log::Seat {
        let Database { luck, log, storage, .. } = &mut *self.database.borrow_mut();
        let mood = luck.mood(now_ns).log * SECOND_NS as f64;
        log.join(now_ns, (storage.log_time_per_commit_s * mood) as u64, || luck.flush_ns(storage.log_latency_s * mood))
    }
}

impl Session for SimulatedSession {
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        let began = self.database.borrow_mut().begin(transaction, self.timeline.now_ns());
        let journey = match began {
            Ok(journey) => journey,
            Err(refusal) => {
                self.compute(REFUSAL_NS).await;
                return refusal;
            }
        };
        for _ in 0..journey.misses {
            self.compute(journey.slice_ns).await;
            self.read().await;
        }
        self.compute(journey.slice_ns).await;
        if journey.fate == Fate::Commit && writes(transaction.kind()) {
            self.flush().await;
        }
        self.database.borrow_mut().end(transaction, &journey, self.timeline.now_ns())
    }
}

/// Order-Status and Stock-Level only read: nothing to flush.
fn writes(kind: Kind) -> bool {
    matches!(kind, Kind::NewOrder | Kind::Payment | Kind::Delivery)
}
