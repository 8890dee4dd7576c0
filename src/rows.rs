//! Rows of the nine tables, by the rules of TPC-C 4.3.3, in the order of their warehouses.
//!
//! A table is generated in parts (a tenth of a warehouse, which for most tables is a district),
//! each from its own random stream derived from (seed, table, part): the same seed gives the same
//! bytes, whatever is generated before. The number of lines of an order is drawn from a stream that
//! `orders` and `order_line` share.
//!
//! Profiles: `hammerdb` has half of the customers with bad credit, taxes from 0.1, and amounts of
//! undelivered lines from 0.10 to 100.00, as HammerDB has; its faults (orders that are not a
//! permutation of the customers, delivered amounts that no balance contains) are not copied.

mod random_text;
mod write;

use std::str::FromStr;

use crate::inputs::{CUSTOMERS, DISTRICTS, ITEMS, Nurand, Profile, constants, named};
use crate::random::Stream;
use crate::row_sink::RowWriter;

/// Size of one send: small enough to be generated while the server works on the previous one.
pub const PAGE_BYTES: usize = 64 << 10;
const ORDERS: i32 = CUSTOMERS;
/// First undelivered order: the last 900 of a district.
const FIRST_UNDELIVERED: i32 = 2_101;
/// Streams for loading are above all numbers of rungs.
const LOADING: u64 = 1 << 62;

/// The nine tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Warehouse,
    District,
    Customer,
    History,
    Item,
    Stock,
    NewOrder,
    Orders,
    OrderLine,
}

impl Table {
    pub const ALL: [Table; 9] = [
        Table::Warehouse,
        Table::District,
        Table::Customer,
        Table::History,
        Table::Item,
        Table::Stock,
        Table::NewOrder,
        Table::Orders,
        Table::OrderLine,
    ];

    pub fn name(self) -> &'static str {
        [
            "warehouse",
            "district",
            "customer",
            "history",
            "item",
            "stock",
            "new_order",
            "orders",
            "order_line",
        ][self as usize]
    }

    /// Rows in each of the ten parts of a warehouse (of the whole for `item`); orders have 10 lines
    /// on average.
    fn rows(self) -> i32 {
        match self {
            Table::Warehouse | Table::District => 1,
            Table::Customer | Table::History => CUSTOMERS,
            Table::Item | Table::Stock => ITEMS / DISTRICTS,
            Table::NewOrder => ORDERS - FIRST_UNDELIVERED + 1,
            Table::Orders | Table::OrderLine => ORDERS,
        }
    }

    fn parts(self, warehouses: i32) -> i32 {
        match self {
            Table::Warehouse => warehouses,
            Table::Item => DISTRICTS,
            _ => warehouses * DISTRICTS,
        }
    }

    /// Rows of the table; for order_line the expected number.
    pub fn expected(self, warehouses: i32) -> u64 {
        let lines = if self == Table::OrderLine { 10 } else { 1 };
        self.parts(warehouses) as u64 * self.rows() as u64 * lines
    }
}

impl FromStr for Table {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        named(name, "table", &Self::ALL, Self::name)
    }
}

/// A table's rows, page by page.
pub struct Rows {
    table: Table,
    seed: u64,
    profile: Profile,
    nurand: Nurand,
    parts: i32,
    /// The current part, and the next row in it; both from 0.
    part: i32,
    row: i32,
    random: Stream,
    lines: Stream,
    buyers: Vec<i32>,
}

impl Rows {
    pub fn new(table: Table, warehouses: i32, profile: Profile, seed: u64) -> Self {
        let nurand = constants(seed, profile).load;
        let (random, lines) = (derived(seed, table, 0), derived(seed, Table::NewOrder, 0));
        let mut rows = Self {
            table,
            seed,
            profile,
            nurand,
            parts: table.parts(warehouses),
            part: 0,
            row: 0,
            random,
            lines,
            buyers: Vec::new(),
        };
        rows.begin();
        rows
    }

    /// Append about a page of whole rows; returns their number, 0 at the end of the table.
    pub fn page(&mut self, page: &mut impl RowWriter) -> u64 {
        let mut made = 0;
        while self.part < self.parts && page.size_bytes() < PAGE_BYTES {
            made += self.write(page);
            self.row += 1;
            if self.row == self.table.rows() {
                self.part += 1;
                self.begin();
            }
        }
        made
    }

    fn begin(&mut self) {
        self.row = 0;
        self.random = derived(self.seed, self.table, self.part);
        self.lines = derived(self.seed, Table::NewOrder, self.part);
        if self.table == Table::Orders {
            self.buyers = (1..=CUSTOMERS).collect();
            self.random.shuffle(&mut self.buyers);
        }
    }
}

/// The random stream of a table's part. The stream of `new_order`, which draws nothing, gives the
/// numbers of lines of the part's orders.
fn derived(seed: u64, table: Table, part: i32) -> Stream {
    Stream::new(seed, LOADING | (table as u64) << 40 | part as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_sink::tests::PlainPage;

    fn made(table: Table, warehouses: i32, profile: Profile, seed: u64) -> (u64, Vec<u8>) {
        let (mut rows, mut all, mut count) =
            (Rows::new(table, warehouses, profile, seed), PlainPage::default(), 0);
        loop {
            let mut page = PlainPage::default();
            match rows.page(&mut page) {
                0 => return (count, all.0),
                some => count += some,
            }
            all.0.extend(page.0);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_gives_others() {
        for table in [Table::Customer, Table::Orders, Table::OrderLine] {
            assert_eq!(made(table, 1, Profile::Spec, 7), made(table, 1, Profile::Spec, 7));
            assert_ne!(made(table, 1, Profile::Spec, 7).1, made(table, 1, Profile::Spec, 8).1);
        }
    }

    #[test]
    fn a_warehouse_is_the_same_whatever_follows_it() {
        for table in [Table::District, Table::Customer, Table::Orders, Table::OrderLine] {
            let (one, two) =
                (made(table, 1, Profile::Spec, 7).1, made(table, 2, Profile::Spec, 7).1);
            assert_eq!(two[..one.len()], one);
        }
    }

    #[test]
    fn tables_have_their_rows() {
        for (table, rows) in [
            (Table::Warehouse, 2),
            (Table::District, 20),
            (Table::Customer, 60_000),
            (Table::NewOrder, 18_000),
            (Table::Item, 100_000),
        ] {
            assert_eq!(made(table, 2, Profile::Hammerdb, 1).0, rows);
            assert_eq!(table.expected(2), rows);
        }
        let (lines, expected) =
            (made(Table::OrderLine, 2, Profile::Spec, 1).0, Table::OrderLine.expected(2));
        assert!(lines.abs_diff(expected) < expected / 100, "{lines}");
    }
}
