//! One row of each table (TPC-C 4.3.3.1), columns in the tables' order (each engine's schema).

use crate::inputs::{DISTRICTS, ITEMS, Profile, last_name};
use crate::row_sink::RowWriter;
use crate::rows::random_text::{letters, original};
use crate::rows::{FIRST_UNDELIVERED, ORDERS, Rows, Table};

/// 2026-01-01 00:00 UTC: a fixed date, so that the same seed gives the same bytes.
const LOADED_AT_UNIX_S: i64 = 1_767_225_600;

impl Rows {
    /// Write the next row (for order_line: the lines of the next order); returns the number of
    /// rows.
    pub(super) fn write(&mut self, page: &mut impl RowWriter) -> u64 {
        let (warehouse, district, number) =
            (self.part / DISTRICTS + 1, (self.part % DISTRICTS + 1) as i16, self.row + 1);
        match self.table {
            Table::Warehouse => self.warehouse(page, self.part + 1),
            Table::District => self.district(page, warehouse, district),
            Table::Customer => self.customer(page, warehouse, district, number),
            Table::History => self.history(page, warehouse, district, number),
            Table::Item => self.item(page, self.part * self.table.rows() + number),
            Table::Stock => {
                self.stock(page, warehouse, (self.part % DISTRICTS) * self.table.rows() + number)
            }
            Table::NewOrder => new_order(page, warehouse, district, number + FIRST_UNDELIVERED - 1),
            Table::Orders => self.order(page, warehouse, district, number),
            Table::OrderLine => return self.order_lines(page, warehouse, district, number),
        }
        1
    }

    fn warehouse(&mut self, page: &mut impl RowWriter, warehouse: i32) {
        page.begin_row(9);
        page.integer(warehouse);
        self.letters(page, 6, 10);
        self.address(page);
        let tax = self.tax();
        page.ten_thousandths(tax);
        page.hundredths(30_000_000);
    }

    fn district(&mut self, page: &mut impl RowWriter, warehouse: i32, district: i16) {
        page.begin_row(11);
        page.integer(warehouse);
        page.integer(ORDERS + 1);
        page.smallint(district);
        page.hundredths(3_000_000);
        let tax = self.tax();
        page.ten_thousandths(tax);
        self.letters(page, 6, 10);
        self.address(page);
    }

    fn customer(
        &mut self,
        page: &mut impl RowWriter,
        warehouse: i32,
        district: i16,
        customer: i32,
    ) {
        let name =
            if customer <= 1_000 { customer - 1 } else { self.nurand.last_name(&mut self.random) };
        let bad_percent = if self.profile == Profile::Spec { 10 } else { 50 };
        page.begin_row(21);
        page.time(LOADED_AT_UNIX_S);
        page.integer(customer);
        page.integer(warehouse);
        page.smallint(district);
        page.smallint(1);
        page.smallint(0);
        self.letters(page, 8, 16);
        page.text(b"OE");
        page.text(last_name(name).as_bytes());
        self.address(page);
        self.digits::<16>(page);
        page.text(if self.random.percent(bad_percent) { b"BC" } else { b"GC" });
        page.hundredths(5_000_000);
        page.ten_thousandths(self.random.between(0, 5_000));
        page.hundredths(-1_000);
        page.hundredths(1_000);
        self.letters(page, 300, 500);
    }

    fn history(&mut self, page: &mut impl RowWriter, warehouse: i32, district: i16, customer: i32) {
        page.begin_row(8);
        page.time(LOADED_AT_UNIX_S);
        page.integer(customer);
        page.integer(warehouse);
        page.integer(warehouse);
        page.smallint(district);
        page.smallint(district);
        page.hundredths(1_000);
        self.letters(page, 12, 24);
    }

    fn item(&mut self, page: &mut impl RowWriter, item: i32) {
        page.begin_row(5);
        page.integer(item);
        page.integer(self.random.between(1, 10_000));
        self.letters(page, 14, 24);
        page.hundredths(i64::from(self.random.between(100, 10_000)));
        self.data(page);
    }

    fn stock(&mut self, page: &mut impl RowWriter, warehouse: i32, item: i32) {
        page.begin_row(17);
        page.integer(item);
        page.integer(warehouse);
        page.integer(0);
        page.smallint(self.random.between(10, 100) as i16);
        page.smallint(0);
        page.smallint(0);
        for _ in 0..DISTRICTS {
            letters(page, 24, &mut self.random);
        }
        self.data(page);
    }

    fn order(&mut self, page: &mut impl RowWriter, warehouse: i32, district: i16, order: i32) {
        page.begin_row(8);
        page.time(LOADED_AT_UNIX_S);
        page.integer(order);
        page.integer(warehouse);
        page.integer(self.buyers[order as usize - 1]);
        page.smallint(district);
        if order < FIRST_UNDELIVERED {
            page.smallint(self.random.between(1, 10) as i16);
        } else {
            page.null();
        }
        page.smallint(self.lines.between(5, 15) as i16);
        page.smallint(1);
    }

    fn order_lines(
        &mut self,
        page: &mut impl RowWriter,
        warehouse: i32,
        district: i16,
        order: i32,
    ) -> u64 {
        let lines = self.lines.between(5, 15) as i16;
        for line in 1..=lines {
            page.begin_row(10);
            if order < FIRST_UNDELIVERED {
                page.time(LOADED_AT_UNIX_S);
            } else {
                page.null();
            }
            page.integer(order);
            page.integer(warehouse);
            page.integer(self.random.between(1, ITEMS));
            page.integer(warehouse);
            page.smallint(district);
            page.smallint(line);
            page.smallint(5);
            page.hundredths(self.amount(order));
            letters(page, 24, &mut self.random);
        }
        lines as u64
    }

    /// Hundredths: zero for a delivered line, so that balances agree (conditions 10 and 12).
    fn amount(&mut self, order: i32) -> i64 {
        let (low, high) = match self.profile {
            _ if order < FIRST_UNDELIVERED => return 0,
            Profile::Spec => (1, 999_999),
            Profile::Hammerdb => (10, 10_000),
        };
        i64::from(self.random.between(low, high))
    }

    /// Ten-thousandths.
    fn tax(&mut self) -> i32 {
        self.random.between(if self.profile == Profile::Spec { 0 } else { 1_000 }, 2_000)
    }

    fn letters(&mut self, page: &mut impl RowWriter, shortest: i32, longest: i32) {
        let length = self.random.between(shortest, longest) as usize;
        letters(page, length, &mut self.random);
    }

    fn digits<const N: usize>(&mut self, page: &mut impl RowWriter) {
        let mut digits = [b'0'; N];
        digits.iter_mut().for_each(|digit| *digit += self.random.below(10) as u8);
        page.text(&digits);
    }

    /// Two streets, city, state, zip (TPC-C 4.3.2.7: four digits and 11111).
    fn address(&mut self, page: &mut impl RowWriter) {
        for _ in 0..3 {
            self.letters(page, 10, 20);
        }
        letters(page, 2, &mut self.random);
        page.text(format!("{:04}11111", self.random.between(0, 9_999)).as_bytes());
    }

    /// i_data and s_data: one in ten is original.
    fn data(&mut self, page: &mut impl RowWriter) {
        let length = self.random.between(26, 50) as usize;
        if self.random.percent(10) {
            original(page, length, &mut self.random);
        } else {
            letters(page, length, &mut self.random);
        }
    }
}

fn new_order(page: &mut impl RowWriter, warehouse: i32, district: i16, order: i32) {
    page.begin_row(3);
    page.integer(warehouse);
    page.integer(order);
    page.smallint(district);
}
