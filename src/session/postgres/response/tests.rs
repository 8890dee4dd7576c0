use super::*;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag], &(body.len() as i32 + 4).to_be_bytes()[..], body].concat()
}

fn error(severity: &str, code: &str) -> Vec<u8> {
    let fields = format!("Sschwer\0V{severity}\0C{code}\0Mno\0Dbecause\0Htry\0Fnowhere.c\0\0");
    message(b'E', fields.as_bytes())
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

/// Every message that a statement may cause, with tags and zeros in the rows.
fn rows() -> Vec<u8> {
    let rows = [message(b'D', b"Z\0\0\0\x05I"), message(b'D', &[b'E'; 20_000]), message(b'D', b"")]
        .concat();
    [
        message(b'2', b""),
        message(b'N', b"SNOTICE\0VFATAL\0\0"),
        message(b'S', b"a\0b\0"),
        rows,
        message(b'C', b"SELECT 3\0"),
        ready(),
    ]
    .concat()
}

fn response(bytes: &[u8]) -> Option<Option<ErrorResponse>> {
    let mut parser = ResponseParser::default();
    parser.feed(bytes).unwrap();
    parser.response()
}

#[test]
fn rows_and_notices_are_skipped_up_to_ready_for_query() {
    assert_eq!(response(&rows()), Some(None));
    assert_eq!(response(&rows()[..rows().len() - 1]), None);
}

#[test]
fn an_answer_cut_at_any_byte_is_the_same_answer() {
    for (whole, is_error) in
        [(rows(), false), ([message(b'2', b""), error("ERROR", "22012"), ready()].concat(), true)]
    {
        for cut in (0..whole.len()).filter(|cut| *cut < 200 || whole.len() - cut < 200) {
            let mut parser = ResponseParser::default();
            parser.feed(&whole[..cut]).unwrap();
            assert_eq!(parser.response(), None, "cut at {cut}");
            parser.feed(&whole[cut..]).unwrap();
            assert_eq!(parser.response().unwrap().is_some(), is_error, "cut at {cut}");
        }
    }
}

#[test]
fn an_answer_that_comes_byte_by_byte_is_the_same_answer() {
    let mut parser = ResponseParser::default();
    let whole = [rows(), error("ERROR", "KB001"), ready()].concat();
    let answers: Vec<_> = whole
        .iter()
        .filter_map(|&byte| parser.feed(&[byte]).map(|()| parser.response()).unwrap())
        .collect();
    assert_eq!(answers.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
    assert_eq!(answers[1].clone().unwrap().outcome_error().class, ErrorClass::RolledBack);
}

#[test]
fn an_error_has_the_class_of_its_code_and_the_servers_message() {
    let outcome = |severity, code| {
        response(&[error(severity, code), ready()].concat()).unwrap().unwrap().outcome_error()
    };
    let message_of = |code: &str| format!("schwer: no; because; try (SQLSTATE {code})");
    assert_eq!(outcome("ERROR", "KB001").class, ErrorClass::RolledBack);
    assert_eq!(
        (outcome("ERROR", "40001").class, outcome("ERROR", "40001").code),
        (ErrorClass::Retry, "40001".into())
    );
    assert_eq!(outcome("ERROR", "40P01").class, ErrorClass::Retry);
    assert_eq!(
        outcome("ERROR", "22012"),
        Error { class: ErrorClass::Other, code: "22012".into(), message: message_of("22012") }
    );
    assert_eq!(
        outcome("PANIC", "40001"),
        Error { class: ErrorClass::Lost, code: "40001".into(), message: message_of("40001") }
    );
}

#[test]
fn an_error_after_the_answer_is_a_farewell_and_does_not_change_it() {
    let mut parser = ResponseParser::default();
    parser.feed(&[rows(), error("FATAL", "57P01")].concat()).unwrap();
    assert_eq!(parser.response(), Some(None));
    assert!(
        parser
            .termination()
            .is_some_and(|error| error.code == "57P01" && error.class == ErrorClass::Lost)
    );
}

#[test]
fn what_is_no_message_is_refused() {
    for nonsense in [b"HTTP/1.1 400 Bad", b"Z\0\0\0\x03aaaaaaaaaaa"] {
        assert!(
            ResponseParser::default().feed(nonsense).unwrap_err().contains("none of PostgreSQL's")
        );
    }
}
