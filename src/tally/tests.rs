use super::*;
use crate::random::Stream;
use crate::session::Error;

fn outcome(random: &mut Stream) -> Outcome {
    let text = |random: &mut Stream| random.below(3).to_string();
    match random.below(5) {
        0 => Outcome::Committed,
        1 => Outcome::Failed(Error::new(ErrorClass::RolledBack, "by design")),
        2 => Outcome::Failed(Error {
            code: "40001".into(),
            ..Error::new(ErrorClass::Retry, "deadlock")
        }),
        3 => Outcome::Failed(Error { code: text(random), ..Error::other("same") }),
        _ => Outcome::Failed(Error::lost("connection closed")),
    }
}

fn tally(random: &mut Stream) -> Tally {
    let mut tally =
        Tally { unstarted: random.below(9), lost_users: random.below(9), ..Tally::default() };
    for _ in 0..random.below(60) {
        let kind = Kind::ALL[random.below(5) as usize];
        let intended_ns = random.below(10_000);
        let started_ns = intended_ns + random.below(1_000);
        let start = Start { intended_ns, late_ns: 0 };
        let delay = random
            .percent(50)
            .then(|| Delay { ns: random.below(9_000), stamped: random.percent(50) });
        let call =
            Call { kind, start, started_ns, ended_ns: started_ns + random.below(9_000_000), delay };
        tally.started(kind);
        if random.percent(10) {
            tally.retried(kind, "40P01");
        }
        let outcome = outcome(random);
        tally.ended(&call, &outcome, &(2_000..5_000_000));
    }
    tally
}

#[test]
fn what_lies_in_the_window_is_the_latencies_and_the_edges_together() {
    let window = 1_000..2_000;
    let edges = |began, ended, delay_ns| {
        let start = Start { intended_ns: began, late_ns: 0 };
        let delay = Some(Delay { ns: delay_ns, stamped: true });
        let kind = Kind::ALL[0];
        Call { kind, start, started_ns: began, ended_ns: ended, delay }.edges_ns(&window)
    };
    assert_eq!(edges(100, 900, 0), 0, "before the window");
    assert_eq!(edges(100, 900, 300), 200, "its answer was read in the window");
    assert_eq!(edges(400, 1_300, 0), 300, "it ended in the window");
    assert_eq!(edges(1_200, 1_800, 50), 0, "inside");
    assert_eq!(edges(1_700, 2_400, 0), -400, "it began in the window");
    assert_eq!(edges(500, 2_500, 0), 1_000, "all the time");
    assert_eq!(edges(2_100, 2_500, 0), 0, "after the window");
}

#[test]
fn merging_gives_the_same_in_any_order_and_grouping_and_keeps_the_identity() {
    let mut random = Stream::new(21, 0);
    for _ in 0..60 {
        let [a, b, c] = [0; 3].map(|_| tally(&mut random));
        let merged = |parts: &[&Tally]| {
            let mut sum = Tally::default();
            parts.iter().for_each(|part| sum.merge(part));
            sum
        };
        let whole = merged(&[&a, &b, &c]);
        assert_eq!(whole, merged(&[&c, &a, &b]));
        assert_eq!(whole, merged(&[&a, &merged(&[&b, &c])]));
        assert_eq!(whole.identity(), Ok(()));
        let started =
            |tally: &Tally| tally.types.iter().map(|tally| tally.whole.started).sum::<u64>();
        assert_eq!(started(&whole), started(&a) + started(&b) + started(&c));
    }
}

#[test]
fn throughput_is_by_the_end_and_latency_by_the_beginning() {
    let mut tally = Tally::default();
    for (intended_ns, ended_ns) in [(50, 150), (150, 180), (150, 250), (250, 260)] {
        tally.started(Kind::Payment);
        let start = Start { intended_ns, late_ns: 0 };
        tally.ended(
            &Call { kind: Kind::Payment, start, started_ns: intended_ns, ended_ns, delay: None },
            &Outcome::Committed,
            &(100..200),
        );
    }
    let tally = &tally.types[Kind::Payment as usize];
    assert_eq!((tally.whole.committed, tally.window.committed, tally.latency.n()), (4, 2, 2));
}

#[test]
fn a_transaction_without_a_response_is_unknown() {
    let mut tally = Tally::default();
    tally.started(Kind::Delivery);
    assert!(tally.identity().unwrap_err().contains("delivery"));
    assert_eq!(tally.abandon("no response"), 1);
    assert_eq!(tally.identity(), Ok(()));
    assert_eq!(tally.errors["connection"].first, "no response");
}

#[test]
fn errors_are_bounded_in_number_and_length() {
    let mut tally = Tally::default();
    (0..100).for_each(|code| tally.error(&code.to_string(), &"x".repeat(10_000), 1));
    assert_eq!(tally.errors.len(), MAX_CODES + 1);
    assert_eq!(tally.errors["other"].count, 100 - MAX_CODES as u64);
    assert!(tally.errors.values().all(|counted| counted.first.len() == MAX_MESSAGE_CHARS));
}
