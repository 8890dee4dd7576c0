//! PostgreSQL's binary COPY format, written straight into a buffer (its manual: COPY, "Binary Format"; values as the types'
//! receive functions read them).

use crate::random::Stream;

/// The header: signature, no flags, no extension.
pub const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The trailer: a row of -1 columns.
pub const TRAILER: &[u8] = &[0xff, 0xff];

/// Rows to be sent. The methods append one value each; a row is `columns` and then its values.
#[derive(Default)]
pub struct Page(pub Vec<u8>);

impl Page {
    pub fn columns(&mut self, count: i16) {
        self.0.extend_from_slice(&count.to_be_bytes());
    }

    pub fn null(&mut self) {
        self.0.extend_from_slice(&(-1i32).to_be_bytes());
    }

    pub fn int2(&mut self, value: i16) {
        let mut field = [0, 0, 0, 2, 0, 0];
        field[4..].copy_from_slice(&value.to_be_bytes());
        self.0.extend_from_slice(&field);
    }

    pub fn int4(&mut self, value: i32) {
        let mut field = [0, 0, 0, 4, 0, 0, 0, 0];
        field[4..].copy_from_slice(&value.to_be_bytes());
        self.0.extend_from_slice(&field);
    }

    /// timestamptz: microseconds since 2000-01-01 00:00 UTC.
    pub fn time(&mut self, microseconds: i64) {
        let mut field = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
        field[4..].copy_from_slice(&microseconds.to_be_bytes());
        self.0.extend_from_slice(&field);
    }

    /// char and varchar alike: the caller knows the width.
    pub fn text(&mut self, value: &[u8]) {
        self.0.extend_from_slice(&(value.len() as i32).to_be_bytes());
        self.0.extend_from_slice(value);
    }

    /// `length` random letters and digits (TPC-C 4.3.2.2).
    pub fn letters(&mut self, length: usize, random: &mut Stream) {
        self.0.extend_from_slice(&(length as i32).to_be_bytes());
        let start = self.0.len();
        self.0.resize(start + length, 0);
        fill(&mut self.0[start..], random);
    }

    /// As `letters`, with ORIGINAL somewhere in it (TPC-C 4.3.3.1).
    pub fn original(&mut self, length: usize, random: &mut Stream) {
        const WORD: &[u8] = b"ORIGINAL";
        self.letters(length, random);
        let at = self.0.len() - length + random.below((length - WORD.len() + 1) as u64) as usize;
        self.0[at..at + WORD.len()].copy_from_slice(WORD);
    }

    /// numeric with a scale of 2 below 10^10, from hundredths: up to three digits of base 10,000, none of them zero at either end.
    pub fn hundredths(&mut self, value: i64) {
        let (whole, part) = (value.unsigned_abs() / 100, value.unsigned_abs() % 100 * 100);
        self.numeric(&[(whole / 10_000) as u16, (whole % 10_000) as u16, part as u16], value < 0, 2);
    }

    /// numeric(4,4) from ten-thousandths.
    pub fn ten_thousandths(&mut self, value: i32) {
        self.numeric(&[0, 0, value as u16], false, 4);
    }

    /// `digits`: the last one comes after the point.
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

/// Eight letters a draw: each byte of 0..256 is scaled to 0..62 (8 of the 62 come up 5 times in 256, the others 4).
fn fill(place: &mut [u8], random: &mut Stream) {
    for eight in place.chunks_mut(8) {
        let drawn = random.bits().to_le_bytes().map(letter);
        eight.copy_from_slice(&drawn[..eight.len()]);
    }
}

/// 0..=9, A..=Z, a..=z.
fn letter(byte: u8) -> u8 {
    let nth = ((u16::from(byte) * 62) >> 8) as u8;
    nth + b'0' + 7 * u8::from(nth >= 10) + 6 * u8::from(nth >= 36)
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
    fn letters_are_letters_and_digits_and_all_of_them_come_up() {
        let mut page = Page::default();
        page.letters(10_000, &mut Stream::new(1, 0));
        let mut seen: Vec<u8> = page.0[4..].to_vec();
        assert!(seen.iter().all(u8::is_ascii_alphanumeric));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 62);
    }

    #[test]
    fn original_is_somewhere_in_the_text() {
        let mut random = Stream::new(1, 0);
        for length in 26..=50 {
            let mut page = Page::default();
            page.original(length, &mut random);
            assert_eq!(page.0.len(), 4 + length);
            assert!(page.0[4..].windows(8).any(|eight| eight == b"ORIGINAL"));
        }
    }
}
