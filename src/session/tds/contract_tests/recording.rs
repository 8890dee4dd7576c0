//! What a server answered to each request: a line of text per answer, made by a tap between the
//! session and the server.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::{NOWHERE, WRONG_PASSWORD};
use crate::address::{ServerAddress, TlsMode};
use crate::session::tds::packet::{BATCH, BULK_LOAD, HEADER_BYTES, LOGIN, PRELOGIN};
use crate::session::tds::request;

/// The answers by the key of their request; None where the server closed the connection.
pub type Answers = BTreeMap<String, Option<Vec<u8>>>;

/// Where a request starts after its headers, among them the transaction: they differ from one run
/// to the next.
const BODY: usize = HEADER_BYTES + 22;

/// A whole message: its packets as they are.
pub fn message(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let start = bytes.len();
        bytes.resize(start + HEADER_BYTES, 0);
        stream.read_exact(&mut bytes[start..])?;
        let length = u16::from_be_bytes([bytes[start + 2], bytes[start + 3]]) as usize;
        bytes.resize(start + length, 0);
        stream.read_exact(&mut bytes[start + HEADER_BYTES..])?;
        if bytes[start + 1] & 1 != 0 {
            return Ok(bytes);
        }
    }
}

/// The keys of a connection's requests: the same request has the same key in every run.
#[derive(Default)]
pub struct Keys {
    login: String,
}

impl Keys {
    pub fn key(&mut self, request: &[u8]) -> String {
        match request[0] {
            PRELOGIN => "prelogin".into(),
            LOGIN => {
                self.login = login(request).into();
                self.login.clone()
            }
            BULK_LOAD => format!("{}: rows {}", self.login, hex(&request[HEADER_BYTES..])),
            BATCH => format!("{}: {}", self.login, text(&request[BODY..])),
            _ => {
                let (size, body) = request[BODY..].split_at(2);
                let (name, rest) =
                    body.split_at(2 * u16::from_le_bytes([size[0], size[1]]) as usize);
                format!("{}: {}({})", self.login, text(name), hex(rest))
            }
        }
    }
}

fn login(request: &[u8]) -> &'static str {
    let contains = |bytes: &[u8]| request.windows(bytes.len()).any(|window| window == bytes);
    let wide = |text: &str| {
        let mut bytes = Vec::new();
        request::wide(&mut bytes, text);
        bytes
    };
    let mut scrambled = wide(WRONG_PASSWORD);
    scrambled.iter_mut().for_each(|byte| *byte = byte.rotate_left(4) ^ 0xa5);
    match () {
        _ if contains(&scrambled) => "wrong password",
        _ if contains(&wide(NOWHERE)) => "missing database",
        _ if contains(&wide("master")) => "master",
        _ => "login",
    }
}

/// The first line: later ones may contain the headers of further packets.
fn text(bytes: &[u8]) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|&pair| u16::from_le_bytes(pair));
    let line: Vec<u16> = units.take_while(|&unit| unit != u16::from(b'\n')).collect();
    String::from_utf16(&line).unwrap()
}

/// The recorded answers.
pub fn recorded() -> Answers {
    include_str!("recorded.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (key, answer) = line.split_once(" -> ").unwrap();
            (key.into(), (answer != "closed").then(|| bytes(answer)))
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Passes messages on, and keeps the answers.
pub struct Tap {
    address: ServerAddress,
    answers: Arc<Mutex<Answers>>,
}

impl Tap {
    pub fn start(server: &ServerAddress) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = ServerAddress {
            host: "127.0.0.1".into(),
            port,
            tls: TlsMode::Disable,
            ..server.clone()
        };
        let answers = Arc::new(Mutex::new(Answers::new()));
        let (kept, host, port) = (Arc::clone(&answers), server.host.clone(), server.port);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect((host.as_str(), port)).unwrap();
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || pass_on(client, server, &kept));
            }
        });
        Self { address, answers }
    }

    pub fn address(&self) -> ServerAddress {
        self.address.clone()
    }

    pub fn write(&self, file: &str) {
        let mut text = String::from(
            "# What a TDS server answered to the requests of the session contract. Written by\n\
             # KNEEBENCH_TDS_URL=... KNEEBENCH_TDS_RECORD=FILE cargo test real_server\n",
        );
        for (key, answer) in &*self.answers.lock().unwrap() {
            let answer = answer.as_ref().map_or("closed".into(), |answer| hex(answer));
            writeln!(text, "{key} -> {answer}").unwrap();
        }
        std::fs::write(file, text).unwrap();
    }
}

fn pass_on(mut client: TcpStream, mut server: TcpStream, kept: &Mutex<Answers>) {
    let mut keys = Keys::default();
    while let Ok(request) = message(&mut client) {
        server.write_all(&request).unwrap();
        let answer = message(&mut server).ok();
        kept.lock().unwrap().insert(keys.key(&request), answer.clone());
        match answer {
            Some(answer) => client.write_all(&answer).unwrap(),
            None => return,
        }
    }
}
