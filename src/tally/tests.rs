use super::*;
use crate::random::Stream;

fn outcome(random: &mut Stream) -> Outcome {
    let text = |random: &mut Stream| random.below(3).to_string();
    match random.below(5) {
        0 => Outcome::Committed,
        1 => Outcome::RolledBack,
        2 => Outcome::Retry { code: "40001".into() },
        3 => Outcome::Failed { code: text(random), message: "same".into() },
        _ => Outcome::Lost { message: "gone".into() },
    }
}

fn tally(random: &mut Stream) -> Tally {
    let mut tally = Tally { unstarted: random.below(9), lost_users: random.below(9), ..Tally::default() };
    for _ in 0..random.below(60) {
        let kind = Kind::ALL[random.below(5) as usize];
        let intended_ns = random.below(10_000);
        let started_ns = intended_ns + random.below(1_000);
        let call = Call { kind, intended_ns, started_ns, ended_ns: started_ns + random.below(9_000_000) };
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
        let started = |tally: &Tally| tally.lines.iter().map(|line| line.whole.started).sum::<u64>();
        assert_eq!(started(&whole), started(&a) + started(&b) + started(&c));
    }
}

#[test]
fn throughput_is_by_the_end_and_latency_by_the_beginning() {
    let mut tally = Tally::default();
    for (intended_ns, ended_ns) in [(50, 150), (150, 180), (150, 250), (250, 260)] {
        tally.started(Kind::Payment);
        tally.ended(&Call { kind: Kind::Payment, intended_ns, started_ns: intended_ns, ended_ns }, &Outcome::Committed, &(100..200));
    }
    let line = &tally.lines[Kind::Payment as usize];
    assert_eq!((line.whole.committed, line.window.committed, line.latency.n()), (4, 2, 2));
}

#[test]
fn what_was_never_answered_is_unknown() {
    let mut tally = Tally::default();
    tally.started(Kind::Delivery);
    assert!(tally.identity().unwrap_err().contains("delivery"));
    assert_eq!(tally.abandon("no answer"), 1);
    assert_eq!(tally.identity(), Ok(()));
    assert_eq!(tally.errors["connection"].first, "no answer");
}

#[test]
fn errors_are_bounded_in_number_and_length() {
    let mut tally = Tally::default();
    (0..100).for_each(|code| tally.error(&code.to_string(), &"x".repeat(10_000), 1));
    assert_eq!(tally.errors.len(), MOST_CLASSES + 1);
    assert_eq!(tally.errors["other"].count, 100 - MOST_CLASSES as u64);
    assert!(tally.errors.values().all(|seen| seen.first.len() == LONGEST_MESSAGE));
}
