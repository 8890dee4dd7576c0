//! Contents of the simulated database: as much of the nine tables as sums and sequences can
//! represent.
//!
//! No rows are kept, so of the twelve consistency conditions (TPC-C 3.3.2) those that compare
//! single orders or customers cannot be checked; order numbers are kept per district, everything
//! else in total.

use crate::inputs::{DISTRICTS, Kind, Transaction};

const FIRST_ORDERS: u32 = 3_000;
const FIRST_DELIVERED: u32 = 2_100;
const LINES_PER_ORDER: u64 = 10;
const FIRST_PAYMENTS_CENTS: u64 = 3_000 * 1_000;

/// Log volume per transaction and its records, by kind: estimates from the rows written (about 100
/// bytes per row and index entry).
const LOG_BYTES: [u64; 5] = [5_500, 1_100, 0, 12_000, 0];
const LOG_RECORDS: [u64; 5] = [45, 9, 0, 120, 0];
/// Blocks accessed, by kind.
const BLOCKS: [u64; 5] = [110, 30, 40, 400, 450];
/// The first change of a page after a checkpoint writes the whole page into the log. Pages of a
/// transaction that are so at first ...
const FIRST_TOUCHES: f64 = 8.0;
/// ... and the number of writing transactions after which this has fallen to 1/e.
const TOUCHED_AFTER: f64 = 20_000.0;
pub const PAGE_BYTES: u64 = 8_192;

#[derive(Clone, Copy)]
struct District {
    next_order: u32,
    next_delivery: u32,
}

/// Sums over the tables; amounts in cents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    pub districts: u64,
    pub sum_next_order_ids: u64,
    pub orders: u64,
    pub new_orders: u64,
    pub undelivered: u64,
    pub order_lines: u64,
    pub sum_ol_cnt: u64,
    pub w_ytd_cents: u64,
    pub d_ytd_cents: u64,
    pub h_amount_cents: u64,
    pub committed: u64,
    pub rolled_back: u64,
}

/// Traffic to the log and the caches; cumulative.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    pub log_bytes: u64,
    pub log_records: u64,
    pub full_pages: f64,
    pub blocks: u64,
    pub dirty_pages: f64,
    pub updates: u64,
}

pub struct Ledger {
    districts: Vec<District>,
    sums: Sums,
    pub traffic: Traffic,
    writes_since_checkpoint: f64,
}

impl Ledger {
    /// Freshly loaded.
    pub fn new(warehouses: u32) -> Self {
        let count = warehouses as usize * DISTRICTS as usize;
        let districts =
            vec![
                District { next_order: FIRST_ORDERS + 1, next_delivery: FIRST_DELIVERED + 1 };
                count
            ];
        let (n, orders) = (count as u64, count as u64 * u64::from(FIRST_ORDERS));
        let (lines, cents) = (orders * LINES_PER_ORDER, n * FIRST_PAYMENTS_CENTS);
        let new_orders = n * u64::from(FIRST_ORDERS - FIRST_DELIVERED);
        let ytd = Sums {
            w_ytd_cents: cents,
            d_ytd_cents: cents,
            h_amount_cents: cents,
            ..Sums::default()
        };
        let sums =
            Sums { districts: n, orders, new_orders, order_lines: lines, sum_ol_cnt: lines, ..ytd };
        Self { districts, sums, traffic: Traffic::default(), writes_since_checkpoint: 0.0 }
    }

    /// Apply the writes of a committed transaction.
    pub fn commit(&mut self, transaction: &Transaction) {
        self.sums.committed += 1;
        self.log(transaction.kind());
        match transaction {
            Transaction::NewOrder(order) => {
                self.order(order.warehouse, order.district, order.items().len() as u64)
            }
            Transaction::Payment(payment) => self.pay(payment.amount_cents as u64),
            Transaction::Delivery { warehouse, .. } => self.deliver(*warehouse),
            Transaction::OrderStatus { .. } | Transaction::StockLevel { .. } => {}
        }
    }

