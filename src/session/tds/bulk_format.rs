//! Rows of a bulk load (MS-TDS 2.2.6.1): the description of the columns, then rows, written
//! straight into a buffer. What is sent must be of exactly the types that the statement names:
//! Babelfish neither checks nor converts.

use std::sync::Arc;

use super::bulk_columns::ColumnType;
use super::request::wide;
use crate::row_sink::RowWriter;

const COLUMN_METADATA: u8 = 0x81;
const ROW: u8 = 0xd1;
/// Every column may be NULL on the wire; whether it may be in the table, the server checks.
const NULLABLE: u16 = 0x0001;
/// The end of the rows: DONE, whose count the server makes itself.
pub const END_OF_ROWS: [u8; 13] = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// Days from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH_DAYS: i64 = 719_162;
const DAY_S: i64 = 86_400;

/// The description of the columns.
pub fn metadata(columns: &[(String, ColumnType)], collation: [u8; 5]) -> Vec<u8> {
    let mut out = vec![COLUMN_METADATA];
    out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
    for (name, of_type) in columns {
        // no type of the user's own
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&NULLABLE.to_le_bytes());
        match *of_type {
            ColumnType::Smallint => out.extend_from_slice(&[0x26, 2]),
            ColumnType::Int => out.extend_from_slice(&[0x26, 4]),
            ColumnType::Bigint => out.extend_from_slice(&[0x26, 8]),
            ColumnType::Date => out.push(0x28),
            ColumnType::Decimal { precision, scale } => {
                let bytes = 1 + magnitude_bytes(precision) as u8;
                out.extend_from_slice(&[0x6a, bytes, precision, scale]);
            }
            ColumnType::Datetime2 { scale } => out.extend_from_slice(&[0x2a, scale]),
            ColumnType::Char { bytes } => text_type(&mut out, 0xaf, bytes, collation),
            ColumnType::Varchar { bytes } => text_type(&mut out, 0xa7, bytes, collation),
        }
        out.push(name.len() as u8);
        wide(&mut out, name);
    }
    out
}

fn text_type(out: &mut Vec<u8>, of_type: u8, bytes: u16, collation: [u8; 5]) {
    out.push(of_type);
    out.extend_from_slice(&bytes.to_le_bytes());
    out.extend_from_slice(&collation);
}

/// The size of a decimal's number without its sign.
fn magnitude_bytes(precision: u8) -> usize {
    match precision {
        ..=9 => 4,
        10..=19 => 8,
        20..=28 => 12,
        _ => 16,
    }
}

/// A buffer of rows. Each method appends one value; a row is `begin_row`, then its values.
pub struct Page {
    pub bytes: Vec<u8>,
    /// Bytes at its start that belong to the page before.
    pub carried: usize,
    columns: Arc<[ColumnType]>,
    column: usize,
    /// A value was not of the statement's type: the page must not be sent.
    pub mismatch: bool,
}

impl Page {
    pub fn new(columns: Arc<[ColumnType]>, carried: Vec<u8>) -> Self {
        Self { carried: carried.len(), bytes: carried, columns, column: 0, mismatch: false }
    }

    /// The next page, which starts with what is left of this one.
    pub fn after(self, sent: usize) -> Self {
        let mut bytes = Vec::with_capacity(self.bytes.len() + self.bytes.len() / 8);
        bytes.extend_from_slice(&self.bytes[sent..]);
        Self::new(self.columns, bytes)
    }

    /// The type of the value that is written.
    fn next_type(&mut self) -> Option<ColumnType> {
        let of_type = self.columns.get(self.column).copied();
        self.column += 1;
        of_type
    }

    fn expect(&mut self, expected: ColumnType) {
        self.mismatch |= self.next_type() != Some(expected);
    }

    /// A number of this scale.
    fn decimal(&mut self, value: i64, expected: u8) {
        let Some(ColumnType::Decimal { precision, scale }) = self.next_type() else {
            self.mismatch = true;
            return;
        };
        self.mismatch |= scale != expected;
        let size = magnitude_bytes(precision);
        let mut field = [0; 18];
        (field[0], field[1]) = (1 + size as u8, u8::from(value >= 0));
        field[2..10].copy_from_slice(&value.unsigned_abs().to_le_bytes());
        self.bytes.extend_from_slice(&field[..2 + size]);
    }
}

impl RowWriter for Page {
    fn size_bytes(&self) -> usize {
        self.bytes.len() - self.carried
    }

    fn begin_row(&mut self, _: u16) {
        self.column = 0;
        self.bytes.push(ROW);
    }

    fn null(&mut self) {
        match self.next_type() {
            Some(ColumnType::Char { .. } | ColumnType::Varchar { .. }) => {
                self.bytes.extend_from_slice(&[0xff, 0xff])
            }
            _ => self.bytes.push(0),
        }
    }

