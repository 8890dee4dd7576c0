//! Terminals on a simulated clock, with a session that returns scripted outcomes after a service
//! time.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::arrivals::Arrivals;
use crate::executor::{Executor, SimulatedClock};
use crate::histogram::Latency;
use crate::input_generator::Workload;
use crate::inputs::{Home, Profile, constants};
use crate::ledger::{Ledger, entry};
use crate::random::Stream;
use crate::session::{Delay, Error};
use crate::shared_state::{SharedState, Tick};
use crate::tally::Counts;
use crate::tally::report::{Report, Rung};
use crate::worker_state::TerminalOptions;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

#[derive(Clone)]
struct ScriptedSession {
    clock: SimulatedClock,
    service_ns: u64,
    outcomes: Rc<RefCell<VecDeque<Outcome>>>,
    executed: Rc<RefCell<Vec<Transaction>>>,
    delay: Rc<Cell<Option<Delay>>>,
}

impl Session for ScriptedSession {
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        self.executed.borrow_mut().push(transaction.clone());
        self.clock.sleep_until(self.clock.now_ns() + self.service_ns).await;
        self.outcomes.borrow_mut().pop_front().unwrap_or(Outcome::Committed)
    }

    fn delay(&self) -> Option<Delay> {
        self.delay.get()
    }
}

/// A few terminals with one worker state, from time 0.
struct Scenario {
    executor: Executor,
    clock: SimulatedClock,
    shared: Arc<SharedState>,
    state: Rc<WorkerState>,
    executed: Rc<RefCell<Vec<Transaction>>>,
    delay: Rc<Cell<Option<Delay>>>,
}

impl Scenario {
    fn new(
        users: i32,
        options: TerminalOptions,
        rate_per_s: Option<f64>,
        service_ns: u64,
        outcomes: &[Outcome],
    ) -> Self {
        Self::sharing(users as usize, users, options, rate_per_s, service_ns, outcomes)
    }

    /// Fewer connections than users.
    fn sharing(
        connections: usize,
        users: i32,
        options: TerminalOptions,
        rate_per_s: Option<f64>,
        service_ns: u64,
        outcomes: &[Outcome],
    ) -> Self {
        let (mut executor, shared) = (Executor::default(), Arc::new(SharedState::new(1)));
        let clock = SimulatedClock::starting_now(executor.timeline());
        let arrivals = rate_per_s.map(|rate| Arrivals::new(rate, Stream::new(9, 9)));
        let state = WorkerState::new(Arc::clone(&shared), 0, options, arrivals);
        let (executed, delay) = (Rc::default(), Rc::default());
        let outcomes = Rc::new(RefCell::new(outcomes.iter().cloned().collect()));
        let session = ScriptedSession {
            clock: clock.clone(),
            service_ns,
            outcomes,
            executed: Rc::clone(&executed),
            delay: Rc::clone(&delay),
        };
        let workload = Workload {
            warehouses: 4,
            users,
            profile: Profile::Spec,
            home: Home::All,
            nurand: constants(1, Profile::Spec).run,
        };
        let sources = ConnectionSource::for_users(users as usize, vec![session; connections]);
        for (number, source) in (0..users).zip(sources) {
            let inputs = InputGenerator::new(workload, number, Stream::new(1, number as u64));
            executor.spawn(terminal(inputs, source, clock.clone(), Rc::clone(&state)));
        }
        Self { executor, clock, shared, state, executed, delay }
    }

    fn mark(&mut self, phase: &str, at_ns: u64) {
        self.executor.run_until(at_ns);
        self.shared.mark(phase, self.clock.now_ns()).unwrap();
    }

