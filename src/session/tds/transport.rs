//! The transport to the server: a socket, with or without TLS. The handshake of TLS is within
//! packets of PRELOGIN (MS-TDS 2.2.6.5); from then on the packets are within TLS.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::packet::{self, HEADER_BYTES};
use crate::session::Delay;
use crate::session::stream::Socket;

/// A stream of packets.
pub enum Transport {
    Plain(Socket),
    Tls(Box<TlsStream<Handshake>>),
}

/// A socket whose bytes are within packets of PRELOGIN while the handshake lasts.
pub struct Handshake {
    socket: Socket,
    lasts: bool,
    /// Bytes to send, their packet, and the number of its bytes sent.
    unsent: Vec<u8>,
    packet: Vec<u8>,
    sent: usize,
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    /// Remaining bytes of the packet that is read.
    left: usize,
}

impl Transport {
    /// Encrypt; the server has agreed to.
    pub async fn encrypted(
        socket: Socket,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> io::Result<Self> {
        let handshake = Handshake {
            socket,
            lasts: true,
            unsent: Vec::new(),
            packet: Vec::new(),
            sent: 0,
            header: [0; HEADER_BYTES],
            header_bytes: 0,
            left: 0,
        };
        let mut stream = TlsConnector::from(config).connect(name, handshake).await?;
        stream.get_mut().0.lasts = false;
        Ok(Transport::Tls(Box::new(stream)))
    }

    /// Delay between the arrival and the reading of the last read.
    pub fn delay(&self) -> Option<Delay> {
        match self {
            Transport::Plain(socket) => socket.delay(),
            Transport::Tls(stream) => stream.get_ref().0.socket.delay(),
        }
    }
}

impl Handshake {
    fn poll_header(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.left == 0 {
            let mut rest = ReadBuf::new(&mut self.header[self.header_bytes..]);
            ready!(Pin::new(&mut self.socket).poll_read(context, &mut rest))?;
            let read = rest.filled().len();
            if read == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            self.header_bytes += read;
            if self.header_bytes == HEADER_BYTES {
                self.header_bytes = 0;
                let kinds = [packet::PRELOGIN, packet::RESPONSE];
                let left = packet::payload_bytes(self.header, &kinds);
                self.left = left.map_err(io::Error::other)?;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_packet(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.unsent.is_empty() {
            let flight = std::mem::take(&mut self.unsent);
            packet::packets(&mut self.packet, packet::PRELOGIN, 4096, &flight, true);
        }
        while self.sent < self.packet.len() {
            let rest = &self.packet[self.sent..];
            self.sent += ready!(Pin::new(&mut self.socket).poll_write(context, rest))?;
        }
        (self.sent, _) = (0, self.packet.clear());
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Handshake {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.lasts {
            return Pin::new(&mut self.socket).poll_read(context, buffer);
        }
        ready!(self.poll_header(context))?;
        let size = self.left.min(buffer.remaining());
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(size));
        ready!(Pin::new(&mut self.socket).poll_read(context, &mut part))?;
        let read = part.filled().len();
        self.left -= read;
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Handshake {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.lasts {
            return Pin::new(&mut self.socket).poll_write(context, bytes);
        }
        self.unsent.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_packet(context))?;
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
            Transport::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
            Transport::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_flush(context),
            Transport::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_shutdown(context),
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
