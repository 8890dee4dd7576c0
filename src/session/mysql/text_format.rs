//! The text that LOAD DATA reads without options, written straight into a packet (MariaDB's manual,
//! "LOAD DATA INFILE"): a tab after each value, a line per row, \N for NULL. The texts of the rows
//! contain no tab, no line break and no backslash.

use super::decimal::{integer, padded};
use super::packets::HEADER_BYTES;
use crate::calendar::{DAY_S, date};
use crate::row_sink::RowWriter;

/// A packet of rows, its header still free.
pub struct Page(Vec<u8>);

impl Page {
    pub fn new(capacity: usize) -> Self {
        let mut packet = Vec::with_capacity(capacity.max(HEADER_BYTES));
        packet.extend_from_slice(&[0; HEADER_BYTES]);
        Self(packet)
    }

    /// The packet of whole rows.
    pub fn into_packet(mut self) -> Vec<u8> {
        self.end_row();
        self.0
    }

    /// The whole rows, a line each.
    pub fn into_lines(self) -> Vec<u8> {
        self.into_packet().split_off(HEADER_BYTES)
    }

    /// A row's last value ends its line.
    fn end_row(&mut self) {
        if self.size_bytes() > 0
            && let Some(last) = self.0.last_mut()
        {
            *last = b'\n';
        }
    }

    fn end_value(&mut self) {
        self.0.push(b'\t');
    }

    fn day(&mut self, days: i64) {
        let (year, month, day) = date(days);
        padded::<4>(&mut self.0, year);
        self.parts([(b'-', month), (b'-', day)]);
    }

    /// Parts of two digits, each behind its sign.
    fn parts<const COUNT: usize>(&mut self, parts: [(u8, u64); COUNT]) {
        for (sign, part) in parts {
            self.0.push(sign);
            padded::<2>(&mut self.0, part);
        }
    }

    fn fixed_point<const SCALE: usize>(&mut self, value: i64) {
        let unit = 10u64.pow(SCALE as u32);
        if value < 0 {
            self.0.push(b'-');
        }
        integer(&mut self.0, (value.unsigned_abs() / unit) as i64);
        self.0.push(b'.');
        padded::<SCALE>(&mut self.0, value.unsigned_abs() % unit);
        self.end_value();
    }
}

impl RowWriter for Page {
    fn size_bytes(&self) -> usize {
        self.0.len() - HEADER_BYTES
    }

    fn begin_row(&mut self, _: u16) {
        self.end_row();
    }

    fn null(&mut self) {
        self.0.extend_from_slice(b"\\N\t");
    }

    fn smallint(&mut self, value: i16) {
        self.integer(i32::from(value));
    }

    fn integer(&mut self, value: i32) {
        self.bigint(i64::from(value));
    }

    fn bigint(&mut self, value: i64) {
        integer(&mut self.0, value);
        self.end_value();
    }

    /// 2026-01-01.
    fn date(&mut self, days: i32) {
        self.day(i64::from(days));
        self.end_value();
    }

    /// datetime, in UTC: 2026-01-01 00:00:00.
    fn time(&mut self, unix_s: i64) {
        let second = unix_s.rem_euclid(DAY_S) as u64;
        self.day(unix_s.div_euclid(DAY_S));
        self.parts([(b' ', second / 3600), (b':', second / 60 % 60), (b':', second % 60)]);
        self.end_value();
    }

    fn text(&mut self, value: &[u8]) {
        self.0.extend_from_slice(value);
        self.end_value();
    }

    fn text_in_place(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) {
        let start = self.0.len();
        self.0.resize(start + length, 0);
        fill(&mut self.0[start..]);
        self.end_value();
    }

    fn hundredths(&mut self, value: i64) {
        self.fixed_point::<2>(value);
    }

    fn ten_thousandths(&mut self, value: i32) {
        self.fixed_point::<4>(i64::from(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_lines_of_values_with_tabs_between() {
        let mut page = Page::new(0);
        page.begin_row(3);
        page.integer(-7);
        page.null();
        page.text(b"BAR");
        page.begin_row(4);
        page.hundredths(-1_000);
        page.hundredths(30_000_005);
        page.ten_thousandths(42);
        page.text_in_place(2, |place| place.fill(b'x'));
        assert_eq!(
            page.into_packet()[HEADER_BYTES..],
            *b"-7\t\\N\tBAR\n-10.00\t300000.05\t0.0042\txx\n"
        );
        assert_eq!(Page::new(0).into_packet(), [0; HEADER_BYTES]);
    }

    #[test]
    fn times_are_dates_in_utc() {
        for (unix_s, expected) in [
            (0, "1970-01-01 00:00:00"),
            (1_767_225_600, "2026-01-01 00:00:00"),
            (951_827_696, "2000-02-29 12:34:56"),
            (4_107_542_399, "2100-02-28 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            let mut page = Page::new(0);
            page.time(unix_s);
            assert_eq!(page.0[HEADER_BYTES..].trim_ascii_end(), expected.as_bytes());
        }
        let mut page = Page::new(0);
        page.begin_row(2);
        page.date(-1);
        page.bigint(-1 << 40);
        assert_eq!(page.into_lines(), b"1969-12-31\t-1099511627776\n");
    }
}
