use super::*;
use crate::session::tds::request::wide;

const DONE: [u8; 13] = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn short_text(text: &str) -> Vec<u8> {
    let mut out = vec![text.len() as u8];
    wide(&mut out, text);
    out
}

fn sized(token: u8, body: &[u8]) -> Vec<u8> {
    [&[token], &(body.len() as u16).to_le_bytes()[..], body].concat()
}

fn error(number: i32, severity: u8, message: &str) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.extend_from_slice(&[1, severity]);
    body.extend_from_slice(&(message.len() as u16).to_le_bytes());
    wide(&mut body, message);
    body.extend(short_text("server"));
    body.extend(short_text("new_order"));
    body.extend_from_slice(&7u32.to_le_bytes());
    sized(0xaa, &body)
}

/// Columns of these types: their descriptions.
fn columns(types: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![0x81];
    out.extend_from_slice(&(types.len() as u16).to_le_bytes());
    for of_type in types {
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(of_type);
        out.extend(short_text("name"));
    }
    out
}

fn read(parts: &[&[u8]]) -> (Tokens, Result<(), String>) {
    let mut tokens = Tokens::default();
    let result = tokens.read(&parts.concat());
    (tokens, result)
}

#[test]
fn rows_of_every_width_are_skipped() {
    let columns = columns(&[
        &[0x38],
        &[0x26, 2],
        &[0x6a, 17, 38, 2],
        &[0x2a, 6],
        &[0x28],
        &[0xa7, 16, 0, 1, 2, 3, 4, 5],
        &[0xe7, 0xff, 0xff, 1, 2, 3, 4, 5],
        &[0x62, 0, 0, 0, 0],
    ]);
    let row = b"\xd1\xfd\xfd\xfd\xfd\x02\xaa\xaa\x03\xaa\xaa\xaa\x02\xaa\xaa\x01\xaa\x03\0abc\
        \xfe\xff\xff\xff\xff\xff\xff\xff\x02\0\0\0ab\0\0\0\0\x01\0\0\0x";
    let nulls = b"\xd1\xfd\xfd\xfd\xfd\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0";
    // all but the second column are NULL
    let packed = b"\xd2\xfd\x02\xaa\xaa";
    let (mut tokens, result) =
        read(&[&columns, row, nulls, packed, &error(8134, 16, "after the rows"), &DONE]);
    assert_eq!(result, Ok(()));
    assert_eq!(tokens.take_error().unwrap().number, 8134);
}

#[test]
fn the_first_error_counts_unless_a_later_one_ends_the_connection() {
    let (mut tokens, _) = read(&[&error(2627, 14, "duplicate"), &error(3621, 16, "ended"), &DONE]);
    let first = tokens.take_error().unwrap();
    assert_eq!(
        (first.number, &*first.message, &*first.procedure, first.line),
        (2627, "duplicate", "new_order", 7)
    );
    assert_eq!(tokens.take_error(), None);
    let (mut tokens, _) = read(&[&error(2627, 14, "duplicate"), &error(596, 21, "killed")]);
    assert_eq!(tokens.take_error().unwrap().number, 596);
}

#[test]
fn messages_counts_and_statuses_are_no_errors() {
    let return_value =
        [&[0xac, 0, 0][..], &short_text("@x"), &[1], &[0; 6], &[0x26, 4, 4, 1, 2, 3, 4]].concat();
    let (mut tokens, result) = read(&[
        &sized(0xab, b"anything"),
        &sized(0xa9, &[1, 0]),
        &[0x79, 0, 0, 0, 0],
        &return_value,
        &[0xae, 4, 1, 0, 0, 0, 9, 0xff],
        &DONE,
    ]);
    assert_eq!((result, tokens.take_error()), (Ok(()), None));
}

#[test]
fn a_failure_without_an_error_is_one() {
    let mut done = DONE;
    done[1] = 2;
    let (mut tokens, _) = read(&[&done]);
    assert!(tokens.take_error().unwrap().message.contains("no reason"));
}

#[test]
fn the_servers_settings_and_the_transaction_are_kept() {
    let mut packet_size = vec![4];
    packet_size.extend(short_text("8192"));
    packet_size.extend(short_text("4096"));
    let began = [8, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0];
    let (mut tokens, _) = read(&[
        &sized(0xe3, &packet_size),
        &sized(0xe3, &[7, 5, 9, 8, 7, 6, 5, 0]),
        &sized(0xe3, &began),
        &DONE,
    ]);
    assert_eq!(
        (tokens.packet_bytes, tokens.collation, tokens.transaction),
        (Some(8192), [9, 8, 7, 6, 5], [1, 2, 3, 4, 5, 6, 7, 8])
    );
    tokens.read(&sized(0xe3, &[9, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8])).unwrap();
    assert_eq!(tokens.transaction, [0; 8]);
}

#[test]
fn a_size_of_packets_that_there_is_not_is_not_taken_over() {
    for size in ["0", "8", "511", "32768", "99999999999999999999", "-1"] {
        let mut packet_size = vec![4];
        packet_size.extend(short_text(size));
        let (tokens, result) = read(&[&sized(0xe3, &packet_size), &DONE]);
        assert_eq!((tokens.packet_bytes, result), (None, Ok(())), "{size}");
    }
}

#[test]
fn a_response_that_is_cut_anywhere_or_unknown_is_refused() {
    let whole = [columns(&[&[0x26, 4]]), vec![0xd1, 4, 1, 2, 3, 4], DONE.to_vec()].concat();
    let starts: Vec<usize> = vec![0, whole.len() - 13, whole.len() - 19];
    for end in (0..whole.len()).filter(|end| !starts.contains(end)) {
        assert!(read(&[&whole[..end]]).1.is_err(), "{end}");
    }
    assert!(read(&[&[0x42]]).1.unwrap_err().contains("0x42"));
}
