//! A database and its drives as a discrete-event model: cores, buffer misses on a data device, a
//! log with group commit.
//!
//! A transaction computes, misses a block, computes again, and so on; a writing transaction then
//! waits for its log flush:
//!
//! ```text
//!   execute -> cores (k, one queue) <-> data device (c channels, one queue) -> log (group commit)
//!   -> response
//! ```
//!
//! Service times are exponential, from a seeded stream; their means vary a little from second to
//! second (`noise`) and from restore to restore (`restore_noise`). The cache is cold after a
//! restore and warms with the transactions done.
//!
//! With `row_locks`, New-Orders and payments also hold their rows until their flush ends
//! (locks.rs).

pub mod connection;
pub mod ledger;
mod locks;
pub mod log;
pub mod model;
pub mod readings;
pub mod station;

use std::rc::Rc;

use crate::inputs::Transaction;
use crate::session::{Error, ErrorClass, Outcome};
use ledger::Ledger;
use locks::RowLocks;
use log::Log;
use model::{Model, Rng, SECOND_NS, Storage};
use station::QueueingStation;

/// Code of a transaction that was refused because the server is full (SQLSTATE
/// too_many_connections).
const FULL: &str = "53300";
const DEADLOCK: &str = "40P01";

/// The state of the database, shared by all its sessions; it outlives load generators.
pub struct Database {
    storage: Storage,
    weights: [f64; 5],
    rng: Rng,
    cores: QueueingStation,
    device: QueueingStation,
    log: Log,
    /// None: transactions hold no rows.
    locks: Option<Rc<RowLocks>>,
    ledger: Ledger,
    checkpoints: Checkpoints,
    active: usize,
    received: u64,
    done: u64,
}

/// Timed checkpoints, and the pages that each one writes until the next.
#[derive(Default)]
struct Checkpoints {
    timed: u64,
    requested: u64,
    begun_ns: u64,
    pages: f64,
    pages_before: f64,
}

/// Resource demand of one transaction, drawn at its start.
struct TransactionPlan {
    misses: u32,
    slice_ns: f64,
    outcome: PlannedOutcome,
}

#[derive(Clone, Copy, PartialEq)]
enum PlannedOutcome {
    Commit,
    RollBack,
    Deadlock,
}

