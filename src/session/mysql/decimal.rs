//! Numbers as decimal text, without an allocation.

/// Append a number.
pub fn integer(out: &mut Vec<u8>, value: i64) {
    let (mut digits, mut first, mut left) = ([0; 20], 20, value.unsigned_abs());
    loop {
        first -= 1;
        digits[first] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[first..]);
}

/// Append a number below 10^`WIDTH` with all its digits.
pub fn padded<const WIDTH: usize>(out: &mut Vec<u8>, value: u64) {
    let (mut digits, mut left) = ([b'0'; WIDTH], value);
    for digit in digits.iter_mut().rev() {
        *digit += (left % 10) as u8;
        left /= 10;
    }
    out.extend_from_slice(&digits);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_their_sign_or_their_width() {
        let mut out = Vec::new();
        for value in [0, 7, -10, 100_001, i64::from(i32::MIN)] {
            integer(&mut out, value);
            out.push(b' ');
        }
        padded::<4>(&mut out, 42);
        assert_eq!(out, b"0 7 -10 100001 -2147483648 0042");
    }
}
