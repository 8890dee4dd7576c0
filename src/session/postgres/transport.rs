//! Taking over a stream: tokio-postgres connects over a shared handle; after authentication it is
//! dropped without a message to the server, and the other handle owns the stream.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::session::stream::Socket;
use crate::session::transport;

type Rustls = <MakeRustlsConnect as MakeTlsConnect<Shared<Socket>>>::TlsConnect;
/// The stream of TLS.
pub type Encrypted = <Rustls as TlsConnect<Shared<Socket>>>::Stream;

/// An authenticated stream.
pub type Transport = transport::Transport<Encrypted>;

/// A shared handle on a stream; polled by one owner at a time.
pub struct Shared<T>(Arc<Mutex<T>>);

/// A TLS connector that captures the stream it creates.
pub struct CapturingTls {
    pub rustls: Rustls,
    pub encrypted: Arc<Mutex<Option<Shared<Encrypted>>>>,
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
