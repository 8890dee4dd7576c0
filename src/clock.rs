//! The clock of the load generator. Terminals read time only here, so that they also run on a
//! simulated clock.

use std::future::Future;
use std::io;
use std::rc::Rc;
use std::time::Instant;

use crate::timer::Timer;

/// Nanoseconds since the load generator's go.
pub trait Clock: Clone + 'static {
    fn now_ns(&self) -> u64;
    /// Returns at once if `at_ns` is past.
    fn sleep_until(&self, at_ns: u64) -> impl Future<Output = ()>;
}

/// The machine's monotonic clock (`Instant`, 26 ns per reading), for the users of one worker.
#[derive(Clone)]
pub struct RealClock {
    go: Instant,
    timer: Rc<Timer>,
}

impl RealClock {
    /// Call within the worker's runtime, which drives the timer.
    pub fn new(go: Instant) -> io::Result<Self> {
        Ok(Self { go, timer: Timer::start(go)? })
    }
}

impl Clock for RealClock {
    fn now_ns(&self) -> u64 {
        self.go.elapsed().as_nanos() as u64
    }

    async fn sleep_until(&self, at_ns: u64) {
        self.timer.sleep_until(at_ns).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use tokio::runtime::{Builder, LocalOptions};

    fn run<T>(work: impl AsyncFnOnce(RealClock) -> T) -> T {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
            .unwrap();
        runtime.block_on(async { work(RealClock::new(Instant::now()).unwrap()).await })
    }

    #[test]
    fn a_sleep_is_never_short_and_seldom_a_millisecond_late() {
        let mut late_ns = run(async |clock| {
            let mut late_ns = Vec::new();
            for _ in 0..200 {
                let at_ns = clock.now_ns() + 200_000;
                clock.sleep_until(at_ns).await;
                late_ns.push(clock.now_ns().checked_sub(at_ns).unwrap());
            }
            late_ns
        });
        late_ns.sort_unstable();
        assert!(late_ns[100] < 500_000, "half of them later than {} ns", late_ns[100]);
    }

    #[test]
    fn sleepers_wake_in_the_order_of_their_times_in_whatever_order_they_registered() {
        let woken = run(async |clock| {
            let woken = Rc::new(RefCell::new(Vec::new()));
            let mut sleepers = tokio::task::JoinSet::new();
            for ms in [7, 1, 5, 3, 1, 0] {
                let (clock, woken) = (clock.clone(), Rc::clone(&woken));
                sleepers.spawn_local(async move {
                    clock.sleep_until(ms * 4_000_000).await;
                    woken.borrow_mut().push(ms);
                });
            }
            sleepers.join_all().await;
            woken.take()
        });
        assert_eq!(woken, [0, 1, 1, 3, 5, 7]);
    }

    #[test]
    fn a_cancelled_sleep_does_not_delay_the_others() {
        run(async |clock| {
            tokio::select! {
                () = clock.sleep_until(50_000_000_000) => {}
                () = clock.sleep_until(1_000_000) => {}
            }
            clock.sleep_until(2_000_000).await;
            assert!(clock.now_ns() < 1_000_000_000);
        });
    }
}
