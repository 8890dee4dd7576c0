//! A server that replays recorded answers, with TLS of its own.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustls::{HandshakeKind, ServerConfig, ServerConnection};

use super::recording::{Answers, Keys, message, recorded};
use crate::session::tds::login::{self, Encryption};
use crate::session::tds::packet::{self, HEADER_BYTES, PRELOGIN, RESPONSE};

const RECORD_HEADER_BYTES: usize = 5;

/// What the peer says about encryption.
#[derive(Clone)]
pub enum Encrypted {
    Never,
    Always(Arc<ServerConfig>),
}

/// It ends, with its connections, when it is dropped.
pub struct Peer {
    port: u16,
    ended: Arc<AtomicBool>,
    clients: Arc<Mutex<Vec<TcpStream>>>,
    listening: Option<JoinHandle<()>>,
}

impl Peer {
    pub fn start(encrypted: Encrypted) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ended = Arc::new(AtomicBool::new(false));
        let clients = Arc::<Mutex<Vec<TcpStream>>>::default();
        let listening = {
            let (ended, clients, answers) =
                (Arc::clone(&ended), Arc::clone(&clients), Arc::new(recorded()));
            std::thread::spawn(move || {
                for client in listener.incoming().map_while(Result::ok) {
                    if ended.load(Relaxed) {
                        return;
                    }
                    clients.lock().unwrap().push(client.try_clone().unwrap());
                    let (encrypted, answers) = (encrypted.clone(), Arc::clone(&answers));
                    std::thread::spawn(move || {
                        let closing = client.try_clone().unwrap();
                        let _ = serve(client, &encrypted, &answers);
                        let _ = closing.shutdown(Shutdown::Both);
                    });
                }
            })
        };
        Self { port, ended, clients, listening: Some(listening) }
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.listening.take().map(JoinHandle::join);
        for client in self.clients.lock().unwrap().iter() {
            let _ = client.shutdown(Shutdown::Both);
        }
    }
}

/// One connection, to its end.
fn serve(mut client: TcpStream, encrypted: &Encrypted, answers: &Answers) -> io::Result<()> {
    client.set_nodelay(true)?;
    message(&mut client)?;
    let word = match encrypted {
        Encrypted::Never => Encryption::NotSupported,
        Encrypted::Always(_) => Encryption::On,
    };
    let mut response = login::prelogin(word);
    response[0] = RESPONSE;
    client.write_all(&response)?;
    match encrypted {
        Encrypted::Never => replay(client, answers),
        Encrypted::Always(config) => replay(accept(client, config)?, answers),
    }
}

fn replay(mut client: impl Read + Write, answers: &Answers) -> io::Result<()> {
    let mut keys = Keys::default();
    loop {
        let key = keys.key(&message(&mut client)?);
        match answers.get(&key) {
            // in pieces, as a network may deliver it
            Some(Some(answer)) => {
                let (first, rest) = answer.split_at(answer.len() / 3);
                client.write_all(first)?;
                client.flush()?;
                client.write_all(rest)?;
                client.flush()?;
            }
            Some(None) => return Ok(()),
            None => {
                eprintln!("no answer was recorded to {key}");
                return Ok(());
            }
        }
    }
}

fn accept(client: TcpStream, config: &Arc<ServerConfig>) -> io::Result<impl Read + Write> {
    let mut connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    let mut wrapped = Wrapped { client, left: 0 };
    while connection.is_handshaking() {
        connection.complete_io(&mut wrapped)?;
    }
    if connection.handshake_kind() != Some(HandshakeKind::Full) {
        return Err(io::Error::other("SQL Server resumes no session of TLS"));
    }
    Ok(Records { connection, client: wrapped.client, packet: Vec::new() })
}

/// A stream that is read record by record. As on SQL Server, it ends where a record is not one
/// whole packet.
struct Records {
    connection: ServerConnection,
    client: TcpStream,
    /// What is unread of the record's packet.
    packet: Vec<u8>,
}

impl Records {
    fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut record = vec![0; RECORD_HEADER_BYTES];
        self.client.read_exact(&mut record)?;
        let length = u16::from_be_bytes([record[3], record[4]]) as usize;
        record.resize(RECORD_HEADER_BYTES + length, 0);
        self.client.read_exact(&mut record[RECORD_HEADER_BYTES..])?;
        let mut unread = record.as_slice();
        while !unread.is_empty() {
            self.connection.read_tls(&mut unread)?;
        }
        let state = self.connection.process_new_packets().map_err(io::Error::other)?;
        let mut packet = vec![0; state.plaintext_bytes_to_read()];
        self.connection.reader().read_exact(&mut packet)?;
        let whole = matches!(packet[..], [_, _, high, low, ..]
            if u16::from_be_bytes([high, low]) as usize == packet.len());
        if whole { Ok(packet) } else { Err(io::Error::other("a record is not one whole packet")) }
    }
}

impl Read for Records {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.packet.is_empty() {
            self.packet = self.next()?;
        }
        let read = self.packet.as_slice().read(buffer)?;
        self.packet.drain(..read);
        Ok(read)
    }
}

impl Write for Records {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.connection.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.client)?;
        }
        self.client.flush()
    }
}

/// A stream whose bytes are within packets of PRELOGIN: the handshake's.
struct Wrapped {
    client: TcpStream,
    left: usize,
}

impl Read for Wrapped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let mut header = [0; HEADER_BYTES];
            self.client.read_exact(&mut header)?;
            assert_eq!(header[0], PRELOGIN);
            self.left = u16::from_be_bytes([header[2], header[3]]) as usize - HEADER_BYTES;
        }
        let size = buffer.len().min(self.left);
        let read = self.client.read(&mut buffer[..size])?;
        self.left -= read;
        Ok(read)
    }
}

impl Write for Wrapped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut packets = Vec::new();
        packet::packets(&mut packets, PRELOGIN, 4096, bytes, true);
        self.client.write_all(&packets)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.client.flush()
    }
}
