//! Terminals on a clock that jumps, with a session that answers as it is told after a service time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::arrivals::Arrivals;
use crate::board::Board;
use crate::executor::{Executor, SimulatedClock};
use crate::inputs::{Home, Profile, Workload, constants};
use crate::random::Stream;
use crate::shift::Manners;
use crate::tally::Rung;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

#[derive(Clone)]
struct Scripted {
    clock: SimulatedClock,
    service_ns: u64,
    answers: Rc<RefCell<VecDeque<Outcome>>>,
    asked: Rc<RefCell<Vec<Transaction>>>,
}

impl Session for Scripted {
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        self.asked.borrow_mut().push(transaction.clone());
        self.clock.sleep_until(self.clock.now_ns() + self.service_ns).await;
        self.answers.borrow_mut().pop_front().unwrap_or(Outcome::Committed)
    }
}

/// A few terminals on one shift, from time 0.
struct Scene {
    executor: Executor,
    clock: SimulatedClock,
    board: Arc<Board>,
    shift: Rc<Shift>,
    asked: Rc<RefCell<Vec<Transaction>>>,
}

impl Scene {
    fn new(users: i32, manners: Manners, rate_per_s: Option<f64>, service_ns: u64, answers: &[Outcome]) -> Self {
        Self::sharing(users as usize, users, manners, rate_per_s, service_ns, answers)
    }

    /// Users on fewer connections than they are.
    fn sharing(connections: usize, users: i32, manners: Manners, rate_per_s: Option<f64>, service_ns: u64, answers: &[Outcome]) -> Self {
        let (mut executor, board) = (Executor::default(), Arc::new(Board::new(1)));
        let clock = SimulatedClock::starting_now(executor.timeline());
        let arrivals = rate_per_s.map(|rate| Arrivals::new(rate, Stream::new(9, 9)));
        let shift = Shift::new(Arc::clone(&board), 0, manners, arrivals);
        let asked = Rc::default();
        let answers = Rc::new(RefCell::new(answers.iter().cloned().collect()));
        let session = Scripted { clock: clock.clone(), service_ns, answers, asked: Rc::clone(&asked) };
        let workload = Workload { warehouses: 4, users, profile: Profile::Spec, home: Home::All, nurand: constants(1, Profile::Spec).run };
        let ways = Way::for_each_of(users as usize, vec![session; connections]);
        for (number, way) in (0..users).zip(ways) {
            let user = User::new(workload, number, Stream::new(1, number as u64));
            executor.spawn(terminal(user, way, clock.clone(), Rc::clone(&shift)));
        }
        Self { executor, clock, board, shift, asked }
    }

    fn mark(&mut self, phase: &str, at_ns: u64) {
        self.executor.run_until(at_ns);
        self.board.mark(phase, self.clock.now_ns()).unwrap();
    }

    /// Close, finish, and give the tally as Python sees it.
    fn close(&mut self, drain_ns: u64) -> serde_json::Value {
        self.shift.close(self.clock.now_ns(), Duration::from_nanos(drain_ns));
        assert!(self.executor.finish(1_000 * S), "every terminal ends");
        let tally = self.shift.end("no answer");
        tally.identity().unwrap();
        let rung = Rung { users: 1, window_s: 1.0, whole_s: 1.0, client_cpu_s: 0.0, client_workers: 1, client_cores: None, queued: true };
        serde_json::to_value(tally.report(rung)).unwrap()
    }
}

fn manners(think_times: bool, retries: u32) -> Manners {
    Manners { think_times, retries }
}

fn sum(tally: &serde_json::Value, scope: &str, field: &str) -> u64 {
    tally["transactions"].as_object().unwrap().values().map(|line| line[scope][field].as_u64().unwrap()).sum()
}

#[test]
fn a_closed_loop_starts_the_next_as_soon_as_the_last_has_ended() {
    let mut scene = Scene::new(3, manners(false, 0), None, 10 * MS, &[]);
    scene.mark("window", S);
    scene.mark("cool_down", 3 * S);
    let tally = scene.close(0);
    assert!(sum(&tally, "window", "committed").abs_diff(600) <= 3, "{}", sum(&tally, "window", "committed"));
    assert!((tally["latency"]["mean_s"].as_f64().unwrap() / 0.01 - 1.0).abs() < 0.001);
}

