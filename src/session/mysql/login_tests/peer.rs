//! A server that has one account, with caching_sha2_password, and does nothing but let it in.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::JoinHandle;

use rustls::{ServerConnection, StreamOwned};

use crate::session::certificate::Certificate;

pub const PASSWORD: &str = "secret-word";
const PLUGIN: &[u8] = b"caching_sha2_password\0";
const ANOTHER_PLUGIN: &[u8] = b"mysql_native_password\0";
const GREETED: &[u8; 20] = b"12345678abcdefghijkl";
const SWITCHED: &[u8; 20] = b"ABCDEFGHIJKLMNOPQRST";
/// XOR(SHA256(password), SHA256(SHA256(SHA256(password)), nonce)), made by Python's hashlib.
const SCRAMBLES: [(&[u8; 20], &str); 2] = [
    (GREETED, "3d9538c8cdce184d7e3575a84561ae852c3d80e8cf3f375cf69cd7e1f15b64e0"),
    (SWITCHED, "9f5f7b53050084d55aa1b880ab6ab8dcc18ae02401603983c09088410a9ce295"),
];
const ENCRYPTS: u32 = 1 << 11;
const DEFAULT_CAPABILITIES: u32 = 0x81ff_f7ff;
const OK: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];
const KNOWN: [u8; 2] = [1, 3];
const PASSWORD_WANTED: [u8; 2] = [1, 4];
const TLS_REQUEST_BYTES: usize = 32;
const KEY_REQUEST: [u8; 1] = [2];
static FOLDERS: AtomicU32 = AtomicU32::new(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    UnixSocket,
    Tcp,
    Tls,
    /// The server offers TLS, and ends the connection at the handshake.
    BrokenTls,
}

/// The account: whether the server has its hash in its cache, and whether the server's default is
/// another plugin, from which it switches.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    pub cached: bool,
    pub switches: bool,
}

/// What a client sends to prove that it knows the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    None,
    Scramble,
    Password,
    EncryptedPassword,
}

trait Duplex: Read + Write {}

impl<T: Read + Write> Duplex for T {}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// Its files are removed when it is dropped.
pub struct Peer {
    pub transport: Transport,
    folder: PathBuf,
    listener: Listener,
    certificate: Option<Certificate>,
}