    /// Close, finish, and give the tally as Python sees it.
    fn close(&mut self, drain_ns: u64) -> Report {
        self.state.close(self.clock.now_ns(), Duration::from_nanos(drain_ns));
        assert!(self.executor.finish(1_000 * S), "every terminal ends");
        let tally = self.state.end("no response");
        tally.identity().unwrap();
        let rung = Rung {
            users: 1,
            window_s: 1.0,
            whole_s: 1.0,
            load_generator_cpu_s: 0.0,
            load_generator_threads: 1,
            load_generator_cores: None,
            queued: true,
        };
        tally.report(rung)
    }
}

fn options(think_times: bool, retries: u32) -> TerminalOptions {
    TerminalOptions { think_times, retries, ledger: false }
}

fn whole(tally: &Report, count: impl Fn(&Counts) -> u64) -> u64 {
    tally.transactions.values().map(|line| count(&line.whole)).sum()
}

fn committed_in_window(tally: &Report) -> u64 {
    tally.transactions.values().map(|line| line.window.committed).sum()
}

fn measured(latency: &Option<Latency>) -> &Latency {
    latency.as_ref().unwrap()
}

#[test]
fn a_closed_loop_starts_the_next_as_soon_as_the_last_has_ended() {
    let mut scenario = Scenario::new(3, options(false, 0), None, 10 * MS, &[]);
    scenario.mark("window", S);
    scenario.mark("cool_down", 3 * S);
    let tally = scenario.close(0);
    assert!(committed_in_window(&tally).abs_diff(600) <= 3, "{}", committed_in_window(&tally));
    assert!((measured(&tally.latency).mean_s / 0.01 - 1.0).abs() < 0.001);
}

#[test]
fn a_retry_repeats_its_inputs_and_the_latency_is_of_all_tries() {
    let retry = |code: &str| {
        Outcome::Failed(Error { code: code.into(), ..Error::new(ErrorClass::Retry, "deadlock") })
    };
    let mut scenario =
        Scenario::new(1, options(false, 10), None, 10 * MS, &[retry("40001"), retry("40P01")]);
    scenario.mark("window", 0);
    scenario.executor.run_until(35 * MS);
    let tally = scenario.close(0);
    let executed = scenario.executed.borrow();
    assert_eq!((&executed[0], &executed[1]), (&executed[2], &executed[2]));
    assert_ne!(executed[2], executed[3]);
    assert!((measured(&tally.latency).max_s / 0.03 - 1.0).abs() < 0.001);
    let retried = &tally.transactions[executed[0].kind().name()].retried;
    assert_eq!((retried["40001"], retried["40P01"]), (1, 1));
    assert_eq!(whole(&tally, |counts| counts.started), 2, "tries are not starts");
}

#[test]
fn a_lost_connection_ends_its_terminal_and_leaves_one_unknown() {
    let mut scenario = Scenario::new(
        2,
        options(false, 0),
        None,
        MS,
        &[Outcome::Committed, Outcome::Failed(Error::lost("connection closed"))],
    );
    scenario.executor.run_until(S);
    assert_eq!(scenario.shared.alive.load(std::sync::atomic::Ordering::Relaxed), 1);
    let tally = scenario.close(0);
    assert_eq!((whole(&tally, |counts| counts.unknown), tally.lost_users), (1, 1));
    assert_eq!(tally.errors[0].first, "connection closed");
}

