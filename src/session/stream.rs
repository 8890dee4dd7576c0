//! Connecting: a socket of either family, before it is authenticated.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream, UnixStream, lookup_host};
use tokio::time::timeout;

use super::Delay;
use super::error::Error;
use super::socket::ReadInterestSocket;
use crate::address::ServerAddress;

pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// A socket of either family, which waits to read and to write, or to read only.
pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    ReadInterest(ReadInterestSocket),
}

/// Connect and `authenticate`: by the Unix socket of this name in the address' directory, or by
/// each address of the host name in turn.
pub async fn connect<T>(
    address: &ServerAddress,
    unix_socket: &str,
    authenticate: impl AsyncFn(Socket) -> Result<T, Error>,
) -> Result<T, Error> {
    let failed = |error: io::Error| Error::lost(format!("error connecting to server: {error}"));
    let ServerAddress { host, port, .. } = address;
    if address.is_local_socket() {
        let path = Path::new(host).join(unix_socket);
        return authenticate(unix(&path).await.map_err(failed)?).await;
    }
    let mut last = Error::lost("no address is known for the host");
    for one in lookup_host((host.as_str(), *port)).await.map_err(failed)? {
        let connected = match tcp(one).await {
            Ok(socket) => authenticate(socket).await,
            Err(error) => Err(failed(error)),
        };
        match connected {
            Ok(opened) => return Ok(opened),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn unix(path: &Path) -> io::Result<Socket> {
    timeout(CONNECT_TIMEOUT, UnixStream::connect(path)).await?.map(Socket::Unix)
}

async fn tcp(address: SocketAddr) -> io::Result<Socket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_keepalive(true)?;
    socket.set_nodelay(true)?;
    timeout(CONNECT_TIMEOUT, socket.connect(address)).await?.map(Socket::Tcp)
}

impl Socket {
    /// Take the socket out of tokio's types.
    pub fn into_read_interest(self) -> io::Result<ReadInterestSocket> {
        match self {
            Socket::Tcp(stream) => ReadInterestSocket::new(stream.into_std()?.into()),
            Socket::Unix(stream) => ReadInterestSocket::new(stream.into_std()?.into()),
            Socket::ReadInterest(socket) => Ok(socket),
        }
    }

    /// Delay between the arrival and the reading of the last read; None where it is not known.
    pub fn delay(&self) -> Option<Delay> {
        match self {
            Socket::ReadInterest(socket) => socket.delay(),
            _ => None,
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Socket::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Socket::ReadInterest(socket) => {
                let read = ready!(socket.poll_read(context, buffer.initialize_unfilled()))?;
                buffer.advance(read);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Socket::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Socket::ReadInterest(socket) => socket.poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Socket::ReadInterest(_) => Poll::Ready(Ok(())),
        }
    }
}
