//! Request encoder (MariaDB's manual, "COM_STMT_EXECUTE"): a packet is written into a reused
//! buffer.

use super::decimal::integer;
use super::packets::{HEADER_BYTES, header};
use crate::inputs::{Kind, NewOrder, Payment, Transaction};

const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
/// The end of a session, as a packet.
pub const QUIT: &[u8] = &[1, 0, 0, 0, 0x01];

/// Types of parameters (MYSQL_TYPE_LONG, MYSQL_TYPE_VAR_STRING).
const INT: [u8; 2] = [0x03, 0];
const TEXT: [u8; 2] = [0xfd, 0];
/// The length that follows has two bytes.
const TWO_BYTES: u8 = 0xfc;

/// The five procedures with the types of their parameters, in the order of [`Kind::ALL`].
const CALLS: [(&str, &[[u8; 2]]); 5] = [
    ("CALL kneebench_new_order(?, ?, ?, ?, ?, ?)", &[INT, INT, INT, INT, INT, TEXT]),
    ("CALL kneebench_payment(?, ?, ?, ?, ?, ?, ?)", &[INT, INT, INT, INT, INT, TEXT, INT]),
    ("CALL kneebench_order_status(?, ?, ?, ?)", &[INT, INT, INT, TEXT]),
    ("CALL kneebench_delivery(?, ?)", &[INT, INT]),
    ("CALL kneebench_stock_level(?, ?, ?)", &[INT, INT, INT]),
];

/// Numbers of the prepared statements, in the order of [`Kind::ALL`].
pub type Statements = [u32; 5];

/// The statement of a transaction.
pub fn sql(kind: Kind) -> &'static str {
    CALLS[kind as usize].0
}

/// The payload that prepares the statement of a transaction.
pub fn prepare(kind: Kind) -> Vec<u8> {
    [&[PREPARE], sql(kind).as_bytes()].concat()
}

/// The packet that executes a prepared statement: one transaction.
pub fn call(out: &mut Vec<u8>, statements: &Statements, transaction: &Transaction) {
    let kind = transaction.kind() as usize;
    out.extend_from_slice(&[0; HEADER_BYTES]);
    out.push(EXECUTE);
    out.extend_from_slice(&statements[kind].to_le_bytes());
    // no cursor, once, no NULL among at most eight parameters, types follow
    out.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1]);
    CALLS[kind].1.iter().for_each(|kind| out.extend_from_slice(kind));
    parameters(out, transaction);
    let length = out.len() - HEADER_BYTES;
    out[..HEADER_BYTES].copy_from_slice(&header(length, 0));
}

fn parameters(out: &mut Vec<u8>, transaction: &Transaction) {
    match transaction {
        Transaction::NewOrder(order) => {
            let NewOrder { warehouse, district, customer, .. } = order;
            let (lines, remote) = (order.items().len() as i32, order.remote_lines() as i32);
            ints(out, &[*warehouse, *district, *customer, lines, remote]);
            text(out, |out| order_lines(out, order));
        }
        Transaction::Payment(Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer,
            amount_cents,
        }) => {
            let (id, name) = customer.id_and_name();
            ints(out, &[*warehouse, *district, *customer_warehouse, *customer_district, id]);
            text(out, |out| out.extend_from_slice(name.as_bytes()));
            ints(out, &[*amount_cents]);
        }
        Transaction::OrderStatus { warehouse, district, customer } => {
            let (id, name) = customer.id_and_name();
            ints(out, &[*warehouse, *district, id]);
            text(out, |out| out.extend_from_slice(name.as_bytes()));
        }
        Transaction::Delivery { warehouse, carrier } => ints(out, &[*warehouse, *carrier]),
        Transaction::StockLevel { warehouse, district, threshold } => {
            ints(out, &[*warehouse, *district, *threshold])
        }
    }
}

fn ints(out: &mut Vec<u8>, values: &[i32]) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

/// A text with its length before it.
fn text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&[TWO_BYTES, 0, 0]);
    let start = out.len();
    write(out);
    let length = (out.len() - start) as u16;
    out[start - 2..start].copy_from_slice(&length.to_le_bytes());
}

/// The lines as JSON, `[[item,supplier,quantity],...]`.
fn order_lines(out: &mut Vec<u8>, order: &NewOrder) {
    for (place, (item, supplier, quantity)) in order.lines_by_stock().enumerate() {
        out.extend_from_slice(if place == 0 { b"[[" } else { b",[" });
        integer(out, i64::from(item));
        out.push(b',');
        integer(out, i64::from(supplier));
        out.push(b',');
        integer(out, i64::from(quantity));
        out.push(b']');
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Customer;

    const STATEMENTS: Statements = [11, 12, 13, 14, 15];

    #[test]
    fn a_call_is_one_packet_with_every_value_in_binary() {
        let transaction = Transaction::OrderStatus {
            warehouse: 1,
            district: 2,
            customer: Customer::LastName("BAR"),
        };
        let mut out = Vec::new();
        call(&mut out, &STATEMENTS, &transaction);
        let execute = b"\x17\x0d\0\0\0\0\x01\0\0\0\0\x01\x03\0\x03\0\x03\0\xfd\0\
            \x01\0\0\0\x02\0\0\0\0\0\0\0\xfc\x03\0BAR";
        assert_eq!(out[..4], [execute.len() as u8, 0, 0, 0]);
        assert_eq!(out[4..], execute[..]);
    }

    #[test]
    fn an_orders_lines_are_sorted_by_the_key_of_stock() {
        let mut order = NewOrder { warehouse: 2, lines: 4, ..NewOrder::default() };
        order.items[..4].copy_from_slice(&[100_001, 7, 9, 8]);
        order.suppliers[..4].copy_from_slice(&[2, 2, 1, 2]);
        order.quantities[..4].copy_from_slice(&[10, 2, 3, 4]);
        let mut out = Vec::new();
        call(&mut out, &STATEMENTS, &Transaction::NewOrder(order));
        let tail = b"\x04\0\0\0\x01\0\0\0\xfc\x27\0[[9,1,3],[7,2,2],[8,2,4],[100001,2,10]]";
        assert!(out.ends_with(tail), "{}", String::from_utf8_lossy(&out));
    }
}
