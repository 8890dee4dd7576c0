//! What is connected to, and how.

use std::fmt;
use std::mem;
use std::ops::Deref;
use std::sync::Arc;

use kneebench::session::Error;
use odbc_api::handles::SqlResult;
use odbc_api::{Connection, ConnectionOptions, environment};

use crate::errors::Classes;

/// Longest log-in that a driver is allowed; less than the load generator's own limit around all.
const LOG_IN_S: u32 = 50;

/// A database, and what its dialect says of it.
#[derive(Clone)]
pub struct Target {
    /// As the driver reads it, with the password.
    pub connection_string: String,
    /// The same for people.
    pub place: String,
    /// Statements at the begin of every session.
    pub settings: Vec<String>,
    /// The calls of the five transactions.
    pub calls: [String; 5],
    pub classes: Classes,
}

/// A database that connectors and streams share.
pub type Shared = Arc<Target>;

/// A connection that ends also where there is nothing to disconnect from any more, which odbc-api
/// takes for a defect.
pub struct Link(Option<Connection<'static>>);

impl fmt::Debug for Target {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.place)
    }
}

impl Target {
    /// A connection with the session's settings.
    pub fn connect(&self) -> Result<Link, Error> {
        let options = ConnectionOptions { login_timeout_sec: Some(LOG_IN_S), packet_size: None };
        let link = environment()
            .and_then(|drivers| {
                drivers.connect_with_connection_string(&self.connection_string, options)
            })
            .map(|connection| Link(Some(connection)))
            .map_err(|error| self.classes.error(&error))?;
        for statement in &self.settings {
            link.execute(statement, (), None)
                .map_err(|error| self.classes.error(&error).during(statement))?;
        }
        Ok(link)
    }
}

impl Deref for Link {
    type Target = Connection<'static>;

    fn deref(&self) -> &Connection<'static> {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let Some(mut handle) = self.0.take().map(Connection::into_handle) else { return };
        // a transaction that is left is taken back; a server that is gone has done so itself
        let _ = handle.rollback();
        if let SqlResult::Error { .. } = handle.disconnect() {
            mem::forget(handle);
        }
    }
}
