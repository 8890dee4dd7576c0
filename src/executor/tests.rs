//! Time and order of the executor.

use super::*;

fn clock(executor: &Executor) -> SimulatedClock {
    SimulatedClock::starting_now(executor.timeline())
}

#[test]
fn the_clock_jumps_to_the_next_timer_and_no_further_than_its_limit() {
    let mut executor = Executor::default();
    let (seen, clock) = (Rc::new(Cell::new(0)), clock(&executor));
    let stored = seen.clone();
    executor.spawn(async move {
        clock.sleep_until(3_600_000_000_007).await;
        stored.set(clock.now_ns());
    });
    executor.run_until(1_000_000_000);
    assert_eq!((executor.timeline().now_ns(), seen.get(), executor.alive()), (1_000_000_000, 0, 1));
    executor.run_until(4_000_000_000_000);
    assert_eq!((seen.get(), executor.alive()), (3_600_000_000_007, 0));
}

#[test]
fn timers_of_one_instant_fire_in_the_order_they_were_armed() {
    let mut executor = Executor::default();
    let order = Rc::new(RefCell::new(Vec::new()));
    for user in 0..100 {
        let (clock, order) = (clock(&executor), order.clone());
        executor.spawn(async move {
            clock.sleep_until(5).await;
            order.borrow_mut().push(user);
        });
    }
    assert!(executor.finish(u64::MAX));
    assert_eq!(*order.borrow(), (0..100).collect::<Vec<_>>());
}

#[test]
fn the_clock_of_a_later_load_starts_at_zero() {
    let mut executor = Executor::default();
    executor.run_until(42);
    assert_eq!((clock(&executor).now_ns(), executor.timeline().now_ns()), (0, 42));
}

#[test]
fn a_task_woken_by_another_task_runs_in_the_same_instant() {
    let mut executor = Executor::default();
    let (waker_slot, woken_at) = (Rc::new(RefCell::new(None::<Waker>)), Rc::new(Cell::new(None)));
    let (store_waker, stored, now) = (waker_slot.clone(), woken_at.clone(), clock(&executor));
    executor.spawn(async move {
        let mut polled = false;
        std::future::poll_fn(|context| {
            *store_waker.borrow_mut() = Some(context.waker().clone());
            if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        stored.set(Some(now.now_ns()));
    });
    let clock_of_waker = clock(&executor);
    executor.spawn(async move {
        clock_of_waker.sleep_until(9).await;
        waker_slot.borrow().iter().for_each(Waker::wake_by_ref);
    });
    executor.run_until(9);
    assert_eq!(woken_at.get(), Some(9));
}

#[test]
fn a_dropped_sleep_only_costs_an_idle_poll() {
    let mut executor = Executor::default();
    let (polls, clock) = (Rc::new(Cell::new(0)), clock(&executor));
    let counted = polls.clone();
    executor.spawn(async move {
        let (mut short, mut long) =
            (Box::pin(clock.sleep_until(1)), Box::pin(clock.sleep_until(2)));
        std::future::poll_fn(|context| {
            counted.set(counted.get() + 1);
            let _ = long.as_mut().poll(context);
            short.as_mut().poll(context)
        })
        .await;
        drop(long);
        clock.sleep_until(10).await;
    });
    assert!(executor.finish(10));
    assert_eq!(polls.get(), 2);
}

#[test]
fn a_task_that_waits_for_nothing_is_reported_and_can_be_abandoned() {
    let mut executor = Executor::default();
    executor.spawn(std::future::pending());
    assert!(!executor.finish(u64::MAX));
    executor.abandon();
    assert_eq!(executor.alive(), 0);
}
