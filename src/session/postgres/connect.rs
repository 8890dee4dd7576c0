//! Connecting: addresses, TLS and authentication, by tokio-postgres.

use std::error::Error as _;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::net::{TcpSocket, UnixStream, lookup_host};
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::line::{Line, Shared, Socket, Tap};
use crate::address::{Address, TlsMode};
use crate::session::tls;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// What moves bytes for a client; ends with it.
pub type Connection = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// A client, and the connection that must be driven for it to get anywhere.
pub async fn connect(address: &Address) -> Result<(Client, Connection), String> {
    let tls = tls::connector(address)?;
    let (client, connection) = config(address).connect(tls).await.map_err(|wrong| format!("{address}: {}", words(&wrong)))?;
    Ok((client, Box::pin(connection)))
}

/// An address with all that connections to it have in common.
pub struct Door<'a> {
    address: &'a Address,
    config: Config,
    tls: MakeRustlsConnect,
}

impl<'a> Door<'a> {
    pub fn new(address: &'a Address) -> Result<Self, String> {
        Ok(Self { address, config: config(address), tls: tls::connector(address)? })
    }

    pub fn address(&self) -> &Address {
        self.address
    }

    /// An authenticated session with nothing asked of it yet; of a name's addresses the first that gives one.
    pub async fn enter(&self) -> Result<Line, String> {
        let refused = |wrong: io::Error| format!("error connecting to server: {wrong}");
        let Address { host, port, .. } = self.address;
        if host.starts_with('/') {
            return self.greet(unix(host, *port).await.map_err(refused)?).await;
        }
        let mut last = "no address is known for the host".to_owned();
        for one in lookup_host((host.as_str(), *port)).await.map_err(refused)? {
            let entered = match tcp(one).await {
                Ok(socket) => self.greet(socket).await,
                Err(wrong) => Err(refused(wrong)),
            };
            match entered {
                Ok(line) => return Ok(line),
                Err(message) => last = message,
            }
        }
        Err(last)
    }

    /// Encrypt and authenticate, then take the stream over. The server says nothing unasked in between, so nothing is left behind in
    /// the buffers that are dropped here.
    async fn greet(&self, socket: Socket) -> Result<Line, String> {
        let mut make = self.tls.clone();
        let rustls =
            MakeTlsConnect::<Shared<Socket>>::make_tls_connect(&mut make, &self.address.host).map_err(|wrong| wrong.to_string())?;
        let (socket, encrypted) = (Shared::new(socket), Arc::default());
        let tap = Tap { rustls, encrypted: Arc::clone(&encrypted) };
        drop(self.config.connect_raw(socket.clone(), tap).await.map_err(|wrong| words(&wrong))?);
        let encrypted = encrypted.lock().unwrap_or_else(PoisonError::into_inner).take();
        let line = match encrypted {
            Some(stream) => stream.into_inner().map(|stream| Line::Tls(Box::new(stream))),
            None => socket.into_inner().map(Socket::into_ear).transpose().map_err(|wrong| wrong.to_string())?.map(Line::Plain),
        };
        line.ok_or_else(|| "the connection is held by someone else; this is a defect".into())
    }
}

async fn unix(folder: &str, port: u16) -> io::Result<Socket> {
    let connecting = UnixStream::connect(Path::new(folder).join(format!(".s.PGSQL.{port}")));
    timeout(CONNECT_TIMEOUT, connecting).await?.map(Socket::Unix)
}

async fn tcp(address: SocketAddr) -> io::Result<Socket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_keepalive(true)?;
    socket.set_nodelay(true)?;
    timeout(CONNECT_TIMEOUT, socket.connect(address)).await?.map(Socket::Tcp)
}

fn config(address: &Address) -> Config {
    let mut config = Config::new();
    config.host(&address.host).port(address.port).user(&address.user).dbname(&address.database);
    config.application_name("kneebench").connect_timeout(CONNECT_TIMEOUT).ssl_mode(match address.sslmode {
        _ if address.host.starts_with('/') => SslMode::Disable,
        TlsMode::Disable => SslMode::Disable,
        TlsMode::Prefer => SslMode::Prefer,
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
    });
    if let Some(password) = &address.password {
        config.password(&password.0);
    }
    config
}

/// What the server said, or what went wrong below it.
pub fn words(wrong: &Error) -> String {
    if let Some(answer) = wrong.as_db_error() {
        let more = [answer.detail(), answer.hint()].into_iter().flatten().map(|line| format!("; {line}")).collect::<String>();
        return format!("{}: {}{more} (SQLSTATE {})", answer.severity(), answer.message(), answer.code().code());
    }
    let causes = std::iter::successors(wrong.source(), |&cause| cause.source());
    causes.fold(wrong.to_string(), |said, cause| {
        let cause = cause.to_string();
        if said.contains(&cause) { said } else { format!("{said}: {cause}") }
    })
}