#[test]
fn a_retry_repeats_its_inputs_and_the_latency_is_of_all_tries() {
    let retry = |code: &str| Outcome::Retry { code: code.into() };
    let mut scene = Scene::new(1, manners(false, 10), None, 10 * MS, &[retry("40001"), retry("40P01")]);
    scene.mark("window", 0);
    scene.executor.run_until(35 * MS);
    let tally = scene.close(0);
    let asked = scene.asked.borrow();
    assert_eq!((&asked[0], &asked[1]), (&asked[2], &asked[2]));
    assert_ne!(asked[2], asked[3]);
    assert!((tally["latency"]["max_s"].as_f64().unwrap() / 0.03 - 1.0).abs() < 0.001);
    let retried = &tally["transactions"][asked[0].kind().name()]["retried"];
    assert_eq!((&retried["40001"], &retried["40P01"]), (&1.into(), &1.into()));
    assert_eq!(sum(&tally, "whole", "started"), 2, "tries are not starts");
}

#[test]
fn a_lost_connection_ends_its_terminal_and_leaves_one_unknown() {
    let mut scene = Scene::new(2, manners(false, 0), None, MS, &[Outcome::Committed, Outcome::Lost { message: "gone".into() }]);
    scene.executor.run_until(S);
    assert_eq!(scene.board.alive.load(std::sync::atomic::Ordering::Relaxed), 1);
    let tally = scene.close(0);
    assert_eq!((sum(&tally, "whole", "unknown"), tally["lost_users"].as_u64()), (1, Some(1)));
    assert_eq!(tally["errors"][0]["first"], "gone");
}

#[test]
fn an_open_loop_without_queue_waits_for_nothing() {
    let mut scene = Scene::new(50, manners(false, 0), Some(100.0), MS, &[]);
    scene.mark("window", 0);
    scene.mark("cool_down", 100 * S);
    let tally = scene.close(S);
    assert!(sum(&tally, "window", "committed").abs_diff(10_000) < 300);
    assert!(tally["wait"]["max_s"].as_f64().unwrap() < 1e-6);
}

#[test]
fn an_open_loop_at_half_its_capacity_waits_as_long_as_queueing_theory_says() {
    let mut scene = Scene::new(1, manners(false, 0), Some(50.0), 10 * MS, &[]);
    scene.mark("window", 0);
    scene.mark("cool_down", 2_000 * S);
    let tally = scene.close(S);
    let wait_s = tally["wait"]["mean_s"].as_f64().unwrap();
    assert!((wait_s / 0.005 - 1.0).abs() < 0.05, "M/D/1 at 50 %: rho s / (2 (1 - rho)) = 5 ms, seen {wait_s}");
    assert!((tally["latency"]["mean_s"].as_f64().unwrap() - wait_s - 0.01).abs() < 0.0001);
}

#[test]
fn a_stall_is_charged_to_everything_that_was_due_while_it_lasted() {
    let mut scene = Scene::new(1, manners(false, 0), Some(100.0), S, &[]);
    scene.mark("window", 0);
    scene.mark("cool_down", 2 * S);
    let tally = scene.close(1_000 * S);
    let n = tally["latency"]["n"].as_u64().unwrap();
    assert!(n.abs_diff(200) < 45 && tally["unstarted"] == 0, "every arrival of the window was made up for: {n}");
    assert!(tally["wait"]["max_s"].as_f64().unwrap() > 0.9 * n as f64 - 5.0);
}

#[test]
fn what_is_not_made_up_for_in_time_is_unstarted() {
    let mut scene = Scene::new(1, manners(false, 0), Some(100.0), S, &[]);
    scene.mark("window", 0);
    scene.mark("cool_down", 10 * S);
    let tally = scene.close(5 * S);
    let (n, unstarted) = (tally["latency"]["n"].as_u64().unwrap(), tally["unstarted"].as_u64().unwrap());
    assert!((14..=16).contains(&n), "{n}");
    assert!((n + unstarted).abs_diff(1_000) < 100, "{unstarted}");
}

#[test]
fn think_and_keying_times_have_the_means_of_the_standard() {
    let mut scene = Scene::new(200, manners(true, 0), None, MS, &[]);
    scene.executor.run_until(10_000 * S);
    let tally = scene.close(0);
    let cycle_s = 200.0 * 10_000.0 / sum(&tally, "whole", "started") as f64;
    let keying = 0.45 * 18.0 + 0.43 * 3.0 + 3.0 * 0.04 * 2.0;
    let thinking = 0.88 * 12.0 + 0.04 * (10.0 + 5.0 + 5.0);
    assert!((cycle_s / (keying + thinking) - 1.0).abs() < 0.01, "{cycle_s} against {}", keying + thinking);
}

#[test]
fn closing_wakes_whoever_sleeps() {
    let mut scene = Scene::new(5, manners(true, 0), None, MS, &[]);
    scene.executor.run_until(MS);
    scene.shift.close(MS, Duration::ZERO);
    scene.executor.start();
    assert_eq!((scene.executor.alive(), scene.clock.now_ns()), (0, MS));
}