#[test]
fn a_ledger_has_every_order_that_was_acknowledged_and_those_without_an_answer() {
    let refused = |class| Outcome::Failed(Error::new(class, "no"));
    let answers = [
        vec![Outcome::Committed; 40],
        vec![refused(ErrorClass::RolledBack); 20],
        vec![Outcome::Committed; 40],
        vec![refused(ErrorClass::Lost); 3],
    ]
    .concat();
    let kept = TerminalOptions { ledger: true, ..options(false, 0) };
    let mut scenario = Scenario::new(4, kept, None, MS, &answers);
    scenario.executor.run_until(S);
    let executed = scenario.executed.borrow().clone();
    scenario.state.close(scenario.clock.now_ns(), Duration::ZERO);
    scenario.executor.abandon();
    let ledger = scenario.state.end("no response").ledger;
    let orders = |which: &[Transaction]| which.iter().filter_map(entry).collect::<Vec<_>>();
    // answers come in the order of the calls: all take equally long
    let answered = [&executed[..40], &executed[60..100], &executed[103..executed.len() - 1]];
    let acknowledged = ledger.acknowledged.iter().map(|(entry, _)| *entry).collect::<Vec<_>>();
    assert_eq!(acknowledged, orders(&answered.concat()));
    assert!(ledger.acknowledged.is_sorted_by_key(|(_, read_ns)| *read_ns));
    assert!(ledger.acknowledged.iter().all(|(_, read_ns)| (MS..=S).contains(read_ns)));
    let open = [&executed[100..103], &executed[executed.len() - 1..]];
    assert_eq!(ledger.unknown, orders(&open.concat()));
    assert!(!ledger.unknown.is_empty(), "a seed with an order among these");
}

#[test]
fn a_load_without_a_ledger_keeps_none() {
    let mut scenario = Scenario::new(2, options(false, 0), None, MS, &[]);
    scenario.executor.run_until(S);
    scenario.state.close(scenario.clock.now_ns(), Duration::ZERO);
    assert_eq!(scenario.state.end("no response").ledger, Ledger::default());
}

#[test]
fn an_open_loop_without_queue_waits_for_nothing() {
    let mut scenario = Scenario::new(50, options(false, 0), Some(100.0), MS, &[]);
    scenario.mark("window", 0);
    scenario.mark("cool_down", 100 * S);
    let tally = scenario.close(S);
    assert!(committed_in_window(&tally).abs_diff(10_000) < 300);
    assert!(measured(&tally.wait).max_s < 1e-6);
}

#[test]
fn an_open_loop_at_half_its_capacity_waits_as_long_as_queueing_theory_predicts() {
    let mut scenario = Scenario::new(1, options(false, 0), Some(50.0), 10 * MS, &[]);
    scenario.mark("window", 0);
    scenario.mark("cool_down", 2_000 * S);
    let tally = scenario.close(S);
    let wait_s = measured(&tally.wait).mean_s;
    assert!(
        (wait_s / 0.005 - 1.0).abs() < 0.05,
        "M/D/1 at 50%: rho s / (2 (1 - rho)) = 5 ms, seen {wait_s}"
    );
    assert!((measured(&tally.latency).mean_s - wait_s - 0.01).abs() < 0.0001);
}

#[test]
fn a_stall_is_charged_to_everything_that_was_due_while_it_lasted() {
    let mut scenario = Scenario::new(1, options(false, 0), Some(100.0), S, &[]);
    scenario.mark("window", 0);
    scenario.mark("cool_down", 2 * S);
    let tally = scenario.close(1_000 * S);
    let n = measured(&tally.latency).n;
    assert!(
        n.abs_diff(200) < 45 && tally.unstarted == 0,
        "every arrival of the window ran in the end: {n}"
    );
    assert!(measured(&tally.wait).max_s > 0.9 * n as f64 - 5.0);
}

#[test]
fn a_start_that_the_drain_does_not_reach_is_unstarted() {
    let mut scenario = Scenario::new(1, options(false, 0), Some(100.0), S, &[]);
    scenario.mark("window", 0);
    scenario.mark("cool_down", 10 * S);
    let tally = scenario.close(5 * S);
    let (n, unstarted) = (measured(&tally.latency).n, tally.unstarted);
    assert!((14..=16).contains(&n), "{n}");
    assert!((n + unstarted).abs_diff(1_000) < 100, "{unstarted}");
}

