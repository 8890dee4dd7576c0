//! A socket that wakes its user only when there is something to hear.
//!
//! tokio's own sockets also ask to be told when they can be written to: then the server's taking of every question may wake the client, which
//! sleeps while the server works, for nothing (docs/decisions/session-on-the-wire.md).

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use socket2::Socket;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A connected socket that does not block.
pub struct Ear(AsyncFd<Socket>);

impl Ear {
    /// Within the runtime that will drive it.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        // SAFETY: the descriptor is ours alone; its owner keeps it open for as long as it is registered.
        Ok(Self(unsafe { AsyncFd::register_with_interest(Socket::from(socket), Interest::READABLE) }?))
    }

    /// What has come, at most a buffer full; 0 bytes are the end.
    pub fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready_mut(context))?;
            match ready.get_inner().read(buffer) {
                Err(wrong) if wrong.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                Ok(read) if read < buffer.len() && read > 0 => {
                    // all there was: the next read would find nothing
                    ready.clear_ready();
                    return Poll::Ready(Ok(read));
                }
                read => return Poll::Ready(read),
            }
        }
    }

    /// A question is far smaller than a socket's buffer, and the one before it has been answered. Should it ever not fit, it is tried again at the next turn.
    pub fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.0.get_ref().write(bytes) {
            Err(wrong) if wrong.kind() == io::ErrorKind::WouldBlock => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            written => Poll::Ready(written),
        }
    }
}
