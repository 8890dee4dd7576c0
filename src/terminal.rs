//! One terminal: draw a transaction, wait for the start, execute, record, think; until the end of
//! the load.
//!
//! It uses neither SQL nor the machine's clock: the same code runs on a simulated clock and server.

use std::future::Future;
use std::rc::Rc;

use crate::clock::Clock;
use crate::input_generator::InputGenerator;
use crate::inputs::Transaction;
use crate::pool::{ConnectionSource, Pool};
use crate::session::{ErrorClass, Outcome, Session};
use crate::tally::{Call, Start};
use crate::worker_state::{TerminalHandle, WorkerState};

/// Run until the state is closed or the connection is lost.
///
/// A block, because an async fn would store its arguments twice, and with thousands of users each
/// step reads them from memory again.
#[expect(clippy::manual_async_fn, reason = "an async fn stores its arguments twice")]
pub fn terminal<C: Clock, S: Session>(
    mut inputs: InputGenerator,
    mut source: ConnectionSource<S>,
    clock: C,
    state: Rc<WorkerState>,
) -> impl Future<Output = ()> {
    async move {
        let handle = state.register_terminal();
        loop {
            let transaction = inputs.draw();
            let kind = transaction.kind();
            let Some(start) = handle.start(&clock, kind).await else { break };
            let connected = match &mut source {
                ConnectionSource::Own(session) => {
                    run(session, &transaction, start, &clock, &handle).await
                }
                ConnectionSource::Shared(pool) => {
                    run_shared(pool, &transaction, start, &clock, &handle).await
                }
            };
            if !connected {
                break;
            }
            handle.think(&clock, kind, &mut inputs).await;
        }
    }
}

/// Execute a transaction and record it; false if the connection was lost.
async fn run<C: Clock, S: Session>(
    session: &mut S,
    transaction: &Transaction,
    start: Start,
    clock: &C,
    handle: &TerminalHandle,
) -> bool {
    let (kind, started_ns) = (transaction.kind(), clock.now_ns());
    handle.started(transaction, started_ns);
    let outcome = execute(session, transaction, handle).await;
    let read_ns = clock.now_ns();
    let delay = session.delay().and_then(|delay| delay.within(read_ns - started_ns));
    let ended_ns = read_ns - delay.map_or(0, |delay| delay.ns);
    handle.ended(&Call { kind, start, started_ns, ended_ns, delay }, &outcome);
    outcome.class() != Some(ErrorClass::Lost)
}

/// The same on the next free connection; false also if no connection is alive or the load has
/// ended. The wait counts as queueing.
async fn run_shared<C: Clock, S: Session>(
    pool: &Pool<S>,
    transaction: &Transaction,
    start: Start,
    clock: &C,
    handle: &TerminalHandle,
) -> bool {
    let arrival = handle.pending(start.intended_ns);
    let Some(mut session) = pool.acquire().await else {
        handle.connection_lost();
        return false;
    };
    let in_time = arrival.granted(clock.now_ns());
    let connected = !in_time || run(&mut session, transaction, start, clock, handle).await;
    if connected {
        pool.release(session);
    } else if pool.discard() {
        handle.all_connections_lost();
    }
    in_time && connected
}

/// Execute a transaction; repeat it while the database requests a retry and the plan allows one.
async fn execute<S: Session>(
    session: &mut S,
    transaction: &Transaction,
    handle: &TerminalHandle,
) -> Outcome {
    let mut tries = 0;
    loop {
        match session.execute(transaction).await {
            Outcome::Failed(error)
                if error.class == ErrorClass::Retry && tries < handle.retries() =>
            {
                handle.retried(transaction.kind(), &error.code);
            }
            outcome => return outcome,
        }
        tries += 1;
    }
}

#[cfg(test)]
mod tests;
