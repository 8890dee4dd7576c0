//! Whole packets, one after the other: for connecting, preparing and loading (MariaDB's manual,
//! "0-packet"). A packet is a header (length in 3 bytes, sequence number) and its payload.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::client::TlsStream;

use super::errors::{ERR, ServerError};
use crate::session::Error;
use crate::session::stream::Socket;
use crate::session::transport::{Transport, lost_message};

pub const HEADER_BYTES: usize = 4;
/// Far above what a server sends while connecting, preparing and loading: a longer packet is not
/// read into memory.
const MAX_RECEIVED_BYTES: usize = 1 << 16;
/// A longer payload continues in the next packet.
const MAX_PAYLOAD_BYTES: usize = 0xff_ffff;
const QUERY: u8 = 0x03;
const OK: u8 = 0x00;
const EOF: u8 = 0xfe;
const LOCAL_FILE: u8 = 0xfb;

/// A socket, with or without TLS.
pub enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

/// A connection that sends and receives whole packets.
pub struct PacketStream {
    stream: Stream,
    sequence: u8,
}

/// What the server sends back for a statement.
pub enum Reply {
    Done,
    /// It requests the rows of LOAD DATA LOCAL.
    LocalFile,
}

impl PacketStream {
    pub fn new(socket: Socket) -> Self {
        Self { stream: Stream::Plain(socket), sequence: 0 }
    }

    /// The same packets over another stream; the sequence continues.
    pub async fn upgrade<F>(self, encrypt: impl FnOnce(Socket) -> F) -> io::Result<Self>
    where
        F: Future<Output = io::Result<TlsStream<Socket>>>,
    {
        let Self { stream: Stream::Plain(socket), sequence } = self else { return Ok(self) };
        Ok(Self { stream: Stream::Tls(Box::new(encrypt(socket).await?)), sequence })
    }

    pub fn is_encrypted(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// The stream for a session: nothing is buffered here.
    pub fn into_transport(self) -> io::Result<Transport<TlsStream<Socket>>> {
        Ok(match self.stream {
            Stream::Plain(socket) => Transport::Plain(socket.into_read_interest()?),
            Stream::Tls(stream) => Transport::tls(*stream),
        })
    }

    /// Receive the next payload. Fails with the server's error, if it is one.
    pub async fn receive(&mut self) -> Result<Vec<u8>, Error> {
        let payload = self.read().await.map_err(|error| Error::lost(lost_message(&error)))?;
        match payload.first() {
            Some(&ERR) => Err(ServerError::read(&payload).error()),
            _ => Ok(payload),
        }
    }

    /// Send a payload as the next packet.
    pub async fn send(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut packet = vec![0; HEADER_BYTES];
        packet.extend_from_slice(payload);
        self.send_in_place(packet).await
    }

    /// Send a packet whose first bytes are free for its header.
    pub async fn send_in_place(&mut self, mut packet: Vec<u8>) -> Result<(), Error> {
        let length = packet.len() - HEADER_BYTES;
        if length >= MAX_PAYLOAD_BYTES {
            return Err(Error::other(format!("a packet of {length} bytes is too long")));
        }
        packet[..HEADER_BYTES].copy_from_slice(&header(length, self.sequence));
        self.sequence = self.sequence.wrapping_add(1);
        self.write(&packet).await.map_err(|error| Error::lost(lost_message(&error)))
    }

    /// Send a command, which begins a new sequence.
    pub async fn command(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.sequence = 0;
        self.send(payload).await
    }

    /// Run a statement that returns no rows.
    pub async fn query(&mut self, statement: &str) -> Result<Reply, Error> {
        let mut payload = vec![QUERY];
        payload.extend_from_slice(statement.as_bytes());
        self.command(&payload).await?;
        match self.receive().await?.first() {
            Some(&OK) => Ok(Reply::Done),
            Some(&LOCAL_FILE) => Ok(Reply::LocalFile),
            _ => Err(Error::other("the statement returned rows; this is a defect")),
        }
    }

    /// Skip packets up to an EOF packet.
    pub async fn skip_definitions(&mut self) -> Result<(), Error> {
        while self.receive().await?.first() != Some(&EOF) {}
        Ok(())
    }

    async fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut header = [0; HEADER_BYTES];
        self.read_exact(&mut header).await?;
        let [a, b, c, sequence] = header;
        self.sequence = sequence.wrapping_add(1);
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        if length > MAX_RECEIVED_BYTES {
            let words = format!("the server's response is none of MySQL's: {length} bytes");
            return Err(io::Error::other(words));
        }
        let mut payload = vec![0; length];
        self.read_exact(&mut payload).await?;
        Ok(payload)
    }

    async fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(socket) => socket.read_exact(bytes).await,
            Stream::Tls(stream) => stream.read_exact(bytes).await,
        }
        .map(drop)
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Stream::Plain(socket) => socket.write_all(bytes).await,
            Stream::Tls(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await
            }
        }
    }
}

/// The header of a packet.
pub fn header(length: usize, sequence: u8) -> [u8; HEADER_BYTES] {
    let [a, b, c, _] = (length as u32).to_le_bytes();
    [a, b, c, sequence]
}

/// The place of the status in an OK packet, behind two numbers of variable length.
pub fn ok_status_at(payload: &[u8]) -> Option<usize> {
    let behind = |place: usize| {
        Some(
            place
                + match payload.get(place)? {
                    0xfc => 3,
                    0xfd => 4,
                    0xfe => 9,
                    _ => 1,
                },
        )
    };
    behind(behind(1)?)
}
