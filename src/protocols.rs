//! The known wire protocols: one arm each. Nothing else chooses between them.

use crate::address::ServerAddress;
use crate::generator_spec::GeneratorSpec;
use crate::load_generator::{LoadGenerator, ThreadedLoadGenerator};
use crate::loading::{Load, LoadProgress, LoadingSpec};
use crate::session::postgres::PostgresConnector;

/// The address of a database, by the wire protocol of its server.
#[derive(Clone, Debug, PartialEq)]
pub enum Address {
    Postgres(ServerAddress),
}

/// Names of the protocols.
pub const NAMES: [&str; 1] = ["postgres"];

impl Address {
    pub fn new(protocol: &str, server: ServerAddress) -> Result<Self, String> {
        match protocol {
            "postgres" => Ok(Address::Postgres(server)),
            _ => Err(format!("unknown protocol {protocol:?}; known: {}", NAMES.join(", "))),
        }
    }

    /// A load generator for this database; nothing is opened before ready().
    pub fn load_generator(self, spec: GeneratorSpec) -> Box<dyn LoadGenerator> {
        match self {
            Address::Postgres(server) => {
                Box::new(ThreadedLoadGenerator::new(spec, PostgresConnector::new(server)))
            }
        }
    }

    /// A load of this database; nothing is opened before start().
    pub fn load(self, spec: LoadingSpec) -> Box<dyn LoadProgress> {
        match self {
            Address::Postgres(server) => Box::new(Load::new(spec, PostgresConnector::new(server))),
        }
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
