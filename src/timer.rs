//! A timer finer than the runtime's own. That one rounds up to a millisecond, which may exceed a
//! whole transaction.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Instant;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::response_arrival;

/// One timerfd for all sleeps of a worker, armed for the earliest.
pub struct Timer {
    go: Instant,
    timer_fd: AsyncFd<OwnedFd>,
    /// By time, then by order of registration.
    entries: RefCell<BTreeMap<(u64, u64), Waker>>,
    registered: Cell<u64>,
}

impl Timer {
    /// Times count from `go`. A task of the runtime wakes the sleepers.
    pub fn start(go: Instant) -> io::Result<Rc<Self>> {
        // SAFETY: no pointers are passed.
        let created = unsafe {
            libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC)
        };
        if created < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and has no other owner; it stays open while it is
        // registered.
        let timer_fd = unsafe {
            AsyncFd::register_with_interest(OwnedFd::from_raw_fd(created), Interest::READABLE)
        }?;
        let timer =
            Rc::new(Self { go, timer_fd, entries: RefCell::default(), registered: Cell::new(0) });
        tokio::task::spawn_local(Rc::clone(&timer).run());
        Ok(timer)
    }

    pub fn sleep_until(&self, at_ns: u64) -> impl Future<Output = ()> {
        let mut entry = SleepEntry { timer: self, key: None };
        poll_fn(move |context| {
            if self.now_ns() >= at_ns {
                return Poll::Ready(());
            }
            entry.register(at_ns, context.waker());
            Poll::Pending
        })
    }

    /// Wake all sleepers that are due, each time the timer fires.
    async fn run(self: Rc<Self>) {
        while let Ok(mut ready) = self.timer_fd.readable().await {
            ready.clear_ready();
            response_arrival::by_timer();
            let later = self.entries.borrow_mut().split_off(&(self.now_ns() + 1, 0));
            let due = self.entries.replace(later);
            self.arm();
            due.into_values().for_each(Waker::wake);
        }
    }

    /// Arm the timer for the earliest sleeper.
    fn arm(&self) {
        let Some(&(at_ns, _)) = self.entries.borrow().keys().next() else { return };
        let left_ns = at_ns.saturating_sub(self.now_ns()).max(1);
        let value = libc::timespec {
            tv_sec: (left_ns / 1_000_000_000) as i64,
            tv_nsec: (left_ns % 1_000_000_000) as i64,
        };
        let once = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: value,
        };
        // SAFETY: the descriptor is a timer, the time is valid, and the old value is not requested:
        // the call cannot fail.
        unsafe { libc::timerfd_settime(self.timer_fd.as_raw_fd(), 0, &once, std::ptr::null_mut()) };
    }

    fn now_ns(&self) -> u64 {
        self.go.elapsed().as_nanos() as u64
    }
}

/// One registered sleep; dropping it removes it.
struct SleepEntry<'a> {
    timer: &'a Timer,
    key: Option<(u64, u64)>,
}

impl SleepEntry<'_> {
    fn register(&mut self, at_ns: u64, waker: &Waker) {
        let timer = self.timer;
        let key = *self
            .key
            .get_or_insert_with(|| (at_ns, timer.registered.replace(timer.registered.get() + 1)));
        let earliest = {
            let mut entries = timer.entries.borrow_mut();
            let is_new = entries.insert(key, waker.clone()).is_none();
            is_new && entries.keys().next() == Some(&key)
        };
        if earliest {
            timer.arm();
        }
    }
}

impl Drop for SleepEntry<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.timer.entries.borrow_mut().remove(&key);
        }
    }
}
