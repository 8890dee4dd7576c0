//! Request encoder (MS-TDS 2.2.6): calls of procedures by their names, batches of statements.

use super::packet;
use crate::inputs::{Kind, NewOrder, Payment, Transaction};

/// The procedures, in the order of [`Kind::ALL`].
const PROCEDURES: [&str; 5] = [
    "kneebench.new_order",
    "kneebench.payment",
    "kneebench.order_status",
    "kneebench.delivery",
    "kneebench.stock_level",
];
/// Types of values: an integer of a size of its own, a text.
const INTEGER: u8 = 0x26;
const VARCHAR: u8 = 0xa7;
/// The size of a last name's column.
const LAST_NAME_BYTES: u16 = 16;

/// What every request depends on.
#[derive(Clone, Copy)]
pub struct Frame {
    pub packet_bytes: usize,
    pub transaction: [u8; 8],
    pub collation: [u8; 5],
}

/// Statements.
pub fn batch(out: &mut Vec<u8>, frame: &Frame, sql: &str) {
    packet::message(out, packet::BATCH, frame.packet_bytes, |out| {
        headers(out, frame);
        wide(out, sql);
    });
}

/// The call of a transaction's procedure; parameters are in its order and have no names.
pub fn call(out: &mut Vec<u8>, frame: &Frame, transaction: &Transaction) {
    packet::message(out, packet::RPC, frame.packet_bytes, |out| {
        headers(out, frame);
        procedure(out, transaction.kind());
        parameters(out, frame, transaction);
    });
}

/// ALL_HEADERS: the current transaction, and one request at a time.
fn headers(out: &mut Vec<u8>, frame: &Frame) {
    out.extend_from_slice(&[22, 0, 0, 0, 18, 0, 0, 0, 2, 0]);
    out.extend_from_slice(&frame.transaction);
    out.extend_from_slice(&[1, 0, 0, 0]);
}

/// The name, and no options.
fn procedure(out: &mut Vec<u8>, kind: Kind) {
    let name = PROCEDURES[kind as usize];
    out.extend_from_slice(&(name.len() as u16).to_le_bytes());
    wide(out, name);
    out.extend_from_slice(&[0, 0]);
}

fn parameters(out: &mut Vec<u8>, frame: &Frame, transaction: &Transaction) {
    match transaction {
        Transaction::NewOrder(order) => new_order(out, order),
        Transaction::Payment(Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer,
            amount_cents,
        }) => {
            let (id, name) = customer.id_and_name();
            place(out, *warehouse, *district);
            place(out, *customer_warehouse, *customer_district);
            int(out, id);
            varchar(out, frame, name);
            int(out, *amount_cents);
        }
        Transaction::OrderStatus { warehouse, district, customer } => {
            let (id, name) = customer.id_and_name();
            place(out, *warehouse, *district);
            int(out, id);
            varchar(out, frame, name);
        }
        Transaction::Delivery { warehouse, carrier } => place(out, *warehouse, *carrier),
        Transaction::StockLevel { warehouse, district, threshold } => {
            place(out, *warehouse, *district);
            smallint(out, *threshold);
        }
    }
}

/// The lines that an order does not have are parameters with a default.
fn new_order(out: &mut Vec<u8>, order: &NewOrder) {
    place(out, order.warehouse, order.district);
    int(out, order.customer);
    smallint(out, order.items().len() as i32);
    let lines = order.items().iter().zip(order.suppliers()).zip(order.quantities());
    for ((&item, &supplier), &quantity) in lines {
        int(out, item);
        int(out, supplier);
        smallint(out, quantity);
    }
}

/// A warehouse, and a small number below it.
fn place(out: &mut Vec<u8>, warehouse: i32, below: i32) {
    int(out, warehouse);
    smallint(out, below);
}

fn int(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&[0, 0, INTEGER, 4, 4]);
    out.extend_from_slice(&value.to_le_bytes());
}

fn smallint(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&[0, 0, INTEGER, 2, 2]);
    out.extend_from_slice(&(value as i16).to_le_bytes());
}

fn varchar(out: &mut Vec<u8>, frame: &Frame, value: &str) {
    out.extend_from_slice(&[0, 0, VARCHAR]);
    out.extend_from_slice(&LAST_NAME_BYTES.to_le_bytes());
    out.extend_from_slice(&frame.collation);
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    out.extend_from_slice(value.as_bytes());
}

/// Characters of UTF-16.
pub fn wide(out: &mut Vec<u8>, text: &str) {
    text.encode_utf16().for_each(|unit| out.extend_from_slice(&unit.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Customer;

    const FRAME: Frame =
        Frame { packet_bytes: 4096, transaction: [9; 8], collation: [1, 2, 3, 4, 5] };

    fn called(transaction: &Transaction) -> Vec<u8> {
        let mut out = Vec::new();
        call(&mut out, &FRAME, transaction);
        out
    }

    #[test]
    fn a_call_names_the_procedure_and_has_its_parameters_in_order() {
        let out = called(&Transaction::OrderStatus {
            warehouse: 1,
            district: 2,
            customer: Customer::LastName("BAR"),
        });
        let mut expected = vec![packet::RPC, 1, 0, out.len() as u8, 0, 0, 1, 0];
        expected.extend_from_slice(&[22, 0, 0, 0, 18, 0, 0, 0, 2, 0]);
        expected.extend_from_slice(&[9, 9, 9, 9, 9, 9, 9, 9, 1, 0, 0, 0, 22, 0]);
        wide(&mut expected, "kneebench.order_status");
        expected.extend_from_slice(&[0, 0]);
        expected.extend_from_slice(&[0, 0, 0x26, 4, 4, 1, 0, 0, 0]);
        expected.extend_from_slice(&[0, 0, 0x26, 2, 2, 2, 0]);
        expected.extend_from_slice(&[0, 0, 0x26, 4, 4, 0, 0, 0, 0]);
        expected.extend_from_slice(&[0, 0, 0xa7, 16, 0, 1, 2, 3, 4, 5, 3, 0, b'B', b'A', b'R']);
        assert_eq!(out, expected);
    }

    #[test]
    fn an_order_has_three_parameters_for_each_of_its_lines() {
        let size =
            |lines| called(&Transaction::NewOrder(NewOrder { lines, ..NewOrder::default() })).len();
        assert_eq!((size(6) - size(5), size(15) - size(5)), (25, 250));
        assert!(size(15) < 512);
    }

    #[test]
    fn statements_are_wide_characters_after_the_headers() {
        let mut out = Vec::new();
        batch(&mut out, &FRAME, "é");
        assert_eq!((out[0], &out[8 + 22..]), (packet::BATCH, &[0xe9, 0][..]));
    }
}