#[test]
fn think_and_keying_times_have_the_means_of_the_standard() {
    let mut scenario = Scenario::new(200, options(true, 0), None, MS, &[]);
    scenario.executor.run_until(10_000 * S);
    let tally = scenario.close(0);
    let cycle_s = 200.0 * 10_000.0 / whole(&tally, |counts| counts.started) as f64;
    let keying = 0.45 * 18.0 + 0.43 * 3.0 + 3.0 * 0.04 * 2.0;
    let thinking = 0.88 * 12.0 + 0.04 * (10.0 + 5.0 + 5.0);
    assert!(
        (cycle_s / (keying + thinking) - 1.0).abs() < 0.01,
        "{cycle_s} vs. {}",
        keying + thinking
    );
}

#[test]
fn closing_wakes_every_sleeping_terminal() {
    let mut scenario = Scenario::new(5, options(true, 0), None, MS, &[]);
    scenario.executor.run_until(MS);
    scenario.state.close(MS, Duration::ZERO);
    scenario.executor.start();
    assert_eq!((scenario.executor.alive(), scenario.clock.now_ns()), (0, MS));
}

#[test]
fn a_response_that_never_arrives_is_unknown() {
    let mut scenario = Scenario::new(2, options(false, 0), None, u64::MAX / 4, &[]);
    scenario.executor.run_until(S);
    scenario.state.close(S, Duration::ZERO);
    scenario.executor.abandon();
    let tally = scenario.state.end("no response");
    assert_eq!((tally.identity(), tally.lost_users), (Ok(()), 2));
}

#[test]
fn seconds_are_submitted_exactly_once_and_dropped_when_nobody_takes_them() {
    let mut scenario = Scenario::new(1, options(false, 0), None, 100 * MS, &[]);
    for second in 1..=400 {
        scenario.executor.run_until(second * S);
        scenario.state.advance(scenario.clock.now_ns());
    }
    let seconds = Tick::new(0.0, 1, 0.0, &scenario.shared.take(0..400)).seconds;
    let per_second = |at_s: u64| -> u64 {
        seconds.iter().filter(|second| second.at_s == at_s).map(|second| second.committed).sum()
    };
    assert_eq!(seconds.len(), 120 * 5);
    assert!((281..399).all(|at_s| per_second(at_s).abs_diff(10) <= 1));
    let again = Tick::new(0.0, 1, 0.0, &scenario.shared.take(0..400)).seconds;
    assert!(again.iter().all(|second| second.committed == 0));
}

#[test]
fn a_transaction_without_a_response_for_4_s_is_reported_with_its_age() {
    for (takes_ns, ages_s) in [(3 * S, vec![]), (20 * S, vec![10.0, 10.0])] {
        let mut scenario = Scenario::new(2, options(false, 0), None, takes_ns, &[]);
        for second in 1..=10 {
            scenario.executor.run_until(second * S);
            scenario.state.advance(scenario.clock.now_ns());
        }
        let tick = Tick::new(10.0, 2, 0.0, &scenario.shared.take(0..10));
        assert_eq!(tick.progress.last().unwrap().waiting_s, ages_s);
    }
}

#[test]
fn the_wait_for_a_connection_counts_in_the_latency_and_is_reported_as_wait() {
    let mut scenario = Scenario::sharing(2, 6, options(false, 0), None, 10 * MS, &[]);
    scenario.mark("window", S);
    scenario.mark("cool_down", 3 * S);
    let tally = scenario.close(S);
    assert!(committed_in_window(&tally).abs_diff(400) <= 3, "two connections, 10 ms each");
    let mean_ms = |latency| 1e3 * measured(latency).mean_s;
    let (wait_ms, latency_ms) = (mean_ms(&tally.wait), mean_ms(&tally.latency));
    assert!((wait_ms - 20.0).abs() < 0.1, "{wait_ms}");
    assert!((latency_ms - 30.0).abs() < 0.1, "six users, 200 a second: {latency_ms}");
    assert_eq!(tally.unstarted, 0, "users waiting at the end were served");
}

