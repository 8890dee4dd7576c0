//! MariaDB and MySQL: five prepared statements, each a CALL, one round trip and one transaction.
//!
//! Connecting and preparing read and write whole packets; from then on a call is one write and one
//! read, its rows skipped (docs/decisions/mysql-wire.md).

mod connect;
mod decimal;
mod errors;
mod load;
mod packets;
mod request;
mod response;
mod settings;
mod text_format;

pub use self::text_format::Page as Lines;
use tokio_rustls::client::TlsStream;

use self::connect::ConnectionSettings;
use self::packets::PacketStream;
use self::request::Statements;
use self::response::ResponseParser;
use crate::address::ServerAddress;
use crate::inputs::{Kind, Transaction};
use crate::session::exchange::Exchange;
use crate::session::opening::within_limit;
use crate::session::stream::Socket;
use crate::session::{Connector, Delay, Error, Outcome, Session};

/// Opens connections to a database of MariaDB or MySQL: sessions, and connections for loading.
pub struct MysqlConnector {
    settings: ConnectionSettings,
}

impl MysqlConnector {
    pub fn new(address: ServerAddress) -> Self {
        Self { settings: ConnectionSettings::new(address) }
    }

    async fn open_with(&self, more: &[&str]) -> Result<PacketStream, Error> {
        let mut packets = self.settings.open().await?;
        for statement in settings::SETTINGS.iter().chain(more) {
            packets.query(statement).await.map_err(|error| error.during(statement))?;
        }
        Ok(packets)
    }
}

impl Connector for MysqlConnector {
    type Session = MysqlSession;

    async fn open(&self) -> Result<MysqlSession, Error> {
        let session = async { MysqlSession::prepared(self.open_with(&[]).await?).await };
        within_limit(session).await.map_err(|error| error.during(self.settings.address()))
    }
}

/// One connection with its statements prepared.
pub struct MysqlSession {
    exchange: Exchange<TlsStream<Socket>, ResponseParser>,
    statements: Statements,
}

impl MysqlSession {
    async fn prepared(mut packets: PacketStream) -> Result<Self, Error> {
        let mut statements = Statements::default();
        for kind in Kind::ALL {
            statements[kind as usize] = prepare(&mut packets, kind).await.map_err(|error| {
                error.during(format_args!("preparing {:?}", request::sql(kind)))
            })?;
        }
        let unusable = |error| Error::other(format!("the connection is not usable: {error}"));
        let exchange = Exchange::new(packets.into_transport().map_err(unusable)?);
        Ok(Self { exchange, statements })
    }
}

/// Prepare the statement of a transaction; returns its number.
async fn prepare(packets: &mut PacketStream, kind: Kind) -> Result<u32, Error> {
    packets.command(&request::prepare(kind)).await?;
    let prepared = packets.receive().await?;
    // OK, its number, the numbers of its columns and parameters; then their definitions
    let [0, a, b, c, d, columns_low, columns_high, low, high, ..] = prepared[..] else {
        return Err(Error::other("the prepared statement is not understood"));
    };
    for count in [[low, high], [columns_low, columns_high]] {
        if count != [0, 0] {
            packets.skip_definitions().await?;
        }
    }
    Ok(u32::from_le_bytes([a, b, c, d]))
}

impl Session for MysqlSession {
    /// Rows are skipped, not decoded.
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        request::call(&mut self.exchange.request, &self.statements, transaction);
        match self.exchange.round_trip().await {
            Ok(None) => Outcome::Committed,
            Ok(Some(refusal)) => Outcome::Failed(refusal.outcome_error()),
            Err(lost) => Outcome::Failed(lost),
        }
    }

    fn delay(&self) -> Option<Delay> {
        self.exchange.delay()
    }
}

impl Drop for MysqlSession {
    fn drop(&mut self) {
        self.exchange.close(request::QUIT);
    }
}

#[cfg(any(test, feature = "contract"))]
pub mod contract_server;
#[cfg(test)]
mod contract_tests;
#[cfg(test)]
mod login_tests;
