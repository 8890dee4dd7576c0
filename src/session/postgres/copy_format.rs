//! PostgreSQL's binary COPY format, written straight into a buffer (its manual: COPY, "Binary
//! Format"; values as the types' receive functions read them).

use crate::row_sink::RowWriter;

/// The header: signature, no flags, no extension.
pub const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The trailer: a row of -1 columns.
pub const TRAILER: &[u8] = &[0xff, 0xff];

/// PostgreSQL counts time from 2000-01-01 00:00 UTC.
const EPOCH_UNIX_S: i64 = 946_684_800;

/// A buffer of rows. Each method appends one value; a row is `begin_row`, then its values.
#[derive(Default)]
pub struct Page(pub Vec<u8>);

impl RowWriter for Page {
    fn size_bytes(&self) -> usize {
        self.0.len()
    }

    fn begin_row(&mut self, columns: u16) {
        self.0.extend_from_slice(&columns.to_be_bytes());
    }

    fn null(&mut self) {
        self.0.extend_from_slice(&(-1i32).to_be_bytes());
    }

    /// int2.
    fn smallint(&mut self, value: i16) {
        let mut field = [0, 0, 0, 2, 0, 0];
        field[4..].copy_from_slice(&value.to_be_bytes());
        self.0.extend_from_slice(&field);
    }

    /// int4.
    fn integer(&mut self, value: i32) {
        let mut field = [0, 0, 0, 4, 0, 0, 0, 0];
        field[4..].copy_from_slice(&value.to_be_bytes());
        self.0.extend_from_slice(&field);
    }

    /// int8.
    fn bigint(&mut self, value: i64) {
        let mut field = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
        field[4..].copy_from_slice(&value.to_be_bytes());
        self.0.extend_from_slice(&field);
    }

    /// date: days since its own epoch.
    fn date(&mut self, days: i32) {
        self.integer(days - (EPOCH_UNIX_S / 86_400) as i32);
    }

    /// timestamptz: microseconds since its own epoch.
    fn time(&mut self, unix_s: i64) {
        self.bigint((unix_s - EPOCH_UNIX_S) * 1_000_000);
    }

    fn text(&mut self, value: &[u8]) {
        self.0.extend_from_slice(&(value.len() as i32).to_be_bytes());
        self.0.extend_from_slice(value);
    }

    fn text_in_place(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) {
        self.0.extend_from_slice(&(length as i32).to_be_bytes());
        let start = self.0.len();
        self.0.resize(start + length, 0);
        fill(&mut self.0[start..]);
    }

    /// numeric with a scale of 2 below 10^10, from hundredths: up to three digits of base 10,000,
    /// none of them zero at either end.
    fn hundredths(&mut self, value: i64) {
        let (whole, part) = (value.unsigned_abs() / 100, value.unsigned_abs() % 100 * 100);
        self.numeric(
            &[(whole / 10_000) as u16, (whole % 10_000) as u16, part as u16],
            value < 0,
            2,
        );
    }

    /// numeric(4,4) from ten-thousandths.
    fn ten_thousandths(&mut self, value: i32) {
        self.numeric(&[0, 0, value as u16], false, 4);
    }
}

impl Page {
    /// `digits`: the last one is behind the decimal point.
    fn numeric(&mut self, digits: &[u16; 3], negative: bool, scale: u16) {
        let first = digits.iter().position(|&digit| digit != 0).unwrap_or(3);
        let last = digits.iter().rposition(|&digit| digit != 0).map_or(first, |last| last + 1);
        let (count, weight) = (last - first, if first == 3 { 0 } else { 1 - first as i16 });
        self.0.extend_from_slice(&(8 + 2 * count as i32).to_be_bytes());
        for part in [count as u16, weight as u16, if negative { 0x4000 } else { 0 }, scale] {
            self.0.extend_from_slice(&part.to_be_bytes());
        }
        for digit in &digits[first..last] {
            self.0.extend_from_slice(&digit.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(write: impl Fn(&mut Page)) -> Vec<i16> {
        let mut page = Page::default();
        write(&mut page);
        page.0[4..].chunks(2).map(|two| i16::from_be_bytes([two[0], two[1]])).collect()
    }

    #[test]
    fn numerics_are_as_the_server_writes_them() {
        assert_eq!(numeric(|page| page.hundredths(30_000_000)), [1, 1, 0, 2, 30]);
        assert_eq!(numeric(|page| page.hundredths(-1_000)), [1, 0, 0x4000, 2, 10]);
        assert_eq!(numeric(|page| page.hundredths(0)), [0, 0, 0, 2]);
        assert_eq!(numeric(|page| page.hundredths(5)), [1, -1, 0, 2, 500]);
        assert_eq!(numeric(|page| page.hundredths(999_999)), [2, 0, 0, 2, 9_999, 9_900]);
        assert_eq!(numeric(|page| page.hundredths(5_000_000)), [1, 1, 0, 2, 5]);
        assert_eq!(numeric(|page| page.ten_thousandths(2_000)), [1, -1, 0, 4, 2_000]);
        assert_eq!(numeric(|page| page.ten_thousandths(0)), [0, 0, 0, 4]);
    }
    #[test]
    fn times_count_microseconds_from_the_year_2000() {
        let mut page = Page::default();
        page.time(EPOCH_UNIX_S + 9_497 * 86_400);
        assert_eq!(page.0[..4], [0, 0, 0, 8]);
        assert_eq!(page.0[4..], (9_497 * 86_400_000_000i64).to_be_bytes());
    }
}
