//! The transport of an authenticated session: a socket, with or without TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::socket::ReadInterestSocket;
use crate::response_arrival;
use crate::session::Delay;

/// A stream with a single owner; `Encrypted` is the stream of TLS.
pub enum Transport<Encrypted> {
    Plain(ReadInterestSocket),
    Tls(Box<Encrypted>),
}

impl<Encrypted: AsyncRead + AsyncWrite + Unpin> Transport<Encrypted> {
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

/// The error of a transport, in words.
pub fn lost_message(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "connection closed".into(),
        _ => format!("error communicating with the server: {error}"),
    }
}
