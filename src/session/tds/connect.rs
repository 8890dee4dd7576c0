//! Connecting: address, encryption and login.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::connection::Connection;
use super::login::{self, Encryption};
use super::packet::{self, HEADER_BYTES};
use super::transport::Transport;
use crate::address::{ServerAddress, TlsMode};
use crate::session::stream::{self, Socket};
use crate::session::{Error, tls};

/// The packets that a server is asked for. Before TDS 8 the handshake is within TDS, and SQL Server
/// then does not know TLS 1.3. SQL Server encrypts none above 16,383 bytes.
const SESSION_PACKET_BYTES: usize = 4096;
const LOADING_PACKET_BYTES: usize = 16_000;

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Session,
    Loading,
}

/// An address with the settings that all its connections share.
pub struct ConnectionSettings {
    address: ServerAddress,
    /// Built by the first connection.
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl ConnectionSettings {
    pub fn new(address: ServerAddress) -> Self {
        Self { tls: OnceLock::new(), address }
    }

    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Open a connection that is logged in.
    pub async fn open(&self, purpose: Purpose) -> Result<Connection, Error> {
        let wanted = Encryption::wanted(self.address.tls);
        if let Some(connection) = self.open_with(wanted, purpose).await? {
            return Ok(connection);
        }
        if self.address.tls == TlsMode::Prefer
            && let Some(plain) = self.open_with(Encryption::NotSupported, purpose).await?
        {
            return Ok(plain);
        }
        Err(Error::other("the server does not encrypt"))
    }

    /// None where the server does not encrypt and that is wanted.
    async fn open_with(
        &self,
        wanted: Encryption,
        purpose: Purpose,
    ) -> Result<Option<Connection>, Error> {
        stream::connect(&self.address, "", async |socket| self.agree(socket, wanted, purpose).await)
            .await
    }

    async fn agree(
        &self,
        mut socket: Socket,
        wanted: Encryption,
        purpose: Purpose,
    ) -> Result<Option<Connection>, Error> {
        let response = prelogin(&mut socket, wanted).await.map_err(|error| failed(&error))?;
        let server = login::encryption(&response).map_err(Error::other)?;
        if purpose == Purpose::Session {
            let socket_for_reading = socket.into_read_interest().map_err(|error| failed(&error))?;
            socket = Socket::ReadInterest(socket_for_reading);
        }
        let transport = match (wanted, server) {
            (Encryption::On, Encryption::On) => self.encrypted(socket).await?,
            (Encryption::NotSupported, Encryption::NotSupported) => Transport::Plain(socket),
            (Encryption::On, _) => return Ok(None),
            (Encryption::NotSupported, _) => {
                return Err(Error::other(
                    "the server requires encryption, the address disables it",
                ));
            }
        };
        self.log_in(transport, purpose).await.map(Some)
    }

    async fn encrypted(&self, socket: Socket) -> Result<Transport, Error> {
        let config = self.tls.get_or_init(|| {
            let mut config = tls::client_config(&self.address, &[&rustls::version::TLS12])?;
            // SQL Server does not take up an earlier session in its PRELOGIN
            config.resumption = Resumption::disabled();
            Ok(Arc::new(config))
        });
        let config = config.clone().map_err(Error::other)?;
        let name = ServerName::try_from(self.address.host.clone())
            .map_err(|error| Error::other(format!("TLS: {error}")))?;
        Transport::encrypted(socket, config, name)
            .await
            .map_err(|error| Error::lost(format!("error performing TLS handshake: {error}")))
    }

    async fn log_in(&self, transport: Transport, purpose: Purpose) -> Result<Connection, Error> {
        let packet_bytes = match purpose {
            Purpose::Session => SESSION_PACKET_BYTES,
            Purpose::Loading => LOADING_PACKET_BYTES,
        };
        let mut connection = Connection::new(transport, packet_bytes);
        login::login(&mut connection.request, &self.address, packet_bytes);
        if let Some(error) = connection.round_trip().await? {
            return Err(error.error());
        }
        match &connection.tokens.redirected {
            Some(server) => Err(Error::other(format!("the server redirects to {server}"))),
            None if connection.tokens.logged_in => Ok(connection),
            None => Err(Error::other("the server did not accept the login and gave no reason")),
        }
    }
}

/// Exchange words on encryption.
async fn prelogin(socket: &mut Socket, wanted: Encryption) -> io::Result<Vec<u8>> {
    socket.write_all(&login::prelogin(wanted)).await?;
    let mut header = [0; HEADER_BYTES];
    socket.read_exact(&mut header).await?;
    let length = packet::payload_bytes(header, &[packet::PRELOGIN, packet::RESPONSE])
        .map_err(io::Error::other)?;
    let mut response = vec![0; length];
    socket.read_exact(&mut response).await?;
    Ok(response)
}

fn failed(error: &io::Error) -> Error {
    Error::lost(format!("error connecting to server: {error}"))
}
