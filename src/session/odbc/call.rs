//! The five calls, and their parameters: numbers, a last name, and an order's lines as one text.

use std::io::Write;

#[cfg(any(test, feature = "python"))]
use kneebench::inputs::Kind;
use kneebench::inputs::{MOST_LINES, NewOrder, Payment, Transaction};
use kneebench::session::Error;
use odbc_api::handles::{StatementImpl, StatementRef};
use odbc_api::parameter::VarCharArray;
use odbc_api::{Cursor, CursorImpl, Prepared};

use crate::connection::{Link, Target};

/// An order's line: 6 digits for its item, 6 for the warehouse that supplies it, 2 for the
/// quantity. Every SQL can take that apart.
const LINE_BYTES: usize = 14;
/// Texts are bound with the width of their columns, whatever is in them: a driver may refuse a
/// width of 0, and a server may plan anew for each.
type LastName = VarCharArray<17>;
type Lines = VarCharArray<{ MOST_LINES * LINE_BYTES + 1 }>;

type Executed<'a> = Result<Option<CursorImpl<StatementRef<'a>>>, odbc_api::Error>;

/// The statements of the five transactions, prepared, in the order of [`Kind::ALL`].
pub struct Calls<'c>(Vec<Prepared<StatementImpl<'c>>>);

impl<'c> Calls<'c> {
    pub fn prepared(link: &'c Link, target: &Target) -> Result<Self, Error> {
        let prepare = |sql: &String| {
            let failed =
                |error| target.classes.error(&error).during(format_args!("preparing {sql:?}"));
            link.prepare(sql).map_err(failed)
        };
        target.calls.iter().map(prepare).collect::<Result<_, _>>().map(Self)
    }

    /// One transaction; its rows are discarded.
    pub fn run(&mut self, transaction: &Transaction) -> Result<(), odbc_api::Error> {
        let statement = &mut self.0[transaction.kind() as usize];
        match transaction {
            Transaction::NewOrder(order) => new_order(statement, order),
            Transaction::Payment(payment) => run_payment(statement, payment),
            Transaction::OrderStatus { warehouse, district, customer } => {
                let (id, name) = customer.id_and_name();
                let name = LastName::new(name.as_bytes());
                finish(statement.execute((warehouse, district, &id, &name)))
            }
            Transaction::Delivery { warehouse, carrier } => {
                finish(statement.execute((warehouse, carrier)))
            }
            Transaction::StockLevel { warehouse, district, threshold } => {
                finish(statement.execute((warehouse, district, threshold)))
            }
        }
    }
}

fn new_order(
    statement: &mut Prepared<StatementImpl<'_>>,
    order: &NewOrder,
) -> Result<(), odbc_api::Error> {
    let (count, remote) = (order.items().len() as i32, order.remote_lines() as i32);
    let lines = Lines::new(&order_lines(order));
    let NewOrder { warehouse, district, customer, .. } = order;
    finish(statement.execute((warehouse, district, customer, &count, &remote, &lines)))
}

fn run_payment(
    statement: &mut Prepared<StatementImpl<'_>>,
    payment: &Payment,
) -> Result<(), odbc_api::Error> {
    let Payment {
        warehouse: w, district: d, customer_warehouse: c_w, customer_district: c_d, ..
    } = payment;
    let (id, name) = payment.customer.id_and_name();
    let name = LastName::new(name.as_bytes());
    finish(statement.execute((w, d, c_w, c_d, &id, &name, &payment.amount_cents)))
}

/// Go through all results: an error may come after the first.
fn finish(executed: Executed<'_>) -> Result<(), odbc_api::Error> {
    let mut results = executed?;
    while let Some(one) = results {
        results = one.more_results()?;
    }
    Ok(())
}

/// The lines, by supplier and item.
fn order_lines(order: &NewOrder) -> Vec<u8> {
    let mut text = Vec::with_capacity(MOST_LINES * LINE_BYTES);
    for (item, supplier, quantity) in order.lines_by_stock() {
        let _ = write!(text, "{item:06}{supplier:06}{quantity:02}");
    }
    text
}

/// Names of the calls, for a dialect that does not say others.
#[cfg(any(test, feature = "python"))]
pub fn standard(kind: Kind) -> String {
    let parameters = [6, 7, 4, 2, 3][kind as usize];
    format!("{{CALL kneebench_{}({})}}", kind.name(), vec!["?"; parameters].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_as_many_parameters_as_its_transaction() {
        assert_eq!(standard(Kind::Delivery), "{CALL kneebench_delivery(?, ?)}");
        assert_eq!(standard(Kind::NewOrder), "{CALL kneebench_new_order(?, ?, ?, ?, ?, ?)}");
    }
}
