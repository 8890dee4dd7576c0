//! The transport to the server: a socket, with or without TLS.
//!
//! tokio-postgres connects over a shared handle; after authentication it is dropped without a
//! message to the server, and the other handle owns the stream.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::socket::ReadInterestSocket;
use crate::response_arrival;
use crate::session::Delay;

/// A socket of either family.
pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

type Rustls = <MakeRustlsConnect as MakeTlsConnect<Shared<Socket>>>::TlsConnect;
type Encrypted = <Rustls as TlsConnect<Shared<Socket>>>::Stream;

/// An authenticated stream with a single owner.
pub enum Transport {
    Plain(ReadInterestSocket),
    Tls(Box<Encrypted>),
}

/// A shared handle on a stream; polled by one owner at a time.
pub struct Shared<T>(Arc<Mutex<T>>);

/// A TLS connector that captures the stream it creates.
pub struct CapturingTls {
    pub rustls: Rustls,
    pub encrypted: Arc<Mutex<Option<Shared<Encrypted>>>>,
}

impl Transport {
    /// A transport over TLS, which hides the kernel's receive timestamps.
    pub fn tls(stream: Encrypted) -> Self {
        response_arrival::watch();
        Transport::Tls(Box::new(stream))
    }

    /// Write to the server; perhaps not all bytes.
    pub fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Transport::Plain(socket) => socket.poll_write(context, bytes),
            Transport::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    /// A socket sends at once; TLS may buffer.
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Transport::Plain(_) => Poll::Ready(Ok(())),
            Transport::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    /// Read from the server; 0 bytes at the end of the stream.
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Transport::Plain(socket) => socket.poll_read(context, buffer),
            Transport::Tls(stream) => {
                let mut buffer = ReadBuf::new(buffer);
                ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
                Poll::Ready(Ok(buffer.filled().len()))
            }
        }
    }

    /// Delay between the arrival and the reading of the last read.
    pub fn delay(&self) -> Option<Delay> {
        match self {
            Transport::Plain(socket) => socket.delay(),
            Transport::Tls(_) => {
                response_arrival::delay_ns().map(|ns| Delay { ns, stamped: false })
            }
        }
    }

    /// Send if possible without waiting.
    pub fn try_send(&mut self, bytes: &[u8]) {
        let mut context = Context::from_waker(Waker::noop());
        let _ = self.poll_write(&mut context, bytes).is_ready()
            && self.poll_flush(&mut context).is_ready();
    }
}

impl Socket {
    /// Take the socket out of tokio's types.
    pub fn into_read_interest(self) -> io::Result<ReadInterestSocket> {
        ReadInterestSocket::new(match self {
            Socket::Tcp(stream) => stream.into_std()?.into(),
            Socket::Unix(stream) => stream.into_std()?.into(),
        })
    }
}

impl<T> Shared<T> {
    pub fn new(stream: T) -> Self {
        Self(Arc::new(Mutex::new(stream)))
    }

    /// The stream itself, if this is the last handle.
    pub fn into_inner(self) -> Option<T> {
        Some(Arc::into_inner(self.0)?.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl TlsConnect<Shared<Socket>> for CapturingTls {
    type Stream = Shared<Encrypted>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Stream>> + Send>>;

    fn connect(self, socket: Shared<Socket>) -> Self::Future {
        let encrypting = self.rustls.connect(socket);
        Box::pin(async move {
            let stream = Shared::new(encrypting.await?);
            *self.encrypted.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream.clone());
            Ok(stream)
        })
    }
}

impl TlsStream for Shared<Encrypted> {
    fn channel_binding(&self) -> ChannelBinding {
        self.lock().channel_binding()
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Shared<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Shared<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.lock()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_shutdown(context)
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
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
