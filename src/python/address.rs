//! The address of a database for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::address::{Secret, ServerAddress};
use crate::protocols;

/// The address of a database, by the wire protocol of its server.
#[pyclass(frozen, eq, module = "kneebench._core")]
#[derive(PartialEq)]
pub struct Address(pub protocols::Address);

#[pymethods]
impl Address {
    #[new]
    #[pyo3(signature = (
        *, protocol, host, port, user, password = None, database,
        sslmode = "disable", sslrootcert = String::new()
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        protocol: &str,
        host: String,
        port: u16,
        user: String,
        password: Option<String>,
        database: String,
        sslmode: &str,
        sslrootcert: String,
    ) -> PyResult<Self> {
        let tls = sslmode.parse().map_err(PyValueError::new_err::<String>)?;
        let server = ServerAddress {
            host,
            port,
            user,
            password: password.map(Secret),
            database,
            tls,
            root_certificate: sslrootcert,
        };
        protocols::Address::new(protocol, server).map(Self).map_err(PyValueError::new_err)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