    /// Rolled back: its writes went to the log, none remains in the tables.
    pub fn roll_back(&mut self, transaction: &Transaction) {
        self.sums.rolled_back += 1;
        self.log(transaction.kind());
    }

    /// Refused before any write: counts as a rollback, as in a database.
    pub fn refuse(&mut self) {
        self.sums.rolled_back += 1;
    }

    /// Begin a checkpoint cycle: the next change of every page is a first one again. Returns the
    /// number of dirty pages.
    pub fn checkpoint(&mut self) -> f64 {
        self.writes_since_checkpoint = 0.0;
        std::mem::take(&mut self.traffic.dirty_pages)
    }

    /// The sums as a query would return them.
    pub fn sums(&self) -> Sums {
        let sum_next_order_ids = self.districts.iter().map(|d| u64::from(d.next_order)).sum();
        let undelivered =
            self.districts.iter().map(|d| u64::from(d.next_order - d.next_delivery)).sum();
        Sums { sum_next_order_ids, undelivered, ..self.sums }
    }

    fn log(&mut self, kind: Kind) {
        self.traffic.blocks += BLOCKS[kind as usize];
        if LOG_RECORDS[kind as usize] == 0 {
            return;
        }
        let touched = FIRST_TOUCHES * (-self.writes_since_checkpoint / TOUCHED_AFTER).exp();
        self.writes_since_checkpoint += 1.0;
        self.traffic.full_pages += touched;
        self.traffic.dirty_pages += touched;
        self.traffic.log_bytes += LOG_BYTES[kind as usize] + (touched * PAGE_BYTES as f64) as u64;
        self.traffic.log_records += LOG_RECORDS[kind as usize];
    }

    fn order(&mut self, warehouse: i32, district: i32, lines: u64) {
        self.districts[((warehouse - 1) * DISTRICTS + district - 1) as usize].next_order += 1;
        self.sums.orders += 1;
        self.sums.new_orders += 1;
        self.sums.sum_ol_cnt += lines;
        self.sums.order_lines += lines;
        self.traffic.updates += lines + 1;
    }

    fn pay(&mut self, cents: u64) {
        self.sums.w_ytd_cents += cents;
        self.sums.d_ytd_cents += cents;
        self.sums.h_amount_cents += cents;
        self.traffic.updates += 3;
    }

    fn deliver(&mut self, warehouse: i32) {
        let first = ((warehouse - 1) * DISTRICTS) as usize;
        for district in &mut self.districts[first..first + DISTRICTS as usize] {
            if district.next_delivery < district.next_order {
                district.next_delivery += 1;
                self.sums.new_orders -= 1;
                self.traffic.updates += LINES_PER_ORDER + 2;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_load_has_2100_delivered_orders_a_district() {
        let sums = Ledger::new(2).sums();
        assert_eq!(
            (sums.orders - sums.new_orders, sums.undelivered, sums.sum_next_order_ids),
            (42_000, 18_000, 60_020)
        );
    }

    #[test]
    fn a_delivery_takes_one_order_from_each_district_until_none_is_left() {
        let mut ledger = Ledger::new(1);
        (0..901).for_each(|_| ledger.commit(&Transaction::Delivery { warehouse: 1, carrier: 1 }));
        assert_eq!(
            (ledger.sums().new_orders, ledger.sums().undelivered, ledger.sums().orders),
            (0, 0, 30_000)
        );
    }

    #[test]
    fn full_pages_grow_rarer_until_the_next_checkpoint() {
        let (mut ledger, delivery) =
            (Ledger::new(1), Transaction::Delivery { warehouse: 1, carrier: 1 });
        let pages = |ledger: &mut Ledger| {
            let before = ledger.traffic.full_pages;
            (0..1_000).for_each(|_| ledger.commit(&delivery));
            ledger.traffic.full_pages - before
        };
        let first = pages(&mut ledger);
        (0..50).for_each(|_| _ = pages(&mut ledger));
        assert!(pages(&mut ledger) < first / 5.0);
        ledger.checkpoint();
        assert!((pages(&mut ledger) / first - 1.0).abs() < 1e-9);
    }
}