#[test]
fn an_answer_that_never_comes_is_unknown() {
    let mut scene = Scene::new(2, manners(false, 0), None, u64::MAX / 4, &[]);
    scene.executor.run_until(S);
    scene.shift.close(S, Duration::ZERO);
    scene.executor.abandon();
    let tally = scene.shift.end("no answer");
    assert_eq!((tally.identity(), tally.lost_users), (Ok(()), 2));
}

#[test]
fn seconds_are_handed_in_exactly_once_and_forgotten_when_nobody_asks() {
    let mut scene = Scene::new(1, manners(false, 0), None, 100 * MS, &[]);
    for second in 1..=400 {
        scene.executor.run_until(second * S);
        scene.shift.turn(scene.clock.now_ns());
    }
    let seconds = serde_json::to_value(scene.board.take(0..400)).unwrap();
    let per_second = |at_s: u64| -> u64 {
        let of = |second: &&serde_json::Value| second["at_s"] == at_s;
        seconds.as_array().unwrap().iter().filter(of).map(|second| second["committed"].as_u64().unwrap()).sum()
    };
    assert_eq!(seconds.as_array().unwrap().len(), 120 * 5);
    assert!((281..399).all(|at_s| per_second(at_s).abs_diff(10) <= 1));
    assert!(scene.board.take(0..400).iter().all(|second| serde_json::to_value(second).unwrap()["committed"] == 0));
}

#[test]
fn the_wait_for_a_connection_counts_in_the_latency_and_is_reported_as_wait() {
    let mut scene = Scene::sharing(2, 6, manners(false, 0), None, 10 * MS, &[]);
    scene.mark("window", S);
    scene.mark("cool_down", 3 * S);
    let tally = scene.close(S);
    assert!(sum(&tally, "window", "committed").abs_diff(400) <= 3, "two connections, 10 ms each");
    let mean_ms = |what: &str| 1e3 * tally[what]["mean_s"].as_f64().unwrap();
    assert!((mean_ms("wait") - 20.0).abs() < 0.1, "{}", mean_ms("wait"));
    assert!((mean_ms("latency") - 30.0).abs() < 0.1, "six users, 200 a second: {}", mean_ms("latency"));
    assert_eq!(tally["unstarted"], 0, "who waited at the end was served");
}

#[test]
fn who_thinks_holds_no_connection() {
    let mut scene = Scene::sharing(20, 2_000, manners(true, 0), None, MS, &[]);
    scene.mark("window", 100 * S);
    scene.mark("cool_down", 1_100 * S);
    let tally = scene.close(S);
    let per_s = sum(&tally, "window", "committed") as f64 / 1_000.0;
    assert!((per_s / (2_000.0 / 21.0) - 1.0).abs() < 0.05, "{per_s}");
    assert!(tally["wait"]["p99_s"].as_f64().unwrap() < 0.001);
}

#[test]
fn what_waits_for_a_connection_beyond_the_drain_is_unstarted() {
    let mut scene = Scene::sharing(1, 5, manners(false, 0), None, 10 * S, &[]);
    scene.mark("window", 0);
    scene.mark("cool_down", S);
    let tally = scene.close(15 * S);
    assert_eq!((sum(&tally, "whole", "committed"), tally["unstarted"].as_u64()), (2, Some(3)));
}

#[test]
fn a_user_whose_shared_connection_is_lost_ends_and_with_the_last_one_all_end() {
    let lost = || Outcome::Lost { message: "gone".into() };
    let mut scene = Scene::sharing(2, 5, manners(false, 0), None, MS, &[Outcome::Committed, lost()]);
    scene.executor.run_until(S);
    assert_eq!(scene.board.alive.load(std::sync::atomic::Ordering::Relaxed), 4);
    assert_eq!(scene.close(0)["lost_users"], 1);
    for (rate_per_s, unstarted) in [(None, 3), (Some(100.0), 100)] {
        let mut scene = Scene::sharing(2, 5, manners(false, 0), rate_per_s, MS, &[lost(), lost()]);
        scene.mark("window", 0);
        scene.mark("cool_down", S);
        assert_eq!(scene.board.alive.load(std::sync::atomic::Ordering::Relaxed), 0);
        let tally = scene.close(0);
        assert_eq!((sum(&tally, "whole", "unknown"), tally["lost_users"].as_u64()), (2, Some(5)));
        assert!(tally["unstarted"].as_u64().unwrap().abs_diff(unstarted) < 30, "{}", tally["unstarted"]);
    }
}

#[test]
fn with_the_last_connection_those_who_think_end_at_once() {
    let mut scene = Scene::sharing(1, 5, manners(true, 0), None, MS, &[Outcome::Lost { message: "gone".into() }]);
    scene.executor.run_until(25 * S);
    assert_eq!(scene.board.alive.load(std::sync::atomic::Ordering::Relaxed), 0);
    assert_eq!(scene.close(0)["lost_users"], 5);
}
