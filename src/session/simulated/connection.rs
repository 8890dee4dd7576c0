//! The connector and the sessions of a simulated database: a transaction from station to station.

use std::cell::RefCell;
use std::rc::Rc;

use super::locks::{Held, RowLocks};
use super::model::SECOND_NS;
use super::{Database, PlannedOutcome, TransactionPlan};
use crate::executor::Timeline;
use crate::inputs::{Kind, Transaction};
use crate::session::{Connector, Error, Outcome, Session};

/// CPU time of a refusal, so that a client that retries at once cannot stop the clock.
const REFUSAL_NS: f64 = 100_000.0;
/// Share of a payment's last slice before it locks its district and its warehouse, which the
/// procedures of all engines change last.
const UNTIL_LOCKED: f64 = 2.0 / 3.0;

/// Opens sessions of a simulated database.
#[derive(Clone)]
pub struct SimulatedConnector {
    database: Rc<RefCell<Database>>,
    timeline: Rc<Timeline>,
}

impl SimulatedConnector {
    pub fn new(database: Rc<RefCell<Database>>, timeline: Rc<Timeline>) -> Self {
        Self { database, timeline }
    }

    /// Fails if the server has ended.
    pub fn reach(&self) -> Result<(), Error> {
        self.database
            .borrow()
            .dead(self.timeline.now_ns())
            .map_or(Ok(()), |message| Err(Error::lost(message)))
    }

    /// A session; no time passes.
    pub fn session(&self) -> SimulatedSession {
        SimulatedSession { database: self.database.clone(), timeline: self.timeline.clone() }
    }
}

impl Connector for SimulatedConnector {
    type Session = SimulatedSession;

    async fn open(&self) -> Result<SimulatedSession, Error> {
        self.reach()?;
        Ok(self.session())
    }
}

/// One user's session.
#[derive(Clone)]
pub struct SimulatedSession {
    database: Rc<RefCell<Database>>,
    timeline: Rc<Timeline>,
}

impl SimulatedSession {
    async fn compute(&self, slice_ns: f64) {
        let arrived_ns = self.timeline.now_ns();
        let end_ns = {
            let Database { rng, cores, storage, .. } = &mut *self.database.borrow_mut();
            let factor = rng.factors(arrived_ns).cores;
            let service_ns = rng.exponential_ns(slice_ns * factor);
            if rng.chance(storage.affinity) {
                cores.enter_at(rng.below(cores.servers()), arrived_ns, service_ns)
            } else {
                cores.enter(arrived_ns, service_ns)
            }
        };
        self.timeline.sleep_until(end_ns).await;
        self.database.borrow_mut().cores.leave(arrived_ns, end_ns);
    }

    /// CPU time that the model may be without: then nothing is drawn.
    async fn compute_if_any(&self, cpu_s: f64) {
        if cpu_s > 0.0 {
            self.compute(cpu_s * SECOND_NS as f64).await;
        }
    }

    /// The last slice of computing; a payment locks its rows on the way.
    async fn last_slice(
        &self,
        plan: &TransactionPlan,
        locks: Option<&RowLocks>,
        transaction: &Transaction,
    ) -> Option<[Held; 2]> {
        let (Some(locks), Transaction::Payment(payment)) = (locks, transaction) else {
            self.compute(plan.slice_ns).await;
            return None;
        };
        self.compute(plan.slice_ns * UNTIL_LOCKED).await;
        let district = locks.district(payment.warehouse, payment.district).held().await;
        let warehouse = locks.warehouse(payment.warehouse).held().await;
        self.compute(plan.slice_ns * (1.0 - UNTIL_LOCKED)).await;
        Some([district, warehouse])
    }

    async fn read(&self) {
        let arrived_ns = self.timeline.now_ns();
        let end_ns = {
            let Database { rng, device, storage, .. } = &mut *self.database.borrow_mut();
            let factor = rng.factors(arrived_ns).device;
            device.enter(
                arrived_ns,
                rng.exponential_ns(storage.read_latency_s * SECOND_NS as f64 * factor),
            )
        };
        self.timeline.sleep_until(end_ns).await;
        let mut database = self.database.borrow_mut();
        database.device.leave(arrived_ns, end_ns);
        let beside_s = database.storage.cpu_beside_read_s;
        database.occupy_core(end_ns, beside_s);
    }

    /// Flush the log, or wait for the flush that contains this commit.
    async fn flush(&self) {
        let (commit, turn) = self.database.borrow_mut().log.arrive();
        // the log is never closed
        let turn = turn.acquire_owned().await.expect("turns stay open");
        let flush = self.database.borrow().log.begin(commit, self.timeline.now_ns());
        if let Some(flush) = &flush {
            self.write_log(flush.commits).await;
            let now_ns = self.timeline.now_ns();
            let mut database = self.database.borrow_mut();
            database.log.end(flush, now_ns);
            let beside_s = database.storage.cpu_beside_flush_s;
            database.occupy_core(now_ns, beside_s);
        }
        drop(turn);
        self.database.borrow_mut().log.leave();
        if flush.is_some() {
            let cpu_s = self.database.borrow().storage.cpu_after_flush_s;
            self.compute_if_any(cpu_s).await;
        }
    }

    /// The drive's time for so many commits, then a core's: the flush ends once its process ran.
    async fn write_log(&self, commits: u64) {
        let now_ns = self.timeline.now_ns();
        let (end_ns, cpu_s) = {
            let Database { rng, storage, device, .. } = &mut *self.database.borrow_mut();
            let factor = rng.factors(now_ns).log * SECOND_NS as f64;
            let flush_ns = rng.flush_ns(storage.log_latency_s * factor);
            let commits_ns = commits as f64 * storage.log_time_per_commit_s * factor;
            let drive_ns = flush_ns + commits_ns as u64;
            let end_ns = if storage.log_on_data_drive {
                device.occupy(now_ns, drive_ns)
            } else {
                now_ns + drive_ns
            };
            (end_ns, storage.cpu_per_flush_s)
        };
        self.timeline.sleep_until(end_ns).await;
        self.compute_if_any(cpu_s).await;
    }
}

impl Session for SimulatedSession {
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        let began = self.database.borrow_mut().begin(transaction, self.timeline.now_ns());
        let plan = match began {
            Ok(plan) => plan,
            Err(refusal) => {
                self.compute(REFUSAL_NS).await;
                return refusal;
            }
        };
        let locks = self.database.borrow().locks.clone();
        let _district = first_row(locks.as_deref(), transaction).await;
        for _ in 0..plan.misses {
            self.compute(plan.slice_ns).await;
            self.read().await;
        }
        let _rows = self.last_slice(&plan, locks.as_deref(), transaction).await;
        if plan.outcome == PlannedOutcome::Commit && writes(transaction.kind()) {
            self.flush().await;
        }
        self.database.borrow_mut().end(transaction, &plan, self.timeline.now_ns())
    }
}

/// A New-Order locks its district first.
async fn first_row(locks: Option<&RowLocks>, transaction: &Transaction) -> Option<Held> {
    match (locks, transaction) {
        (Some(locks), Transaction::NewOrder(order)) => {
            Some(locks.district(order.warehouse, order.district).held().await)
        }
        _ => None,
    }
}

/// Order-Status and Stock-Level only read: nothing to flush.
fn writes(kind: Kind) -> bool {
    matches!(kind, Kind::NewOrder | Kind::Payment | Kind::Delivery)
}
