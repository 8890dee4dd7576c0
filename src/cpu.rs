//! CPU time of threads.

use std::io;

/// A thread's CPU time; other threads may read it.
#[derive(Clone, Copy, Debug)]
pub struct Cpu(libc::clockid_t);

impl Cpu {
    /// That of the thread that asks.
    pub fn of_this_thread() -> io::Result<Self> {
        let mut clock = 0;
        // SAFETY: the thread is the caller's own; the clock's id is written to a local variable.
        match unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) } {
            0 => Ok(Self(clock)),
            code => {
                let error = io::Error::from_raw_os_error(code);
                Err(io::Error::new(error.kind(), format!("a thread's CPU clock: {error}")))
            }
        }
    }

    /// 0 when the thread has ended.
    pub fn used_s(&self) -> f64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the time is written to a local variable; the clock of an ended thread gives an
        // error, not a fault.
        match unsafe { libc::clock_gettime(self.0, &mut time) } {
            0 => time.tv_sec as f64 + time.tv_nsec as f64 / 1e9,
            _ => 0.0,
        }
    }
}
