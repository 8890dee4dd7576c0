//! One connection: a request, then its response, again and again.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::errors::ServerError;
use super::packet::Assembler;
use super::request::{self, Frame};
use super::tokens::Tokens;
use super::transport::Transport;
use crate::session::{Delay, Error};

/// Exceeds nearly every response of the five procedures, so that one read is enough; larger ones
/// are read in pieces.
const READ_BYTES: usize = 4096;

/// A connection with what its requests depend on.
pub struct Connection {
    transport: Transport,
    assembler: Assembler,
    pub tokens: Tokens,
    packet_bytes: usize,
    /// A request, and the number of its bytes sent; the buffer is reused.
    pub request: Vec<u8>,
    sent: usize,
    delay: Option<Delay>,
}

impl Connection {
    pub fn new(transport: Transport, packet_bytes: usize) -> Self {
        Self {
            transport,
            assembler: Assembler::default(),
            tokens: Tokens::default(),
            packet_bytes,
            request: Vec::new(),
            sent: 0,
            delay: None,
        }
    }

    /// What the next request depends on.
    pub fn frame(&self) -> Frame {
        Frame {
            packet_bytes: self.tokens.packet_bytes.unwrap_or(self.packet_bytes),
            transaction: self.tokens.transaction,
            collation: self.tokens.collation,
        }
    }

    pub fn delay(&self) -> Option<Delay> {
        self.delay
    }

    /// Run statements; their rows are skipped.
    pub async fn run(&mut self, sql: &str) -> Result<(), Error> {
        let frame = self.frame();
        request::batch(&mut self.request, &frame, sql);
        match self.round_trip().await? {
            None => Ok(()),
            Some(error) => Err(error.error()),
        }
    }

    /// Send the request and wait for its response. Fails if the connection is lost.
    pub async fn round_trip(&mut self) -> Result<Option<ServerError>, Error> {
        let unsent = self.send().await.err();
        // A server that closed the connection may have sent the reason: read to the end.
        let response = self.response().await;
        unsent.map_or(response, |error| Err(self.lost(&error)))
    }

    /// Send the request, or a part of it.
    pub async fn send(&mut self) -> io::Result<()> {
        let sent = poll_fn(|context| self.poll_send(context)).await;
        (self.sent, _) = (0, self.request.clear());
        sent
    }

    /// Wait for the response of what was sent.
    pub async fn response(&mut self) -> Result<Option<ServerError>, Error> {
        match poll_fn(|context| self.poll_response(context)).await {
            Ok(()) => Ok(self.tokens.take_error()),
            Err(error) => Err(self.lost(&error)),
        }
    }

    /// Each packet is a TLS record of its own: SQL Server closes a connection whose records contain
    /// less or more. A record is cut short where earlier ones fill the buffer, so they are sent
    /// first.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let packet_bytes = self.frame().packet_bytes;
        while self.sent < self.request.len() {
            ready!(Pin::new(&mut self.transport).poll_flush(context))?;
            let packets = self.sent / packet_bytes + 1;
            let end = self.request.len().min(packets * packet_bytes);
            let rest = &self.request[self.sent..end];
            self.sent += ready!(Pin::new(&mut self.transport).poll_write(context, rest))?;
        }
        Pin::new(&mut self.transport).poll_flush(context)
    }

    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut buffer = [0; READ_BYTES];
            let mut buffer = ReadBuf::new(&mut buffer);
            ready!(Pin::new(&mut self.transport).poll_read(context, &mut buffer))?;
            let bytes = buffer.filled();
            if bytes.is_empty() {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            if let Some(response) = self.assembler.whole(bytes) {
                self.delay = self.transport.delay();
                return Poll::Ready(self.tokens.read(response).map_err(io::Error::other));
            }
            if self.assembler.feed(bytes).map_err(io::Error::other)? {
                self.delay = self.transport.delay();
                let response = self.assembler.take();
                return Poll::Ready(self.tokens.read(&response).map_err(io::Error::other));
            }
        }
    }

    /// The connection is lost; the reason is the server's, if it has sent one.
    fn lost(&mut self, error: &io::Error) -> Error {
        let _ = self.tokens.read(&self.assembler.take());
        match self.tokens.take_error() {
            Some(reason) => reason.error(),
            None => Error::lost(match error.kind() {
                io::ErrorKind::UnexpectedEof => "connection closed".into(),
                _ => format!("error communicating with the server: {error}"),
            }),
        }
    }
}
