//! The known wire protocols: one arm each. Nothing else chooses between them.

use std::fs::File;
use std::io::{self, Write};
use std::iter;
use std::path::Path;

use crate::address::ServerAddress;
use crate::dataset::Table;
use crate::generator_spec::GeneratorSpec;
use crate::load_generator::{LoadGenerator, ThreadedLoadGenerator};
use crate::loading::{Load, LoadProgress, LoadingSpec};
use crate::session::Connector;
use crate::session::mysql::{Lines, MysqlConnector};
use crate::session::postgres::PostgresConnector;
use crate::session::spread::Spread;
use crate::session::tds::TdsConnector;

/// The address of a database, by the wire protocol of its server.
#[derive(Clone, Debug, PartialEq)]
pub enum Address {
    Mysql(ServerAddress),
    Postgres(ServerAddress),
    Tds(ServerAddress),
}

/// Capacity of what is written to a file at once, with room for the last row.
const PAGE_BYTES: usize = 80 << 10;

/// Names of the protocols.
pub const NAMES: [&str; 3] = ["mysql", "postgres", "tds"];

impl Address {
    pub fn new(protocol: &str, server: ServerAddress) -> Result<Self, String> {
        match protocol {
            "mysql" => Ok(Address::Mysql(server)),
            "postgres" => Ok(Address::Postgres(server)),
            "tds" => Ok(Address::Tds(server)),
            _ => Err(format!("unknown protocol {protocol:?}; known: {}", NAMES.join(", "))),
        }
    }

    /// A load generator for this database and others by the same protocol, over which its sessions
    /// are spread; nothing is opened before ready().
    pub fn load_generator(&self, beside: &[&Self], spec: GeneratorSpec) -> Box<dyn LoadGenerator> {
        let servers = iter::once(self).chain(beside.iter().copied()).map(Self::server).cloned();
        match self {
            Address::Mysql(_) => spread(spec, servers.map(MysqlConnector::new)),
            Address::Postgres(_) => spread(spec, servers.map(PostgresConnector::new)),
            Address::Tds(_) => spread(spec, servers.map(TdsConnector::new)),
        }
    }

    fn server(&self) -> &ServerAddress {
        let (Address::Mysql(server) | Address::Postgres(server) | Address::Tds(server)) = self;
        server
    }

    /// A load of this database; nothing is opened before start().
    pub fn load(self, spec: LoadingSpec) -> Box<dyn LoadProgress> {
        match self {
            Address::Mysql(server) => Box::new(Load::new(spec, MysqlConnector::new(server))),
            Address::Postgres(server) => Box::new(Load::new(spec, PostgresConnector::new(server))),
            Address::Tds(server) => Box::new(Load::new(spec, TdsConnector::new(server))),
        }
    }
}

fn spread<C: Connector + Send + Sync + 'static>(
    spec: GeneratorSpec,
    databases: impl Iterator<Item = C>,
) -> Box<dyn LoadGenerator> {
    Box::new(ThreadedLoadGenerator::new(spec, Spread::over(databases)))
}

/// Write a table's rows to a file, in the text that LOAD DATA reads; returns their number.
pub fn write_lines(table: Table, path: &Path) -> io::Result<u64> {
    let (mut file, mut rows, mut made) = (File::create(path)?, table.rows(), 0);
    loop {
        let mut page = Lines::new(PAGE_BYTES);
        match rows.page(&mut page) {
            0 => return Ok(made),
            some => made += some,
        }
        file.write_all(&page.into_lines())?;
    }
}

/// Constants of the protocols for Python.
#[cfg(feature = "python")]
pub fn register(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
    crate::session::postgres::python::register(module)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::TlsMode;

    #[test]
    fn an_unknown_protocol_is_refused_with_the_known_ones() {
        let server = ServerAddress {
            host: "db".into(),
            port: 1,
            user: "me".into(),
            password: None,
            database: "shop".into(),
            tls: TlsMode::Disable,
            root_certificate: String::new(),
        };
        assert!(NAMES.iter().all(|name| Address::new(name, server.clone()).is_ok()));
        assert!(Address::new("gopher", server).unwrap_err().contains(NAMES[0]));
    }
}
