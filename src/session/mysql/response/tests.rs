use super::*;
use crate::session::ErrorClass;

/// These payloads as packets.
fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let packet = |(sequence, payload): (usize, &&[u8])| {
        let mut bytes = vec![payload.len() as u8, 0, 0, sequence as u8 + 1];
        bytes.extend_from_slice(payload);
        bytes
    };
    payloads.iter().enumerate().flat_map(packet).collect()
}

/// A result set with one row, then the OK of the call. The row begins with the byte of an EOF.
fn call() -> Vec<u8> {
    packets(&[
        b"\x01",
        b"\x03def\0\0\0\x05total\0\x0c",
        b"\xfe\0\0\x0a\0",
        b"\xfe\0\x0c0123456789",
        b"\xfe\0\0\x0a\0",
        b"\0\xfc\x0d\x01\0\x02\0\0\0",
    ])
}

/// The responses in these bytes, given in pieces of this size.
fn responses(bytes: &[u8], size: usize) -> Vec<Option<ServerError>> {
    let mut parser = ResponseParser::default();
    bytes
        .chunks(size)
        .filter_map(|piece| {
            parser.feed(piece).unwrap();
            parser.response()
        })
        .collect()
}

#[test]
fn a_call_ends_with_its_own_ok_in_pieces_of_any_size() {
    let bytes = call();
    for size in 1..=bytes.len() {
        assert_eq!(responses(&bytes, size), [None], "pieces of {size}");
    }
}

#[test]
fn a_result_set_alone_is_not_the_end_of_a_call() {
    let bytes = call();
    assert_eq!(responses(&bytes[..bytes.len() - 13], 5), []);
}

#[test]
fn an_error_ends_a_response_wherever_it_comes() {
    let error: &[u8] = b"\xff\xbd\x04#40001Deadlock found";
    let within = packets(&[b"\x01", b"\x03def", b"\xfe\0\0\x0a\0", b"\0\0\x03123", error]);
    for size in 1..=within.len() {
        let [Some(refusal)] = &responses(&within, size)[..] else { panic!("pieces of {size}") };
        assert_eq!(refusal.clone().error().class, ErrorClass::Retry);
    }
    assert_eq!(responses(&packets(&[error]), 3).len(), 1);
}

#[test]
fn what_is_no_response_is_an_error() {
    for bytes in [packets(&[b"\xfbrows.txt"]), packets(&[b""]), packets(&[b"\xfe\0\0\0\0"])] {
        assert!(ResponseParser::default().feed(&bytes).is_err(), "{bytes:?}");
    }
}
