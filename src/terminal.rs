//! One virtual user: draw, wait for the start, execute, record, think; until work is over.
//!
//! It knows neither SQL nor the machine's clock: on a simulated clock and server it is the same terminal.

use std::rc::Rc;

use crate::clock::Clock;
use crate::inputs::{Transaction, User};
use crate::session::{Outcome, Session};
use crate::shift::{Seat, Shift};
use crate::tally::Call;

/// Work until the shift is closed or the connection is lost.
pub async fn terminal<C: Clock, S: Session>(mut user: User, mut session: S, clock: C, shift: Rc<Shift>) {
    let seat = shift.enter();
    loop {
        let transaction = user.draw();
        let kind = transaction.kind();
        let Some(intended_ns) = seat.start(&clock, kind).await else { break };
        let started_ns = clock.now_ns();
        seat.started(kind);
        let outcome = execute(&mut session, &transaction, &seat).await;
        seat.ended(&Call { kind, intended_ns, started_ns, ended_ns: clock.now_ns() }, &outcome);
        if matches!(outcome, Outcome::Lost { .. }) {
            break;
        }
        seat.think(&clock, kind, &mut user).await;
    }
}

/// Execute it, and the same again as long as the database asks for another try and there are tries left.
async fn execute<S: Session>(session: &mut S, transaction: &Transaction, seat: &Seat) -> Outcome {
    let mut outcome = session.execute(transaction).await;
    for _ in 0..seat.retries() {
        let Outcome::Retry { code } = &outcome else { break };
        seat.retried(transaction.kind(), code);
        outcome = session.execute(transaction).await;
    }
    outcome
}

#[cfg(test)]
mod tests;