impl Peer {
    pub fn new(transport: Transport) -> Self {
        let name = format!("mysql-login-{}", FOLDERS.fetch_add(1, Relaxed));
        let folder = std::env::temp_dir().join(format!("kneebench-{name}-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let listener = match transport {
            Transport::UnixSocket => {
                Listener::Unix(UnixListener::bind(folder.join("mysqld.sock")).unwrap())
            }
            _ => Listener::Tcp(TcpListener::bind("127.0.0.1:0").unwrap()),
        };
        let certificate = (transport == Transport::Tls).then(|| Certificate::new(&name));
        Self { transport, folder, listener, certificate }
    }

    pub fn host(&self) -> String {
        match self.transport {
            Transport::UnixSocket => self.folder.display().to_string(),
            _ => "localhost".into(),
        }
    }

    pub fn port(&self) -> u16 {
        match &self.listener {
            Listener::Unix(_) => 3306,
            Listener::Tcp(listener) => listener.local_addr().unwrap().port(),
        }
    }

    pub fn root_certificate(&self) -> String {
        self.certificate.as_ref().map_or_else(String::new, |made| made.file().into())
    }

    /// Let the next client in, or not; returns the proofs that it gave.
    pub fn serve_one(&self, account: Account) -> JoinHandle<io::Result<Vec<Proof>>> {
        let config = self.certificate.as_ref().map(Certificate::server_config);
        let encrypts = matches!(self.transport, Transport::Tls | Transport::BrokenTls);
        let key = self.folder.join("key.pem");
        let accepting: Box<dyn FnOnce() -> io::Result<Box<dyn Duplex>> + Send> =
            match &self.listener {
                Listener::Unix(listener) => {
                    let listener = listener.try_clone().unwrap();
                    Box::new(move || Ok(Box::new(listener.accept()?.0)))
                }
                Listener::Tcp(listener) => {
                    let listener = listener.try_clone().unwrap();
                    Box::new(move || Ok(Box::new(listener.accept()?.0)))
                }
            };
        std::thread::spawn(move || {
            let mut login = Login { client: accepting()?, sequence: 0, key, proofs: Vec::new() };
            login.greet(account, encrypts)?;
            let mut response = login.receive()?;
            if response.len() == TLS_REQUEST_BYTES {
                let Some(config) = config else { return Ok(login.proofs) };
                let connection = ServerConnection::new(config).map_err(io::Error::other)?;
                login.client = Box::new(StreamOwned::new(connection, login.client));
                response = login.receive()?;
            }
            let accepted = login.proves(account, &response)?;
            login.send(if accepted { &OK } else { b"\xff\x15\x04#28000Access denied for user" })?;
            Ok(login.proofs)
        })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// One login under way.
struct Login {
    client: Box<dyn Duplex>,
    sequence: u8,
    /// Where the server's RSA key is, once a client has requested it.
    key: PathBuf,
    proofs: Vec<Proof>,
}

impl Login {
    fn greet(&mut self, account: Account, encrypts: bool) -> io::Result<()> {
        let capabilities = DEFAULT_CAPABILITIES | if encrypts { ENCRYPTS } else { 0 };
        let [a, b, c, d] = capabilities.to_le_bytes();
        let plugin = if account.switches { ANOTHER_PLUGIN } else { PLUGIN };
        let greeting = [
            &b"\x0a8.0.36\0\x07\0\0\0"[..],
            &GREETED[..8],
            &[0, a, b, 0xff, 2, 0, c, d, 21],
            &[0; 10],
            &GREETED[8..],
            &[0],
            plugin,
        ];
        self.send(&greeting.concat())
    }

    /// Whether the client knows the password.
    fn proves(&mut self, account: Account, response: &[u8]) -> io::Result<bool> {
        let (nonce, scramble) = if account.switches {
            self.send(&[b"\xfe", PLUGIN, SWITCHED, b"\0"].concat())?;
            (SWITCHED, self.receive()?)
        } else {
            assert!(contains(response, PLUGIN), "the response does not name the plugin");
            (GREETED, scramble_in(response))
        };
        if scramble.is_empty() {
            self.proofs.push(Proof::None);
            return Ok(false);
        }
        self.proofs.push(Proof::Scramble);
        if account.cached {
            let known = SCRAMBLES.iter().any(|&(of, hex)| of == nonce && hex == in_hex(&scramble));
            if known {
                self.send(&KNOWN)?;
            }
            return Ok(known);
        }
        self.send(&PASSWORD_WANTED)?;
        Ok(self.password(nonce)? == [PASSWORD.as_bytes(), b"\0"].concat())
    }

    /// The password that the client sends, decrypted where it requests the key before.
    fn password(&mut self, nonce: &[u8]) -> io::Result<Vec<u8>> {
        let sent = self.receive()?;
        if sent != KEY_REQUEST {
            self.proofs.push(Proof::Password);
            return Ok(sent);
        }
        openssl(&["genrsa", "-out", self.key()], &[])?;
        let public = openssl(&["rsa", "-pubout", "-in", self.key()], &[])?;
        self.send(&[b"\x01", &public[..]].concat())?;
        let encrypted = self.receive()?;
        self.proofs.push(Proof::EncryptedPassword);
        let how = ["pkeyutl", "-decrypt", "-pkeyopt", "rsa_padding_mode:oaep", "-inkey"];
        let padded = openssl(&[&how[..], &[self.key()]].concat(), &encrypted)?;
        Ok(padded.iter().zip(nonce.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect())
    }

    fn key(&self) -> &str {
        self.key.to_str().unwrap()
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut header = [0; 4];
        self.client.read_exact(&mut header)?;
        let [a, b, c, sequence] = header;
        assert_eq!(sequence, self.sequence, "the sequence of packets is broken");
        self.sequence += 1;
        let mut payload = vec![0; u32::from_le_bytes([a, b, c, 0]) as usize];
        self.client.read_exact(&mut payload)?;
        Ok(payload)
    }

    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let [a, b, c, _] = (payload.len() as u32).to_le_bytes();
        self.client.write_all(&[&[a, b, c, self.sequence], payload].concat())?;
        self.sequence += 1;
        self.client.flush()
    }
}

/// The scramble in a response to the greeting: behind 32 bytes and the name of the user.
fn scramble_in(response: &[u8]) -> Vec<u8> {
    let user = &response[32..];
    let behind = &user[user.iter().position(|&byte| byte == 0).unwrap() + 1..];
    behind[1..=behind[0] as usize].to_vec()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What openssl prints, given these bytes.
fn openssl(arguments: &[&str], given: &[u8]) -> io::Result<Vec<u8>> {
    let piped = || Stdio::piped();
    let mut running = Command::new("openssl")
        .args(arguments)
        .stdin(piped())
        .stdout(piped())
        .stderr(piped())
        .spawn()?;
    running.stdin.take().unwrap().write_all(given)?;
    let done = running.wait_with_output()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(done.stdout)
}