    fn smallint(&mut self, value: i16) {
        self.expect(ColumnType::Smallint);
        self.bytes.push(2);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn integer(&mut self, value: i32) {
        self.expect(ColumnType::Int);
        self.bytes.push(4);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn bigint(&mut self, value: i64) {
        self.expect(ColumnType::Bigint);
        self.bytes.push(8);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn date(&mut self, days: i32) {
        self.expect(ColumnType::Date);
        self.bytes.push(3);
        self.bytes.extend_from_slice(&(UNIX_EPOCH_DAYS + i64::from(days)).to_le_bytes()[..3]);
    }

    /// datetime2 of this second: the time of the day in units of its scale, then the day.
    fn time(&mut self, unix_s: i64) {
        let Some(ColumnType::Datetime2 { scale }) = self.next_type() else {
            self.mismatch = true;
            return;
        };
        let size = [3, 3, 3, 4, 4, 5, 5, 5][scale as usize];
        let units = unix_s.rem_euclid(DAY_S) * 10i64.pow(scale.into());
        let days = UNIX_EPOCH_DAYS + unix_s.div_euclid(DAY_S);
        self.bytes.push(size as u8 + 3);
        self.bytes.extend_from_slice(&units.to_le_bytes()[..size]);
        self.bytes.extend_from_slice(&days.to_le_bytes()[..3]);
    }

    fn text(&mut self, value: &[u8]) {
        self.text_in_place(value.len(), |place| place.copy_from_slice(value));
    }

    fn text_in_place(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) {
        match self.next_type() {
            Some(ColumnType::Char { bytes } | ColumnType::Varchar { bytes }) => {
                self.mismatch |= length > bytes.into();
            }
            _ => self.mismatch = true,
        }
        self.bytes.extend_from_slice(&(length as u16).to_le_bytes());
        let start = self.bytes.len();
        self.bytes.resize(start + length, 0);
        fill(&mut self.bytes[start..]);
    }

    fn hundredths(&mut self, value: i64) {
        self.decimal(value, 2);
    }

    fn ten_thousandths(&mut self, value: i32) {
        self.decimal(value.into(), 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tds::bulk_columns::columns;
    use crate::session::tds::bulk_columns::tests::STATEMENT;

    fn page() -> Page {
        let columns = columns(STATEMENT).unwrap().into_iter().map(|(_, of_type)| of_type).collect();
        Page::new(columns, Vec::new())
    }

    #[test]
    fn every_value_is_of_its_columns_type() {
        let mut page = page();
        page.begin_row(7);
        page.integer(-2);
        page.hundredths(-1_000);
        page.time(86_400 + 1);
        page.text(b"OE");
        page.text_in_place(3, |place| place.fill(b'x'));
        page.smallint(7);
        page.ten_thousandths(2_000);
        let mut expected = vec![0xd1, 4, 0xfe, 0xff, 0xff, 0xff];
        expected.extend_from_slice(&[9, 0, 0xe8, 3, 0, 0, 0, 0, 0, 0]);
        // a million microseconds, day 719,163
        expected.extend_from_slice(&[8, 0x40, 0x42, 0x0f, 0, 0, 0x3b, 0xf9, 0x0a]);
        expected.extend_from_slice(b"\x02\0OE\x03\0xxx\x02\x07\0");
        expected.extend_from_slice(&[17, 1, 0xd0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!((page.bytes, page.mismatch), (expected, false));
    }

    #[test]
    fn long_numbers_and_dates_have_their_types() {
        let columns = columns("INSERT BULK t (a bigint, b date)").unwrap();
        let types: Vec<_> = columns.into_iter().map(|(_, of_type)| of_type).collect();
        let mut page = Page::new(types.into(), Vec::new());
        page.begin_row(2);
        page.bigint(-2);
        page.date(1);
        let expected =
            vec![0xd1, 8, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 3, 0x3b, 0xf9, 0x0a];
        assert_eq!((page.bytes, page.mismatch), (expected, false));
    }

    #[test]
    fn a_value_of_another_type_is_never_sent() {
        let wrong: [fn(&mut Page); 6] = [
            |page| page.smallint(1),
            |page| page.text(b"1"),
            |page| page.time(1),
            |page| page.hundredths(1),
            |page| (page.integer(1), page.ten_thousandths(1)).1,
            |page| {
                [Page::null; 3].iter().for_each(|null| null(page));
                page.text(b"too long");
            },
        ];
        for write in wrong {
            let mut page = page();
            page.begin_row(7);
            write(&mut page);
            assert!(page.mismatch);
        }
    }

    #[test]
    fn a_null_has_the_form_of_its_columns_type() {
        let mut page = page();
        page.begin_row(7);
        (0..7).for_each(|_| page.null());
        assert_eq!(page.bytes, [0xd1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0]);
    }

    #[test]
    fn what_a_page_leaves_is_sent_with_the_next_one_and_counted_once() {
        let mut page = page();
        page.bytes.extend_from_slice(b"abcdef");
        let mut next = page.after(4);
        assert_eq!((&next.bytes[..], next.size_bytes()), (&b"ef"[..], 0));
        next.begin_row(7);
        assert_eq!(next.size_bytes(), 1);
    }
}
