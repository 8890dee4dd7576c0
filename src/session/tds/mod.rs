//! TDS, the protocol of SQL Server: five procedures, called by name, one round trip each.
//!
//! The session speaks the protocol itself (docs/decisions/tds-client.md): a call is one write from
//! a reused buffer and one read into the stack, without an allocation.

mod bulk_columns;
mod bulk_format;
mod connect;
mod connection;
mod errors;
mod load;
mod login;
mod packet;
mod request;
mod tokens;
mod transport;

use self::connect::{ConnectionSettings, Purpose};
use self::connection::Connection;
use crate::address::ServerAddress;
use crate::inputs::Transaction;
use crate::session::opening::within_limit;
use crate::session::{Connector, Delay, Error, ErrorClass, Outcome, Session};

/// Settings of every session: locks are waited for as long as it takes.
const SETTINGS: &str = "SET NOCOUNT ON; SET XACT_ABORT ON; SET LOCK_TIMEOUT -1;";
/// Fails while the procedures are missing, or may not be called: neither are then seen.
const PROCEDURES_THERE: &str = "IF OBJECT_ID('kneebench.new_order') IS NULL \
    OR OBJECT_ID('kneebench.payment') IS NULL OR OBJECT_ID('kneebench.order_status') IS NULL \
    OR OBJECT_ID('kneebench.delivery') IS NULL OR OBJECT_ID('kneebench.stock_level') IS NULL \
    RAISERROR('the procedures of kneebench are missing, or not for this login', 16, 1);";

/// Opens connections to a database of SQL Server: sessions, and connections for loading.
pub struct TdsConnector {
    settings: ConnectionSettings,
}

impl TdsConnector {
    pub fn new(address: ServerAddress) -> Self {
        Self { settings: ConnectionSettings::new(address) }
    }
}

impl Connector for TdsConnector {
    type Session = TdsSession;

    async fn open(&self) -> Result<TdsSession, Error> {
        let steps =
            [(SETTINGS, "the session's settings"), (PROCEDURES_THERE, "finding the procedures")];
        self.open_for(Purpose::Session, &steps).await.map(TdsSession)
    }
}

impl TdsConnector {
    /// A connection that is logged in and has run these statements.
    async fn open_for(
        &self,
        purpose: Purpose,
        steps: &[(&str, &str)],
    ) -> Result<Connection, Error> {
        let opening = async {
            let mut connection = self.settings.open(purpose).await?;
            for (statements, action) in steps {
                connection.run(statements).await.map_err(|error| error.during(action))?;
            }
            Ok(connection)
        };
        within_limit(opening).await.map_err(|error| error.during(self.settings.address()))
    }
}

/// One connection.
pub struct TdsSession(Connection);

impl Session for TdsSession {
    /// Rows are skipped, not decoded.
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        let frame = self.0.frame();
        request::call(&mut self.0.request, &frame, transaction);
        match self.0.round_trip().await {
            Ok(None) => Outcome::Committed,
            Ok(Some(error)) => Outcome::Failed(error.outcome_error()),
            // whatever the server's last words: it is unknown whether the transaction committed
            Err(lost) => Outcome::Failed(Error { class: ErrorClass::Lost, ..lost }),
        }
    }

    fn delay(&self) -> Option<Delay> {
        self.0.delay()
    }
}

#[cfg(test)]
mod contract_tests;
