//! One virtual user: draw, wait for the start, execute, record, think; until work is over.
//!
//! It knows neither SQL nor the machine's clock: on a simulated clock and server it is the same terminal.

use std::future::Future;
use std::rc::Rc;

use crate::clock::Clock;
use crate::inputs::{Transaction, User};
use crate::pool::{Pool, Way};
use crate::session::{Outcome, Session};
use crate::shift::{Seat, Shift};
use crate::tally::Call;

/// Work until the shift is closed or the connection is lost.
///
/// A block, because an async fn would keep its arguments twice, and of thousands of users each step reads them anew from memory.
#[expect(clippy::manual_async_fn, reason = "an async fn keeps its arguments twice")]
pub fn terminal<C: Clock, S: Session>(mut user: User, mut way: Way<S>, clock: C, shift: Rc<Shift>) -> impl Future<Output = ()> {
    async move {
        let seat = shift.enter();
        loop {
            let transaction = user.draw();
            let kind = transaction.kind();
            let Some(intended_ns) = seat.start(&clock, kind).await else { break };
            let goes_on = match &mut way {
                Way::Own(session) => run(session, &transaction, intended_ns, &clock, &seat).await,
                Way::Shared(pool) => run_shared(pool, &transaction, intended_ns, &clock, &seat).await,
            };
            if !goes_on {
                break;
            }
            seat.think(&clock, kind, &mut user).await;
        }
    }
}

/// Run it and record it; false when the connection was lost.
async fn run<C: Clock, S: Session>(session: &mut S, transaction: &Transaction, intended_ns: u64, clock: &C, seat: &Seat) -> bool {
    let (kind, started_ns) = (transaction.kind(), clock.now_ns());
    seat.started(kind);
    let outcome = execute(session, transaction, seat).await;
    seat.ended(&Call { kind, intended_ns, started_ns, ended_ns: clock.now_ns() }, &outcome);
    !matches!(outcome, Outcome::Lost { .. })
}

/// The same on the next connection that is free; false also when there will be none, or no time for it. The wait is the queue's.
async fn run_shared<C: Clock, S: Session>(pool: &Pool<S>, transaction: &Transaction, intended_ns: u64, clock: &C, seat: &Seat) -> bool {
    let wanted = seat.wants(intended_ns);
    let Some(mut session) = pool.take().await else {
        seat.stranded();
        return false;
    };
    let in_time = wanted.granted(clock.now_ns());
    let kept = !in_time || run(&mut session, transaction, intended_ns, clock, seat).await;
    if kept {
        pool.give_back(session);
    } else if pool.lose() {
        seat.desert();
    }
    in_time && kept
}

/// Execute it, and the same again as long as the database asks for another try and there are tries left.
async fn execute<S: Session>(session: &mut S, transaction: &Transaction, seat: &Seat) -> Outcome {
    let mut tries = 0;
    loop {
        match session.execute(transaction).await {
            Outcome::Retry { code } if tries < seat.retries() => seat.retried(transaction.kind(), &code),
            outcome => return outcome,
        }
        tries += 1;
    }
}

#[cfg(test)]
mod tests;
