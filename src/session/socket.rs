//! A socket that is registered for reading only.
//!
//! tokio's own sockets are also registered for writing: then each time the server reads a request,
//! the client may wake for nothing while the server works (docs/decisions/session-on-the-wire.md).

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use socket2::{Domain, Socket};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::receive_timestamp;
use crate::response_arrival;
use crate::session::Delay;

/// A connected, non-blocking socket.
pub struct ReadInterestSocket {
    socket: AsyncFd<Socket>,
    stamped: bool,
    /// Delay of the last read, from its timestamp.
    delay_ns: Option<u64>,
}

impl ReadInterestSocket {
    /// Call within the runtime that will drive it.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        // SAFETY: the descriptor has no other owner; it stays open while it is registered.
        let socket =
            unsafe { AsyncFd::register_with_interest(Socket::from(socket), Interest::READABLE) }?;
        let stamped =
            socket.get_ref().domain()? != Domain::UNIX && receive_timestamp::enable(&socket);
        if !stamped {
            response_arrival::watch();
        }
        Ok(Self { socket, stamped, delay_ns: None })
    }

    /// Delay between the arrival and the reading of the last read; call right after it.
    pub fn delay(&self) -> Option<Delay> {
        let ns = if self.stamped { self.delay_ns } else { response_arrival::delay_ns() };
        ns.map(|ns| Delay { ns, stamped: self.stamped })
    }

    /// Read up to a full buffer; 0 bytes at the end of the stream.
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.socket.poll_read_ready_mut(context))?;
            let read = match self.stamped {
                true => receive_timestamp::read(ready.get_inner(), buffer, &mut self.delay_ns),
                false => ready.get_inner().read(buffer),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                Ok(read) if read < buffer.len() && read > 0 => {
                    // nothing remains: the next read would return nothing
                    ready.clear_ready();
                    return Poll::Ready(Ok(read));
                }
                read => return Poll::Ready(read),
            }
        }
    }

    /// A request is far smaller than a socket's buffer, and the one before has its response. If it
    /// does not fit, the next poll retries.
    pub fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.socket.get_ref().write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            written => Poll::Ready(written),
        }
    }
}
