//! Random texts of TPC-C 4.3.2.

use crate::random::Stream;
use crate::row_sink::RowWriter;

/// `length` random letters and digits (TPC-C 4.3.2.2).
pub fn letters(page: &mut impl RowWriter, length: usize, random: &mut Stream) {
    page.text_in_place(length, |place| fill(place, random));
}

/// As `letters`, with ORIGINAL somewhere in it (TPC-C 4.3.3.1).
pub fn original(page: &mut impl RowWriter, length: usize, random: &mut Stream) {
    const WORD: &[u8] = b"ORIGINAL";
    page.text_in_place(length, |place| {
        fill(place, random);
        let at = random.below((length - WORD.len() + 1) as u64) as usize;
        place[at..at + WORD.len()].copy_from_slice(WORD);
    });
}

/// Eight letters per draw: each byte of 0..256 is scaled to 0..62 (8 of the 62 come up 5 times in
/// 256, the others 4).
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
    use crate::row_sink::tests::PlainPage;

    #[test]
    fn letters_are_letters_and_digits_and_all_of_them_come_up() {
        let mut page = PlainPage::default();
        letters(&mut page, 10_000, &mut Stream::new(1, 0));
        let mut seen: Vec<u8> = page.0.to_vec();
        assert!(seen.iter().all(u8::is_ascii_alphanumeric));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 62);
    }

    #[test]
    fn original_is_somewhere_in_the_text() {
        let mut random = Stream::new(1, 0);
        for length in 26..=50 {
            let mut page = PlainPage::default();
            original(&mut page, length, &mut random);
            assert_eq!(page.0.len(), length);
            assert!(page.0.windows(8).any(|eight| eight == b"ORIGINAL"));
        }
    }
}
