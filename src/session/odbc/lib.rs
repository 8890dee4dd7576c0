//! Sessions over ODBC: any database with a driver for unixODBC. A driver blocks until the response
//! is there, so each session has a thread of its own.
//!
//! It is a module of its own, which links to unixODBC: the core loads where there is none.

mod call;
mod connection;
mod errors;
mod load;
#[cfg(feature = "python")]
mod python;
mod session;

pub use connection::Target;
pub use errors::Classes;
pub use session::OdbcConnector;

#[cfg(test)]
mod contract_tests;
