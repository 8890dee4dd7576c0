//! Connecting: address, encryption and login.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::timeout;

use super::connection::Connection;
use super::login::{self, Encryption};
use super::packet::HEADER_BYTES;
use super::transport::{Socket, Transport};
use crate::address::{ServerAddress, TlsMode};
use crate::session::socket::ReadInterestSocket;
use crate::session::{Error, tls};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// A first login may compile the server's own procedures.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(60);
/// The packets that a server is asked for. Before TDS 8 the handshake is within TDS, and SQL Server
/// then does not know TLS 1.3.
const SESSION_PACKET_BYTES: usize = 4096;
const LOADING_PACKET_BYTES: usize = 16_384;

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

    /// Open a connection that is logged in; tries each address of the host name in turn.
    pub async fn open(&self, purpose: Purpose) -> Result<Connection, Error> {
        self.open_any(purpose).await.map_err(|error| error.during(&self.address))
    }

    async fn open_any(&self, purpose: Purpose) -> Result<Connection, Error> {
        let ServerAddress { host, port, .. } = &self.address;
        let mut last = Error::lost("no address is known for the host");
        for one in lookup_host((host.as_str(), *port)).await.map_err(|error| failed(&error))? {
            match timeout(LOGIN_TIMEOUT, self.open_one(one, purpose)).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) => last = error,
                Err(_) => last = Error::lost("no response to the login within 60 s"),
            }
        }
        Err(last)
    }

    async fn open_one(&self, one: SocketAddr, purpose: Purpose) -> Result<Connection, Error> {
        let wanted = Encryption::wanted(self.address.tls);
        let (stream, server) = agree(one, wanted).await?;
        let transport = match (wanted, server) {
            (Encryption::On, Encryption::On) => self.encrypted(socket(stream, purpose)?).await?,
            (Encryption::NotSupported, Encryption::NotSupported) => {
                Transport::Plain(socket(stream, purpose)?)
            }
            (Encryption::On, _) if self.address.tls == TlsMode::Prefer => {
                let (stream, _) = agree(one, Encryption::NotSupported).await?;
                Transport::Plain(socket(stream, purpose)?)
            }
            (Encryption::On, _) => return Err(Error::other("the server does not encrypt")),
            (Encryption::NotSupported, _) => {
                return Err(Error::other(
                    "the server requires encryption, the address disables it",
                ));
            }
        };
        self.log_in(transport, purpose).await
    }

    async fn encrypted(&self, socket: Socket) -> Result<Transport, Error> {
        let config = self.tls.get_or_init(|| {
            tls::client_config(&self.address, &[&rustls::version::TLS12]).map(Arc::new)
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

/// Connect, and exchange words on encryption.
async fn agree(one: SocketAddr, wanted: Encryption) -> Result<(TcpStream, Encryption), Error> {
    let exchange = async {
        let mut stream = tcp(one).await?;
        stream.write_all(&login::prelogin(wanted)).await?;
        let mut header = [0; HEADER_BYTES];
        stream.read_exact(&mut header).await?;
        let length = u16::from_be_bytes([header[2], header[3]]) as usize;
        let mut response = vec![0; length.saturating_sub(HEADER_BYTES)];
        stream.read_exact(&mut response).await?;
        Ok((stream, response))
    };
    let (stream, response) = exchange.await.map_err(|error| failed(&error))?;
    Ok((stream, login::encryption(&response).map_err(Error::other)?))
}

async fn tcp(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_keepalive(true)?;
    socket.set_nodelay(true)?;
    timeout(CONNECT_TIMEOUT, socket.connect(address)).await?
}

fn socket(stream: TcpStream, purpose: Purpose) -> Result<Socket, Error> {
    let read_interest = |stream: TcpStream| ReadInterestSocket::new(stream.into_std()?.into());
    match purpose {
        Purpose::Loading => Ok(Socket::Full(stream)),
        Purpose::Session => {
            read_interest(stream).map(Socket::ReadInterest).map_err(|error| failed(&error))
        }
    }
}

fn failed(error: &io::Error) -> Error {
    Error::lost(format!("error connecting to server: {error}"))
}