#[test]
fn a_thinking_user_uses_no_connection() {
    let mut scenario = Scenario::sharing(20, 2_000, options(true, 0), None, MS, &[]);
    scenario.mark("window", 100 * S);
    scenario.mark("cool_down", 1_100 * S);
    let tally = scenario.close(S);
    let per_s = committed_in_window(&tally) as f64 / 1_000.0;
    assert!((per_s / (2_000.0 / 21.0) - 1.0).abs() < 0.05, "{per_s}");
    assert!(measured(&tally.wait).p99_s < 0.001);
}

#[test]
fn what_waits_for_a_connection_beyond_the_drain_is_unstarted() {
    let mut scenario = Scenario::sharing(1, 5, options(false, 0), None, 10 * S, &[]);
    scenario.mark("window", 0);
    scenario.mark("cool_down", S);
    let tally = scenario.close(15 * S);
    assert_eq!((whole(&tally, |counts| counts.committed), tally.unstarted), (2, 3));
}

#[test]
fn a_user_whose_shared_connection_is_lost_ends_and_with_the_last_one_all_end() {
    let lost = || Outcome::Failed(Error::lost("connection closed"));
    let mut scenario =
        Scenario::sharing(2, 5, options(false, 0), None, MS, &[Outcome::Committed, lost()]);
    scenario.executor.run_until(S);
    assert_eq!(scenario.shared.alive.load(std::sync::atomic::Ordering::Relaxed), 4);
    assert_eq!(scenario.close(0).lost_users, 1);
    for (rate_per_s, unstarted) in [(None, 3), (Some(100.0), 100)] {
        let mut scenario =
            Scenario::sharing(2, 5, options(false, 0), rate_per_s, MS, &[lost(), lost()]);
        scenario.mark("window", 0);
        scenario.mark("cool_down", S);
        assert_eq!(scenario.shared.alive.load(std::sync::atomic::Ordering::Relaxed), 0);
        let tally = scenario.close(0);
        assert_eq!((whole(&tally, |counts| counts.unknown), tally.lost_users), (2, 5));
        assert!(tally.unstarted.abs_diff(unstarted) < 30, "{}", tally.unstarted);
    }
}

#[test]
fn with_the_last_connection_thinking_users_end_at_once() {
    let mut scenario = Scenario::sharing(
        1,
        5,
        options(true, 0),
        None,
        MS,
        &[Outcome::Failed(Error::lost("connection closed"))],
    );
    scenario.executor.run_until(25 * S);
    assert_eq!(scenario.shared.alive.load(std::sync::atomic::Ordering::Relaxed), 0);
    assert_eq!(scenario.close(0).lost_users, 5);
}

#[test]
fn time_that_a_response_waits_for_the_load_generator_is_no_latency_and_no_delay_exceeds_its_call() {
    let (stamped, estimated) =
        (|ns| Some(Delay { ns, stamped: true }), |ns| Some(Delay { ns, stamped: false }));
    for (delay, latency_s, delay_s) in [
        (None, 0.010, None),
        (stamped(4 * MS), 0.006, Some(0.004)),
        (stamped(S), 0.010, None),
        (estimated(4 * MS), 0.006, Some(0.004)),
        (estimated(S), 0.005, Some(0.005)),
    ] {
        let mut scenario = Scenario::new(1, options(false, 0), None, 10 * MS, &[]);
        scenario.delay.set(delay);
        scenario.mark("window", 0);
        scenario.executor.run_until(S);
        let tally = scenario.close(0);
        let near = |seen: &Latency, expected: f64| (seen.mean_s / expected - 1.0).abs() < 0.001;
        assert!(near(measured(&tally.latency), latency_s), "{delay:?}: {:?}", tally.latency);
        assert!(
            match (&tally.delay, delay_s) {
                (Some(seen), Some(expected)) => near(seen, expected),
                (seen, expected) => seen.is_none() && expected.is_none(),
            },
            "{delay:?}: {:?}",
            tally.delay
        );
        assert_eq!(
            tally.delay_stamped > 0,
            delay_s.is_some() && delay.is_some_and(|delay| delay.stamped)
        );
    }
}
