//! PostgreSQL: five prepared statements, one round trip each, autocommit.
//!
//! tokio-postgres connects; from then on a session speaks the extended protocol itself
//! (docs/decisions/session-on-the-wire.md).

mod connect;
mod copy_format;
pub mod errors;
mod load;
#[cfg(feature = "python")]
pub mod python;
pub mod request;
mod response;
mod settings;
mod transport;

use self::connect::ConnectionSettings;
use self::response::ResponseParser;
use self::settings::{NO_LIMITS, SETTINGS};
use self::transport::Encrypted;
use crate::address::ServerAddress;
use crate::inputs::{Kind, Transaction};
use crate::session::exchange::Exchange;
use crate::session::opening::within_limit;
use crate::session::{Connector, Delay, Error, Outcome, Session};

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
        within_limit(PostgresSession::open(&self.settings))
            .await
            .map_err(|error| error.during(self.settings.address()))
    }
}

/// One connection with its statements prepared.
pub struct PostgresSession(Exchange<Encrypted, ResponseParser>);

impl PostgresSession {
    /// Connect, configure the session and prepare the five calls.
    async fn open(settings: &ConnectionSettings) -> Result<Self, Error> {
        let mut session = Self(Exchange::new(settings.open_transport().await?));
        session.prepare().await?;
        Ok(session)
    }

    async fn prepare(&mut self) -> Result<(), Error> {
        let settings: String =
            SETTINGS.iter().map(|(name, value)| format!("SET {name} = {value};")).collect();
        request::simple(&mut self.0.request, &(NO_LIMITS.to_owned() + &settings));
        self.done().await.map_err(|error| error.during("the session's settings"))?;
        for kind in Kind::ALL {
            request::prepare(&mut self.0.request, kind);
            self.done().await.map_err(|error| {
                error.during(format_args!("preparing {:?}", request::sql(kind)))
            })?;
        }
        Ok(())
    }

    async fn done(&mut self) -> Result<(), Error> {
        self.0.round_trip().await?.map_or(Ok(()), |refusal| Err(refusal.error()))
    }
}

impl Session for PostgresSession {
    /// Rows are skipped, not decoded.
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        request::call(&mut self.0.request, transaction);
        match self.0.round_trip().await {
            Ok(None) => Outcome::Committed,
            Ok(Some(refusal)) => Outcome::Failed(refusal.outcome_error()),
            Err(lost) => Outcome::Failed(lost),
        }
    }

    fn delay(&self) -> Option<Delay> {
        self.0.delay()
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        self.0.close(request::TERMINATE);
    }
}

#[cfg(any(test, feature = "contract"))]
pub mod contract_server;
#[cfg(test)]
mod contract_tests;
