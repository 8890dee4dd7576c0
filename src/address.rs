//! The address of a server, and how to verify it; the same for all wire protocols.

use std::fmt;
use std::str::FromStr;

/// A server and the account on it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerAddress {
    /// A name, an IP address, or the directory of a Unix socket.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Option<Secret>,
    pub database: String,
    pub tls: TlsMode,
    /// A file of certificates in PEM; the system's own if empty.
    pub root_certificate: String,
}

impl ServerAddress {
    /// The host is the directory of a Unix socket.
    pub fn is_local_socket(&self) -> bool {
        self.host.starts_with('/')
    }
}

/// `prefer` encrypts where possible and verifies nothing, even with a root certificate; `require`
/// encrypts and verifies nothing, or the issuer if a root certificate is given; `verify-ca`
/// verifies the issuer; `verify-full` also requires that the certificate names the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    #[default]
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl FromStr for TlsMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "disable" => TlsMode::Disable,
            "prefer" => TlsMode::Prefer,
            "require" => TlsMode::Require,
            "verify-ca" => TlsMode::VerifyCa,
            "verify-full" => TlsMode::VerifyFull,
            _ => {
                return Err(format!(
                    "unknown TLS mode {name:?}; \
                     known: disable, prefer, require, verify-ca, verify-full"
                ));
            }
        })
    }
}

/// A password, which is never printed.
#[derive(Clone, PartialEq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, user, database, .. } = self;
        write!(out, "database {database:?} at {host}:{port} as {user:?}")
    }
}
