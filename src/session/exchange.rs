//! Requests and responses over a transport, one at a time: one write from a reused buffer and one
//! read into the stack, without an allocation (docs/decisions/session-on-the-wire.md).

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite};

use super::transport::{Transport, lost_message};
use super::{Delay, Error};

/// Exceeds nearly every response of the five transactions, so that one read is enough; larger ones
/// are read in pieces.
const READ_BYTES: usize = 2048;

/// Parses the responses of a wire protocol from pieces of any size.
pub trait Responses: Default {
    /// An error that the server reports.
    type Refusal;

    /// Parse the next bytes. Fails if they are no part of a response.
    fn feed(&mut self, bytes: &[u8]) -> Result<(), String>;
    /// The response once it is complete: None without an error.
    fn response(&mut self) -> Option<Option<Self::Refusal>>;
    /// The last message of a server that ends the connection.
    fn termination(&self) -> Option<Error> {
        None
    }
}

/// A transport with its buffer of requests and its parser of responses.
pub struct Exchange<Encrypted, Parser> {
    transport: Transport<Encrypted>,
    parser: Parser,
    /// Messages for the server, and the number of bytes sent.
    pub request: Vec<u8>,
    sent: usize,
    delay: Option<Delay>,
}

impl<Encrypted: AsyncRead + AsyncWrite + Unpin, Parser: Responses> Exchange<Encrypted, Parser> {
    pub fn new(transport: Transport<Encrypted>) -> Self {
        Self { transport, parser: Parser::default(), request: Vec::new(), sent: 0, delay: None }
    }

    /// Send the request and wait for its response. Fails if the connection is lost.
    pub async fn round_trip(&mut self) -> Result<Option<Parser::Refusal>, Error> {
        let mut unsent = None;
        let response = poll_fn(|context| {
            if unsent.is_none() {
                unsent = ready!(self.poll_send(context)).err();
            }
            // A server that closed the connection may have sent the reason: read to the end.
            let response = ready!(self.poll_response(context));
            Poll::Ready(unsent.take().map_or(response, Err))
        })
        .await;
        (self.sent, _) = (0, self.request.clear());
        response.map_err(|error| {
            self.parser.termination().unwrap_or_else(|| Error::lost(lost_message(&error)))
        })
    }

    /// Delay of the last response between its arrival and its reading; None if unknown.
    pub fn delay(&self) -> Option<Delay> {
        self.delay
    }

    /// Send the end of a session if possible without waiting; not in the middle of a request, of
    /// which the server would read it as a part.
    pub fn close(&mut self, message: &[u8]) {
        if self.sent == 0 || self.sent == self.request.len() {
            self.transport.try_send(message);
        }
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.request.len() {
            self.sent += ready!(self.transport.poll_write(context, &self.request[self.sent..]))?;
        }
        self.transport.poll_flush(context)
    }

    fn poll_response(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Parser::Refusal>>> {
        loop {
            let mut buffer = [0; READ_BYTES];
            let read = ready!(self.transport.poll_read(context, &mut buffer))?;
            if read == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            self.parser.feed(&buffer[..read]).map_err(io::Error::other)?;
            if let Some(response) = self.parser.response() {
                self.delay = self.transport.delay();
                return Poll::Ready(Ok(response));
            }
        }
    }
}
