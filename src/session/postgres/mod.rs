//! PostgreSQL: five prepared statements, one round trip each, autocommit.
//!
//! tokio-postgres connects; from then on a session speaks the extended protocol itself: a call is
//! one write from a reused buffer and one read into the stack, without an allocation
//! (docs/decisions/session-on-the-wire.md).

mod connect;
mod copy_format;
pub mod errors;
mod load;
#[cfg(feature = "python")]
pub mod python;
mod receive_timestamp;
pub mod request;
mod response;
mod settings;
pub mod socket;
mod transport;

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use self::connect::ConnectionSettings;
use self::response::{ErrorResponse, ResponseParser};
use self::settings::{NO_LIMITS, SETTINGS};
use self::transport::Transport;
use crate::address::ServerAddress;
use crate::inputs::{Kind, Transaction};
use crate::session::{Connector, Delay, Error, Outcome, Session};

/// Exceeds nearly every response of the five functions, so that one read is enough; larger ones are
/// read in pieces.
const READ_BYTES: usize = 2048;

/// Opens connections to a PostgreSQL database: sessions, and connections for loading.
pub struct PostgresConnector {
    settings: ConnectionSettings,
}

impl PostgresConnector {
    pub fn new(address: ServerAddress) -> Self {
        Self { settings: ConnectionSettings::new(address) }
    }
}

impl Connector for PostgresConnector {
    type Session = PostgresSession;

    async fn open(&self) -> Result<PostgresSession, Error> {
        PostgresSession::open(&self.settings)
            .await
            .map_err(|error| error.during(self.settings.address()))
    }
}

/// One connection with its statements prepared.
pub struct PostgresSession {
    transport: Transport,
    parser: ResponseParser,
    /// Messages for the server, and the number of bytes sent.
    request: Vec<u8>,
    sent: usize,
    delay: Option<Delay>,
}

impl PostgresSession {
    /// Connect, configure the session and prepare the five calls.
    async fn open(settings: &ConnectionSettings) -> Result<Self, Error> {
        let transport = settings.open_transport().await?;
        let mut session = Self {
            transport,
            parser: ResponseParser::default(),
            request: Vec::new(),
            sent: 0,
            delay: None,
        };
        session.prepare().await?;
        Ok(session)
    }

    async fn prepare(&mut self) -> Result<(), Error> {
        let settings: String =
            SETTINGS.iter().map(|(name, value)| format!("SET {name} = {value};")).collect();
        request::simple(&mut self.request, &(settings + NO_LIMITS));
        self.done().await.map_err(|error| error.during("the session's settings"))?;
        for kind in Kind::ALL {
            request::prepare(&mut self.request, kind);
            self.done().await.map_err(|error| {
                error.during(format_args!("preparing {:?}", request::sql(kind)))
            })?;
        }
        Ok(())
    }

    async fn done(&mut self) -> Result<(), Error> {
        self.round_trip().await?.map_or(Ok(()), |refusal| Err(refusal.error()))
    }

    /// Send the request and wait for its response. Fails if the connection is lost.
    async fn round_trip(&mut self) -> Result<Option<ErrorResponse>, Error> {
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

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.request.len() {
            self.sent += ready!(self.transport.poll_write(context, &self.request[self.sent..]))?;
        }
        self.transport.poll_flush(context)
    }

    fn poll_response(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Option<ErrorResponse>>> {
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

fn lost_message(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "connection closed".into(),
        _ => format!("error communicating with the server: {error}"),
    }
}

impl Session for PostgresSession {
    /// Rows are skipped, not decoded.
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        request::call(&mut self.request, transaction);
        match self.round_trip().await {
            Ok(None) => Outcome::Committed,
            Ok(Some(refusal)) => Outcome::Failed(refusal.outcome_error()),
            Err(lost) => Outcome::Failed(lost),
        }
    }

    fn delay(&self) -> Option<Delay> {
        self.delay
    }
}

impl Drop for PostgresSession {
    /// Not in the middle of a request: the server would read this as a part of it.
    fn drop(&mut self) {
        if self.sent == 0 || self.sent == self.request.len() {
            self.transport.try_send(request::TERMINATE);
        }
    }
}

#[cfg(test)]
mod contract_tests;
