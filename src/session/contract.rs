//! The session contract: what every connector and session must do, whatever the protocol. Each
//! protocol runs all clauses that its server can cause.

use super::{Connector, ErrorClass, Outcome, Session};
use crate::inputs::{Customer, ITEMS, NewOrder, Payment, Transaction};

fn order(last_item: i32) -> Transaction {
    let mut order = NewOrder {
        warehouse: 1,
        district: 2,
        customer: 3,
        lines: 5,
        items: [7; 15],
        ..NewOrder::default()
    };
    (order.suppliers, order.quantities, order.items[4]) = ([1; 15], [3; 15], last_item);
    Transaction::NewOrder(order)
}

/// One of each, with inputs that every server accepts.
pub fn five_transactions() -> [Transaction; 5] {
    let customer = Customer::LastName("BARBARBAR");
    [
        order(8),
        Transaction::Payment(Payment {
            warehouse: 1,
            district: 2,
            customer_warehouse: 1,
            customer_district: 2,
            customer: Customer::Id(3),
            amount_cents: 100,
        }),
        Transaction::OrderStatus { warehouse: 1, district: 2, customer },
        Transaction::Delivery { warehouse: 1, carrier: 4 },
        Transaction::StockLevel { warehouse: 1, district: 2, threshold: 15 },
    ]
}

/// A session is ready for the five transactions, and each commits, again and again.
pub async fn the_five_transactions_commit(connector: &impl Connector) {
    let mut session = connector.open().await.unwrap();
    for transaction in five_transactions().iter().chain(&five_transactions()) {
        assert_eq!(session.execute(transaction).await, Outcome::Committed, "{transaction:?}");
    }
}

/// An order for an item that does not exist completes by a rollback.
pub async fn a_missing_item_is_a_rollback_by_design(connector: &impl Connector) {
    let outcome = fails_and_continues(connector, &order(ITEMS + 1), ErrorClass::RolledBack).await;
    assert!(outcome.completed());
}

/// The transaction fails with this class, and the session still executes what comes next.
pub async fn fails_and_continues(
    connector: &impl Connector,
    failing: &Transaction,
    class: ErrorClass,
) -> Outcome {
    let mut session = connector.open().await.unwrap();
    let outcome = session.execute(failing).await;
    assert_eq!(outcome.class(), Some(class), "{outcome:?}");
    for transaction in &five_transactions() {
        assert_ne!(
            session.execute(transaction).await.class(),
            Some(ErrorClass::Lost),
            "after {outcome:?}"
        );
    }
    outcome
}

/// An error of the database has its code, and a message for people.
pub fn has_code_and_message(outcome: &Outcome) {
    let Outcome::Failed(error) = outcome else { panic!("{outcome:?}") };
    assert!(!error.code.is_empty() && !error.message.is_empty(), "{outcome:?}");
}

/// A lost connection is the class `Lost`, at once and for ever.
pub async fn stays_lost(session: &mut impl Session, losing: &Transaction) {
    for transaction in [losing, losing] {
        assert_eq!(session.execute(transaction).await.class(), Some(ErrorClass::Lost));
    }
}

/// No session can be opened, for this class of reason.
pub async fn opens_nothing(connector: &impl Connector, class: ErrorClass) {
    match connector.open().await {
        Err(error) => assert_eq!(error.class, class, "{error}"),
        Ok(_) => panic!("a session was opened"),
    }
}

/// Sessions until the server takes no more, which it refuses with this code; all of them.
pub async fn until_full<C: Connector>(connector: &C, code: &str) -> Vec<C::Session> {
    let mut sessions = Vec::new();
    let full = loop {
        match connector.open().await {
            Ok(session) => sessions.push(session),
            Err(error) => break error,
        }
    };
    assert_eq!(
        (full.class, full.code.as_str(), sessions.len() > 5),
        (ErrorClass::Full, code, true),
        "{full}"
    );
    sessions
}

/// Each session is lost with its server, and no other opens.
pub async fn all_lost<C: Connector>(
    connector: &C,
    sessions: Vec<C::Session>,
    transaction: &Transaction,
) {
    for mut session in sessions {
        let outcome = session.execute(transaction).await;
        assert_eq!(outcome.class(), Some(ErrorClass::Lost), "{outcome:?}");
    }
    opens_nothing(connector, ErrorClass::Lost).await;
}
