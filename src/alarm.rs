//! A timer finer than the runtime's own, which rounds up to a millisecond: longer than a whole transaction may take.

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

/// One timerfd for all sleepers of a worker, set to the earliest of them.
pub struct Alarm {
    go: Instant,
    timer: AsyncFd<OwnedFd>,
    /// By time, then by order of coming.
    sleepers: RefCell<BTreeMap<(u64, u64), Waker>>,
    came: Cell<u64>,
}

impl Alarm {
    /// Times count from `go`. A task of the runtime wakes the sleepers, as long as the runtime lives.
    pub fn start(go: Instant) -> io::Result<Rc<Self>> {
        // SAFETY: no pointers are passed.
        let made = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours alone; its owner keeps it open for as long as it is registered.
        let timer = unsafe { AsyncFd::register_with_interest(OwnedFd::from_raw_fd(made), Interest::READABLE) }?;
        let alarm = Rc::new(Self { go, timer, sleepers: RefCell::default(), came: Cell::new(0) });
        tokio::task::spawn_local(Rc::clone(&alarm).ring());
        Ok(alarm)
    }

    pub fn sleep_until(&self, at_ns: u64) -> impl Future<Output = ()> {
        let mut bed = Bed { alarm: self, key: None };
        poll_fn(move |context| {
            if self.now_ns() >= at_ns {
                return Poll::Ready(());
            }
            bed.lie_down(at_ns, context.waker());
            Poll::Pending
        })
    }

    /// Wake whoever's time has come, each time the timer goes off.
    async fn ring(self: Rc<Self>) {
        while let Ok(mut ready) = self.timer.readable().await {
            ready.clear_ready();
            let later = self.sleepers.borrow_mut().split_off(&(self.now_ns() + 1, 0));
            let due = self.sleepers.replace(later);
            self.set();
            due.into_values().for_each(Waker::wake);
        }
    }

    /// Set the timer to the earliest sleeper.
    fn set(&self) {
        let Some(&(at_ns, _)) = self.sleepers.borrow().keys().next() else { return };
        let left_ns = at_ns.saturating_sub(self.now_ns()).max(1);
        let value = libc::timespec { tv_sec: (left_ns / 1_000_000_000) as i64, tv_nsec: (left_ns % 1_000_000_000) as i64 };
        let once = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // SAFETY: the descriptor is a timer's, the time is valid, and the old one is not asked for: it cannot fail.
        unsafe { libc::timerfd_settime(self.timer.as_raw_fd(), 0, &once, std::ptr::null_mut()) };
    }

    fn now_ns(&self) -> u64 {
        self.go.elapsed().as_nanos() as u64
    }
}

/// A sleeper's place, given up when it wakes or no longer wants to sleep.
struct Bed<'a> {
    alarm: &'a Alarm,
    key: Option<(u64, u64)>,
}

impl Bed<'_> {
    fn lie_down(&mut self, at_ns: u64, waker: &Waker) {
        let alarm = self.alarm;
        let key = *self.key.get_or_insert_with(|| (at_ns, alarm.came.replace(alarm.came.get() + 1)));
        let earliest = {
            let mut sleepers = alarm.sleepers.borrow_mut();
            let first_time = sleepers.insert(key, waker.clone()).is_none();
            first_time && sleepers.keys().next() == Some(&key)
        };
        if earliest {
            alarm.set();
        }
    }
}

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.alarm.sleepers.borrow_mut().remove(&key);
        }
    }
}
