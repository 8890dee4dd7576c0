//! The ledger of a load: the New-Orders that the database acknowledged, and those that it did not
//! answer. After a crash it says what the database must still have.
//!
//! An order is recognized by its inputs. Its number is the database's own choice, and reading it
//! from every response would cost more than one store of an entry.

use crate::inputs::{NewOrder, Transaction};
use crate::session::{ErrorClass, Outcome};

/// Warehouse, district, customer, number of lines, sum of the items, sum of the quantities.
pub type Entry = [i32; 6];

/// An order that was acknowledged, and when its response was read, in nanoseconds since go.
pub type Acknowledged = (Entry, u64);

/// Orders of one worker, or of many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub acknowledged: Vec<Acknowledged>,
    /// Sent, without an answer: the database may have committed them.
    pub unknown: Vec<Entry>,
}

impl Ledger {
    /// Enter an order as the database answered it, by `read_ns`; an order that it refused is none.
    pub fn enter(&mut self, order: Entry, outcome: &Outcome, read_ns: u64) {
        match outcome.class() {
            None => self.acknowledged.push((order, read_ns)),
            Some(ErrorClass::Lost) => self.unknown.push(order),
            Some(_) => {}
        }
    }

    pub fn merge(&mut self, other: &Ledger) {
        self.acknowledged.extend_from_slice(&other.acknowledged);
        self.unknown.extend_from_slice(&other.unknown);
    }
}

/// The entry of a transaction; None for other than New-Orders.
pub fn entry(transaction: &Transaction) -> Option<Entry> {
    let Transaction::NewOrder(order) = transaction else { return None };
    let NewOrder { warehouse, district, customer, .. } = *order;
    let items = order.items();
    let (sum, quantities) = (items.iter().sum(), order.quantities().iter().sum());
    Some([warehouse, district, customer, items.len() as i32, sum, quantities])
}
