//! Request encoder (PostgreSQL's manual, "Message Formats"): messages are appended to a reused
//! buffer.

use crate::inputs::{Kind, NewOrder, Payment, Transaction};

/// The number of a type, the same in every PostgreSQL (pg_type.dat).
pub type Oid = u32;
const INT: Oid = 23;
const TEXT: Oid = 25;
const INTS: Oid = 1007;

/// The five functions, in the order of [`Kind::ALL`].
const CALLS: [(&str, &[Oid]); 5] = [
    ("SELECT kneebench.new_order($1, $2, $3, $4, $5, $6)", &[INT, INT, INT, INTS, INTS, INTS]),
    ("SELECT kneebench.payment($1, $2, $3, $4, $5, $6, $7)", &[INT, INT, INT, INT, INT, TEXT, INT]),
    ("SELECT * FROM kneebench.order_status($1, $2, $3, $4)", &[INT, INT, INT, TEXT]),
    ("SELECT kneebench.delivery($1, $2)", &[INT, INT]),
    ("SELECT kneebench.stock_level($1, $2, $3)", &[INT, INT, INT]),
];

/// All rows of the unnamed portal, then Sync.
const EXECUTE_AND_SYNC: &[u8] = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
const SYNC: &[u8] = b"S\0\0\0\x04";
/// One format code for all values: binary.
const ALL_BINARY: [i16; 2] = [1, 1];

/// The statement of a transaction.
pub fn sql(kind: Kind) -> &'static str {
    CALLS[kind as usize].0
}

/// Statements without parameters or rows, in one message.
pub fn simple(out: &mut Vec<u8>, sql: &str) {
    message(out, b'Q', |out| text(out, sql));
}

/// Prepare the statement of a transaction under the transaction's name.
pub fn prepare(out: &mut Vec<u8>, kind: Kind) {
    let (sql, types) = CALLS[kind as usize];
    message(out, b'P', |out| {
        text(out, kind.name());
        text(out, sql);
        shorts(out, &[types.len() as i16]);
        types.iter().for_each(|oid| out.extend_from_slice(&oid.to_be_bytes()));
    });
    out.extend_from_slice(SYNC);
}

/// The end of a session.
pub const TERMINATE: &[u8] = b"X\0\0\0\x04";

/// Bind the prepared statement, execute it, sync: one transaction.
pub fn call(out: &mut Vec<u8>, transaction: &Transaction) {
    let kind = transaction.kind();
    message(out, b'B', |out| {
        text(out, "");
        text(out, kind.name());
        shorts(out, &ALL_BINARY);
        shorts(out, &[CALLS[kind as usize].1.len() as i16]);
        parameters(out, transaction);
        shorts(out, &ALL_BINARY);
    });
    out.extend_from_slice(EXECUTE_AND_SYNC);
}

fn parameters(out: &mut Vec<u8>, transaction: &Transaction) {
    match transaction {
        Transaction::NewOrder(order) => {
            let NewOrder { warehouse, district, customer, .. } = order;
            ints(out, &[*warehouse, *district, *customer]);
            [order.items(), order.suppliers(), order.quantities()]
                .into_iter()
                .for_each(|lines| array(out, lines));
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
            sized(out, name.as_bytes());
            ints(out, &[*amount_cents]);
        }
        Transaction::OrderStatus { warehouse, district, customer } => {
            let (id, name) = customer.id_and_name();
            ints(out, &[*warehouse, *district, id]);
            sized(out, name.as_bytes());
        }
        Transaction::Delivery { warehouse, carrier } => ints(out, &[*warehouse, *carrier]),
        Transaction::StockLevel { warehouse, district, threshold } => {
            ints(out, &[*warehouse, *district, *threshold])
        }
    }
}

/// A message: its tag, its length, its body.
fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - start) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn shorts(out: &mut Vec<u8>, values: &[i16]) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_be_bytes()));
}

fn sized(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(&(value.len() as i32).to_be_bytes());
    out.extend_from_slice(value);
}

fn ints(out: &mut Vec<u8>, values: &[i32]) {
    values.iter().for_each(|value| sized(out, &value.to_be_bytes()));
}

/// One dimension with lower bound 1, without NULL (array_recv).
fn array(out: &mut Vec<u8>, values: &[i32]) {
    let head = [20 + 8 * values.len() as i32, 1, 0, INT as i32, values.len() as i32, 1];
    head.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
    ints(out, values);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Customer;

    /// The messages in these bytes: tag and body.
    fn messages(mut bytes: &[u8]) -> Vec<(char, Vec<u8>)> {
        let mut seen = Vec::new();
        while let [tag, a, b, c, d, ..] = *bytes {
            let length = i32::from_be_bytes([a, b, c, d]) as usize;
            seen.push((tag as char, bytes[5..=length].to_vec()));
            bytes = &bytes[length + 1..];
        }
        assert!(bytes.is_empty());
        seen
    }

    #[test]
    fn a_call_binds_executes_and_syncs_with_every_value_in_binary() {
        let mut out = Vec::new();
        call(
            &mut out,
            &Transaction::OrderStatus {
                warehouse: 1,
                district: 2,
                customer: Customer::LastName("BAR"),
            },
        );
        let seen = messages(&out);
        assert_eq!(seen.iter().map(|(tag, _)| *tag).collect::<String>(), "BES");
        let bind = b"\0order_status\0\0\x01\0\x01\0\x04\
            \0\0\0\x04\0\0\0\x01\0\0\0\x04\0\0\0\x02\0\0\0\x04\0\0\0\0\
            \0\0\0\x03BAR\0\x01\0\x01";
        assert_eq!(seen[0].1, bind);
    }

    #[test]
    fn an_orders_lines_are_arrays_of_one_dimension() {
        let order = NewOrder {
            lines: 2,
            items: [7; 15],
            suppliers: [1; 15],
            quantities: [3; 15],
            ..NewOrder::default()
        };
        let mut out = Vec::new();
        call(&mut out, &Transaction::NewOrder(order));
        let array = b"\0\0\0\x24\0\0\0\x01\0\0\0\0\0\0\0\x17\0\0\0\x02\0\0\0\x01\
            \0\0\0\x04\0\0\0\x07\0\0\0\x04\0\0\0\x07";
        assert!(messages(&out)[0].1.windows(array.len()).any(|window| window == array));
    }

    #[test]
    fn preparing_names_the_statement_and_the_types_and_syncs() {
        let mut out = Vec::new();
        prepare(&mut out, Kind::Delivery);
        let seen = messages(&out);
        assert_eq!(
            seen[0],
            (
                'P',
                b"delivery\0SELECT kneebench.delivery($1, $2)\0\0\x02\0\0\0\x17\0\0\0\x17".to_vec()
            )
        );
        assert_eq!(seen[1], ('S', Vec::new()));
    }
}