impl Database {
    pub fn new(model: &Model) -> Self {
        let Model { storage, warehouses, seed, .. } = model;
        Self {
            weights: model.weights(),
            rng: Rng::new(*seed, storage.noise, storage.restore_noise),
            cores: QueueingStation::new(storage.cores),
            device: QueueingStation::new(storage.read_channels),
            log: Log::default(),
            locks: storage.row_locks.then(|| Rc::new(RowLocks::new(*warehouses))),
            ledger: Ledger::new(*warehouses),
            checkpoints: Checkpoints::default(),
            active: 0,
            received: 0,
            done: 0,
            storage: storage.clone(),
        }
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The client aborts every running transaction; nothing is written.
    pub fn abandon(&mut self) {
        self.active = 0;
        self.cores.abandon();
        self.device.abandon();
        self.log.abandon();
    }

    /// A core works so long for something that nobody waits for.
    fn occupy_core(&mut self, now_ns: u64, beside_s: f64) {
        if beside_s > 0.0 {
            let factor = self.rng.factors(now_ns).cores * SECOND_NS as f64;
            self.cores.occupy(now_ns, self.rng.exponential_ns(beside_s * factor));
        }
    }

    /// The data device writes pages that a transaction changed; nobody waits for that.
    fn write_pages(&mut self, weight: f64, now_ns: u64) {
        let pages = self.rng.rounded(weight * self.storage.writes_per_transaction);
        for _ in 0..pages {
            let factor = self.rng.factors(now_ns).device * SECOND_NS as f64;
            let write_ns = self.rng.exponential_ns(self.storage.write_latency_s * factor);
            self.device.occupy(now_ns, write_ns);
        }
    }

    /// The reason of the server's end, once it has ended.
    pub fn dead(&self, now_ns: u64) -> Option<String> {
        let Storage { dies_after_s, .. } = self.storage;
        let dead = dies_after_s > 0.0 && now_ns as f64 >= dies_after_s * SECOND_NS as f64;
        dead.then(|| format!("the simulated server ended at {dies_after_s} s, as its model says"))
    }

    /// Run a checkpoint now: `timed`, or requested.
    pub fn checkpoint(&mut self, now_ns: u64, timed: bool) {
        self.checkpoints.timed += u64::from(timed);
        self.checkpoints.requested += u64::from(!timed);
        self.checkpoints.pages_before += self.checkpoints.pages;
        self.checkpoints.pages = self.ledger.checkpoint();
        self.checkpoints.begun_ns = now_ns;
    }

    /// Run the checkpoint that has become due since the last transaction, if any.
    fn checkpoint_when_due(&mut self, now_ns: u64) {
        let every_ns = (self.storage.checkpoint_every_s * SECOND_NS as f64) as u64;
        let since_ns = now_ns - self.checkpoints.begun_ns;
        if every_ns > 0 && since_ns >= every_ns {
            self.checkpoint(now_ns - since_ns % every_ns, true);
        }
    }

    /// Buffer misses of a transaction of mean weight, by the warmth of the cache.
    fn misses(&self) -> f64 {
        let warmth = self.done as f64 / self.storage.warm_after.max(1) as f64;
        self.storage.reads_per_transaction
            + self.storage.cold_reads_per_transaction * (-warmth).exp()
    }

    fn begin(
        &mut self,
        transaction: &Transaction,
        now_ns: u64,
    ) -> Result<TransactionPlan, Outcome> {
        if let Some(message) = self.dead(now_ns) {
            return Err(Outcome::Failed(Error::lost(message)));
        }
        self.received += 1;
        self.checkpoint_when_due(now_ns);
        let full = self.storage.full_after_users;
        if full > 0 && self.active >= full {
            self.ledger.refuse();
            let message = format!("the simulated server is full: {full} transactions are running");
            return Err(Outcome::Failed(Error {
                class: ErrorClass::Full,
                code: FULL.into(),
                message,
            }));
        }
        self.active += 1;
        Ok(self.plan(transaction))
    }

    fn plan(&mut self, transaction: &Transaction) -> TransactionPlan {
        let weight = self.weights[transaction.kind() as usize];
        let misses = self.rng.rounded(weight * self.misses());
        let crowd = self.active.saturating_sub(self.storage.cores) as f64;
        let cpu_ns = weight
            * self.storage.cpu_per_transaction_s
            * SECOND_NS as f64
            * (1.0 + self.storage.contention * crowd);
        let rolls_back = matches!(transaction, Transaction::NewOrder(order) if order.rolls_back());
        let outcome = match rolls_back {
            _ if self.rng.chance(self.storage.deadlocks) => PlannedOutcome::Deadlock,
            true => PlannedOutcome::RollBack,
            false => PlannedOutcome::Commit,
        };
        TransactionPlan { misses, slice_ns: cpu_ns / f64::from(misses + 1), outcome }
    }

    fn end(&mut self, transaction: &Transaction, plan: &TransactionPlan, now_ns: u64) -> Outcome {
        self.active -= 1;
        if let Some(message) = self.dead(now_ns) {
            return Outcome::Failed(Error::lost(message));
        }
        self.done += 1;
        self.write_pages(self.weights[transaction.kind() as usize], now_ns);
        match plan.outcome {
            PlannedOutcome::Commit => self.ledger.commit(transaction),
            PlannedOutcome::RollBack | PlannedOutcome::Deadlock => {
                self.ledger.roll_back(transaction)
            }
        }
        match plan.outcome {
            PlannedOutcome::Commit => Outcome::Committed,
            PlannedOutcome::RollBack => {
                Outcome::Failed(Error::new(ErrorClass::RolledBack, "no such item"))
            }
            PlannedOutcome::Deadlock => Outcome::Failed(Error {
                class: ErrorClass::Retry,
                code: DEADLOCK.into(),
                message: "simulated deadlock".into(),
            }),
        }
    }
}

#[cfg(test)]
mod contract_tests;
