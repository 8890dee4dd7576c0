//! The first messages of a connection: PRELOGIN, which agrees on encryption (MS-TDS 2.2.6.5), and
//! LOGIN7 (2.2.6.4).

use super::packet;
use super::request::wide;
use crate::address::{ServerAddress, TlsMode};

/// Sent before a packet size is agreed on.
const FIRST_PACKET_BYTES: usize = 4096;
const TDS_7_4: u32 = 0x7400_0004;
/// The fixed part of LOGIN7, before its texts.
const FIXED_BYTES: usize = 94;
/// Flags: report the change of database and of language, fail without the database; fail without
/// the language, ANSI settings as of an ODBC client.
const FLAGS: [u8; 4] = [0xe0, 0x03, 0, 0];
const ENGLISH_US: u32 = 0x0409;

/// A side's word on encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    On,
    NotSupported,
}

impl Encryption {
    /// What the client asks for.
    pub fn wanted(tls: TlsMode) -> Self {
        if tls == TlsMode::Disable { Encryption::NotSupported } else { Encryption::On }
    }
}

/// PRELOGIN: version, encryption, instance, thread, one request at a time.
pub fn prelogin(encryption: Encryption) -> Vec<u8> {
    let encryption = if encryption == Encryption::On { 1 } else { 2 };
    let options: [(u8, &[u8]); 5] =
        [(0, &[0; 6]), (1, &[encryption]), (2, &[0]), (3, &[0; 4]), (4, &[0])];
    let mut out = Vec::new();
    packet::message(&mut out, packet::PRELOGIN, FIRST_PACKET_BYTES, |out| {
        let mut offset = 5 * options.len() as u16 + 1;
        for (token, value) in options {
            out.push(token);
            out.extend_from_slice(&offset.to_be_bytes());
            out.extend_from_slice(&(value.len() as u16).to_be_bytes());
            offset += value.len() as u16;
        }
        out.push(0xff);
        options.iter().for_each(|(_, value)| out.extend_from_slice(value));
    });
    out
}

/// The server's word on encryption.
pub fn encryption(response: &[u8]) -> Result<Encryption, String> {
    let (options, _) = response.as_chunks::<5>();
    let option = options
        .iter()
        .take_while(|option| option[0] != 0xff)
        .find(|option| option[0] == 1)
        .map(|&[_, high, low, ..]| u16::from_be_bytes([high, low]) as usize);
    match option.and_then(|offset| response.get(offset)) {
        // on, required
        Some(1 | 3) => Ok(Encryption::On),
        // off (for all but the login), not supported
        Some(0 | 2) => Ok(Encryption::NotSupported),
        _ => Err("the server's response is none of TDS: no word on encryption".into()),
    }
}

/// LOGIN7.
pub fn login(out: &mut Vec<u8>, address: &ServerAddress, packet_bytes: usize) {
    let password = address.password.as_ref().map_or("", |secret| &secret.0);
    let empty = String::new;
    let mut scrambled = Vec::new();
    wide(&mut scrambled, password);
    scrambled.iter_mut().for_each(|byte| *byte = byte.rotate_left(4) ^ 0xa5);
    // client host, user, password, program, server, extension, library, language, database
    let texts: [Vec<u8>; 9] = [
        text("kneebench"),
        text(&address.user),
        scrambled,
        text("kneebench"),
        text(&address.host),
        text(&empty()),
        text("kneebench"),
        text(&empty()),
        text(&address.database),
    ];
    packet::message(out, packet::LOGIN, FIRST_PACKET_BYTES, |out| {
        let start = out.len();
        let length = FIXED_BYTES + texts.iter().map(Vec::len).sum::<usize>();
        for number in [length as u32, TDS_7_4, packet_bytes as u32, 0, std::process::id(), 0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&FLAGS);
        // time zone, language
        out.extend_from_slice(&0u32.to_le_bytes());
        out.extend_from_slice(&ENGLISH_US.to_le_bytes());
        let mut offset = FIXED_BYTES;
        for text in &texts {
            place(out, offset, text.len() / 2);
            offset += text.len();
        }
        // network address, SSPI, file to attach, new password, long SSPI
        out.extend_from_slice(&[0; 6]);
        (0..3).for_each(|_| place(out, offset, 0));
        out.extend_from_slice(&[0; 4]);
        debug_assert_eq!(out.len() - start, FIXED_BYTES);
        texts.iter().for_each(|text| out.extend_from_slice(text));
    });
}

/// The offset and the number of characters of a text.
fn place(out: &mut Vec<u8>, offset: usize, characters: usize) {
    out.extend_from_slice(&(offset as u16).to_le_bytes());
    out.extend_from_slice(&(characters as u16).to_le_bytes());
}

fn text(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    wide(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Secret;
    use crate::session::tds::packet::HEADER_BYTES;

    #[test]
    fn prelogin_and_its_response_say_whether_the_connection_is_encrypted() {
        for wanted in [Encryption::On, Encryption::NotSupported] {
            assert_eq!(encryption(&prelogin(wanted)[HEADER_BYTES..]), Ok(wanted));
        }
        assert!(encryption(b"HTTP/1.1 400").is_err());
    }

    #[test]
    fn a_login_has_its_texts_where_it_says_and_no_readable_password() {
        let address = ServerAddress {
            host: "db".into(),
            port: 1433,
            user: "me".into(),
            password: Some(Secret("a1".into())),
            database: "shop".into(),
            tls: TlsMode::Disable,
            root_certificate: String::new(),
        };
        let mut out = Vec::new();
        login(&mut out, &address, 4096);
        let body = &out[HEADER_BYTES..];
        assert_eq!(u32::from_le_bytes(body[..4].try_into().unwrap()) as usize, body.len());
        let found = |number: usize| {
            let at = |n: usize| u16::from_le_bytes([body[n], body[n + 1]]) as usize;
            let (offset, characters) = (at(36 + 4 * number), at(38 + 4 * number));
            &body[offset..offset + 2 * characters]
        };
        assert_eq!((found(1), found(8)), (&text("me")[..], &text("shop")[..]));
        // 'a' is 0x61: nibbles changed, then 0xa5
        assert_eq!(found(2), [0xb3, 0xa5, 0xb6, 0xa5]);
    }
}
