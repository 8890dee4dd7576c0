//! Where a server answers, and how to be sure that it is the right one.

use std::fmt;

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// A name, an IP address, or the directory of a Unix socket.
    pub host: String,
    #[serde(default = "default_port")]
    pub port: u16,
    pub user: String,
    #[serde(default)]
    pub password: Option<Secret>,
    pub database: String,
    #[serde(default)]
    pub sslmode: TlsMode,
    /// A file of certificates in PEM; the system's own when empty.
    #[serde(default)]
    pub sslrootcert: String,
}

fn default_port() -> u16 {
    5432
}

/// As libpq names them. `prefer` encrypts where it can and verifies nothing, also where `sslrootcert` is given; `require` encrypts and
/// verifies nothing, or the issuer where `sslrootcert` is given; `verify-full` also wants the certificate to name the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    #[default]
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// A password, which no message ever shows.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, user, database, .. } = self;
        write!(out, "database {database:?} at {host}:{port} as {user:?}")
    }
}
