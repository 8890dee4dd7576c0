//! A discrete-event executor: futures on one thread with a simulated nanosecond clock.
//!
//! It polls every ready task, then sets the clock to the next timer and continues: a minute of
//! simulated time takes as long as its events take to process. A tokio runtime with a paused clock
//! is not enough: its timers round to a millisecond, and each runtime pauses alone. Events run by
//! time and then by order of arming, so one seed gives one run.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::clock::Clock;

/// A timer: from the highest bits down its time, its number, its task. As one number it needs one
/// comparison.
type Timer = Reverse<u128>;

/// State shared by the clocks: the time, the timers, and the task being polled.
#[derive(Default)]
pub struct Timeline {
    now_ns: Cell<u64>,
    timers: RefCell<BinaryHeap<Timer>>,
    armed_count: Cell<u32>,
    polled: Cell<u32>,
}

impl Timeline {
    /// Nanoseconds since the executor was created.
    pub fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }

    /// Resolves when the clock reaches `at_ns`; at once if it is past.
    pub fn sleep_until(&self, at_ns: u64) -> Sleep<'_> {
        Sleep { timeline: self, at_ns, armed: false }
    }

    fn arm(&self, at_ns: u64) {
        let armed_count = self.armed_count.get();
        self.armed_count.set(armed_count.wrapping_add(1));
        let timer =
            u128::from(at_ns) << 64 | u128::from(armed_count) << 32 | u128::from(self.polled.get());
        self.timers.borrow_mut().push(Reverse(timer));
    }

    /// Take the next timer up to `limit_ns`, set the clock to it, and return its task.
    fn jump(&self, limit_ns: u64) -> Option<u32> {
        let mut timers = self.timers.borrow_mut();
        let &Reverse(timer) = timers.peek()?;
        let (at_ns, task) = ((timer >> 64) as u64, timer as u32);
        if at_ns > limit_ns {
            return None;
        }
        timers.pop();
        self.now_ns.set(at_ns);
        Some(task)
    }
}

/// A sleep on the clock. It belongs to the task that polls it first: timers name tasks and need no
/// waker (join and select work, moving it to another task does not). A dropped sleep leaves its
/// timer behind, which causes one idle poll.
pub struct Sleep<'a> {
    timeline: &'a Timeline,
    at_ns: u64,
    armed: bool,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.timeline.now_ns.get() >= self.at_ns {
            return Poll::Ready(());
        }
        if !self.armed {
            self.timeline.arm(self.at_ns);
            self.armed = true;
        }
        Poll::Pending
    }
}

/// The simulated clock of a load generator: nanoseconds since `origin_ns` of the timeline (its go).
#[derive(Clone)]
pub struct SimulatedClock {
    timeline: Rc<Timeline>,
    origin_ns: u64,
}

impl SimulatedClock {
    /// A clock that reads 0 now.
    pub fn starting_now(timeline: Rc<Timeline>) -> Self {
        let origin_ns = timeline.now_ns();
        Self { timeline, origin_ns }
    }
}

impl Clock for SimulatedClock {
    fn now_ns(&self) -> u64 {
        self.timeline.now_ns() - self.origin_ns
    }

    fn sleep_until(&self, at_ns: u64) -> impl Future<Output = ()> {
        self.timeline.sleep_until(self.origin_ns.saturating_add(at_ns))
    }
}

/// Tasks woken by something other than a timer. Wakers must be `Send`, hence the lock, which is
/// never contended.
#[derive(Default)]
struct Woken {
    some: AtomicBool,
    tasks: Mutex<Vec<u32>>,
}

struct TaskWaker {
    task: u32,
    woken: Arc<Woken>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(self.task);
        self.woken.some.store(true, Ordering::Release);
    }
}

struct Task {
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    waker: Waker,
}

/// The executor: its tasks, and the timeline that they sleep on.
#[derive(Default)]
pub struct Executor {
    timeline: Rc<Timeline>,
    tasks: Vec<Task>,
    vacant: Vec<u32>,
    alive: usize,
    woken: Arc<Woken>,
}

impl Executor {
    /// The timeline, for clocks and sleeps.
    pub fn timeline(&self) -> Rc<Timeline> {
        self.timeline.clone()
    }

    /// Tasks that have not ended.
    pub fn alive(&self) -> usize {
        self.alive
    }

    /// Add a task; its first poll happens when time next advances.
    pub fn spawn(&mut self, future: impl Future<Output = ()> + 'static) {
        let task = self.vacant.pop().unwrap_or(self.tasks.len() as u32);
        let waker = Waker::from(Arc::new(TaskWaker { task, woken: self.woken.clone() }));
        waker.wake_by_ref();
        let slot = Task { future: Some(Box::pin(future)), waker };
        match self.tasks.get_mut(task as usize) {
            Some(vacant) => *vacant = slot,
            None => self.tasks.push(slot),
        }
        self.alive += 1;
    }

    /// Process all events up to `limit_ns`; the clock then reads `limit_ns`.
    pub fn run_until(&mut self, limit_ns: u64) {
        while self.step(limit_ns) {}
        self.timeline.now_ns.set(limit_ns.max(self.timeline.now_ns()));
    }

    /// Run until every task has ended, but no further than `limit_ns`; false if some have not.
    pub fn finish(&mut self, limit_ns: u64) -> bool {
        while self.alive > 0 && self.step(limit_ns) {}
        self.alive == 0
    }

    /// Drop every task.
    pub fn abandon(&mut self) {
        self.tasks.clear();
        self.vacant.clear();
        self.alive = 0;
        self.timeline.timers.borrow_mut().clear();
    }

    /// Poll every task that is awake at this instant: new ones, and those woken by others.
    pub fn start(&mut self) {
        while self.woken.some.swap(false, Ordering::Acquire) {
            let woken = std::mem::take(
                &mut *self.woken.tasks.lock().unwrap_or_else(PoisonError::into_inner),
            );
            woken.into_iter().for_each(|task| self.poll(task));
        }
    }

    /// Poll awake tasks, then the owner of the next timer; false if there is none before
    /// `limit_ns`.
    fn step(&mut self, limit_ns: u64) -> bool {
        self.start();
        match self.timeline.jump(limit_ns) {
            Some(task) => self.poll(task),
            None => return false,
        }
        true
    }

    fn poll(&mut self, task: u32) {
        let Some(Task { future: slot @ Some(_), waker }) = self.tasks.get_mut(task as usize) else {
            return;
        };
        self.timeline.polled.set(task);
        let ended = slot
            .as_mut()
            .is_some_and(|future| future.as_mut().poll(&mut Context::from_waker(waker)).is_ready());
        if ended {
            *slot = None;
            self.vacant.push(task);
            self.alive -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
