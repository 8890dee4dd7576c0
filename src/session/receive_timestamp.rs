//! The kernel's receive timestamps (socket(7), SO_TIMESTAMPNS): arrival times, whenever bytes are
//! read. TCP has them, Unix streams do not.

use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Room for one control message with a `timespec`, aligned as its header must be.
type Control = [u64; 8];

/// Enable timestamps; false if the socket has none.
pub fn enable(socket: &impl AsRawFd) -> bool {
    let on: libc::c_int = 1;
    // SAFETY: the value of the option is a local int.
    let set = unsafe {
        let size = size_of_val(&on) as libc::socklen_t;
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size,
        )
    };
    set == 0
}

/// Read, and store the age of the last byte; None without a timestamp.
pub fn read(socket: &impl AsRawFd, buffer: &mut [u8], age: &mut Option<u64>) -> io::Result<usize> {
    let mut control: Control = [0; 8];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: a zeroed message is empty; its pointers refer to local memory of the given sizes that
    // outlives the call.
    let (read, timestamp) = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&mut part, 1);
        (message.msg_control, message.msg_controllen) =
            (control.as_mut_ptr().cast(), size_of::<Control>() as _);
        let read = libc::recvmsg(socket.as_raw_fd(), &mut message, 0);
        (read, if read > 0 { timestamp(&message) } else { None })
    };
    if read < 0 {
        return Err(io::Error::last_os_error());
    }
    *age = timestamp.map(age_ns);
    Ok(read as usize)
}

/// SAFETY: the kernel must have filled in the message.
unsafe fn timestamp(message: &libc::msghdr) -> Option<libc::timespec> {
    // SAFETY: the kernel has set the length of the control messages; the data of a timestamp are a
    // timespec.
    unsafe {
        let head = libc::CMSG_FIRSTHDR(message).as_ref()?;
        let stamped =
            head.cmsg_level == libc::SOL_SOCKET && head.cmsg_type == libc::SCM_TIMESTAMPNS;
        stamped.then(|| libc::CMSG_DATA(head).cast::<libc::timespec>().read_unaligned())
    }
}

/// Age by the clock of the timestamps, which may be set meanwhile: never below 0; the caller
/// rejects ages that are too long.
fn age_ns(timestamp: libc::timespec) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::new(timestamp.tv_sec as u64, timestamp.tv_nsec as u32)).as_nanos()
        as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    #[test]
    fn bytes_of_tcp_tell_how_long_ago_they_arrived() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        assert!(enable(&receiver));
        let (mut buffer, mut age) = ([0; 8], None);
        for _ in 0..2 {
            // the kernel starts to timestamp shortly after the first request
            sender.write_all(b"answer").unwrap();
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(read(&receiver, &mut buffer, &mut age).unwrap(), 6);
        }
        assert!((50_000_000..10_000_000_000).contains(&age.unwrap()), "{age:?}");
    }

    #[test]
    fn a_unix_stream_has_no_stamps() {
        let (mut sender, receiver) = UnixStream::pair().unwrap();
        enable(&receiver);
        sender.write_all(b"answer").unwrap();
        let (mut buffer, mut age) = ([0; 8], Some(1));
        assert_eq!((read(&receiver, &mut buffer, &mut age).unwrap(), age), (6, None));
    }
}
