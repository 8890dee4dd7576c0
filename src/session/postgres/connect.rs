//! Connecting with tokio-postgres: address, TLS and authentication.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, PoisonError};

use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::errors::driver_error;
use super::transport::{CapturingTls, Shared, Transport};
use crate::address::{ServerAddress, TlsMode};
use crate::session::stream::{self, CONNECT_TIMEOUT, Socket};
use crate::session::{Error, tls};

/// The task that moves bytes for a client; it ends with the client.
pub type Connection = Pin<Box<dyn Future<Output = Result<(), tokio_postgres::Error>> + Send>>;

/// An address with the settings that all its connections share.
pub struct ConnectionSettings {
    address: ServerAddress,
    config: Config,
    /// Built by the first connection.
    tls: OnceLock<Result<MakeRustlsConnect, String>>,
}

impl ConnectionSettings {
    pub fn new(address: ServerAddress) -> Self {
        Self { config: config(&address), tls: OnceLock::new(), address }
    }

    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// A client, and its connection, which must be polled.
    pub async fn open_client(&self) -> Result<(Client, Connection), Error> {
        let (client, connection) =
            self.config.connect(self.tls()?).await.map_err(|error| driver_error(&error))?;
        Ok((client, Box::pin(connection)))
    }

    /// Open an authenticated transport; tries each address of the host name in turn.
    pub async fn open_transport(&self) -> Result<Transport, Error> {
        let unix_socket = format!(".s.PGSQL.{}", self.address.port);
        stream::connect(&self.address, &unix_socket, async |socket| self.authenticate(socket).await)
            .await
    }

    fn tls(&self) -> Result<MakeRustlsConnect, Error> {
        let built = self.tls.get_or_init(|| {
            tls::client_config(&self.address, rustls::DEFAULT_VERSIONS).map(MakeRustlsConnect::new)
        });
        built.clone().map_err(Error::other)
    }

    /// Encrypt and authenticate, then take over the stream. The server sends nothing unrequested in
    /// between, so the buffers dropped here are empty.
    async fn authenticate(&self, socket: Socket) -> Result<Transport, Error> {
        let unusable = |error: &dyn std::fmt::Display| Error::other(error.to_string());
        let mut make = self.tls()?;
        let rustls =
            MakeTlsConnect::<Shared<Socket>>::make_tls_connect(&mut make, &self.address.host)
                .map_err(|error| unusable(&error))?;
        let (socket, encrypted) = (Shared::new(socket), Arc::default());
        let connector = CapturingTls { rustls, encrypted: Arc::clone(&encrypted) };
        drop(
            self.config
                .connect_raw(socket.clone(), connector)
                .await
                .map_err(|error| driver_error(&error))?,
        );
        let encrypted = encrypted.lock().unwrap_or_else(PoisonError::into_inner).take();
        let transport = match encrypted {
            Some(stream) => stream.into_inner().map(Transport::tls),
            None => socket
                .into_inner()
                .map(Socket::into_read_interest)
                .transpose()
                .map_err(|error| unusable(&error))?
                .map(Transport::Plain),
        };
        transport.ok_or_else(|| Error::other("the connection has another owner; this is a defect"))
    }
}

fn config(address: &ServerAddress) -> Config {
    let mut config = Config::new();
    config.host(&address.host).port(address.port).user(&address.user).dbname(&address.database);
    config.application_name("kneebench").connect_timeout(CONNECT_TIMEOUT).ssl_mode(
        match address.tls {
            _ if address.is_local_socket() => SslMode::Disable,
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        },
    );
    if let Some(password) = &address.password {
        config.password(&password.0);
    }
    config
}
