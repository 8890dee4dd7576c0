//! The session contract over the simulated server.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::Database;
use super::connection::SimulatedConnector;
use super::model::tests::model;
use super::model::{SECOND_NS, Storage};
use crate::executor::Executor;
use crate::inputs::Transaction;
use crate::session::{Connector, ErrorClass, Session, contract};

/// Run a clause to its end, with a New-Order, on a simulated server with these changes.
fn run(
    change: impl FnOnce(&mut Storage),
    clause: impl AsyncFnOnce(SimulatedConnector, Transaction) + 'static,
) {
    let (mut executor, mut model, ended) =
        (Executor::default(), model(), Rc::new(Cell::new(false)));
    change(&mut model.storage);
    let connector =
        SimulatedConnector::new(Rc::new(RefCell::new(Database::new(&model))), executor.timeline());
    let end = Rc::clone(&ended);
    executor.spawn(async move {
        let [order, ..] = contract::five_transactions();
        clause(connector, order).await;
        end.set(true);
    });
    assert!(executor.finish(100 * SECOND_NS) && ended.get(), "the clause did not end");
}

#[test]
fn the_simulated_session_commits_the_five_transactions() {
    run(|_| (), async |connector, _| contract::the_five_transactions_commit(&connector).await);
}

#[test]
fn the_simulated_session_rolls_back_a_missing_item_by_design() {
    run(
        |_| (),
        async |connector, _| contract::a_missing_item_is_a_rollback_by_design(&connector).await,
    );
}

#[test]
fn a_simulated_deadlock_is_worth_a_retry_and_the_session_continues() {
    run(
        |storage| storage.deadlocks = 1.0,
        async |connector, order| {
            contract::has_code_and_message(
                &contract::fails_and_continues(&connector, &order, ErrorClass::Retry).await,
            );
        },
    );
}

#[test]
fn a_full_simulated_server_reports_it_and_the_session_continues() {
    run(
        |storage| storage.full_after_users = 1,
        async |connector, order| {
            let (mut one, mut other) =
                (connector.open().await.unwrap(), connector.open().await.unwrap());
            let (first, second) = tokio::join!(one.execute(&order), other.execute(&order));
            assert_eq!((first.class(), second.class()), (None, Some(ErrorClass::Full)));
            contract::has_code_and_message(&second);
            assert_eq!(other.execute(&order).await.class(), None);
        },
    );
}

#[test]
fn a_simulated_server_that_ends_loses_its_sessions_and_opens_no_more() {
    run(
        |storage| storage.dies_after_s = 1e-6,
        async |connector, order| {
            let mut session = connector.open().await.unwrap();
            contract::stays_lost(&mut session, &order).await;
            contract::opens_nothing(&connector, ErrorClass::Lost).await;
        },
    );
}
