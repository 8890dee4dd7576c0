//! The mix: which transaction a terminal runs next.

use crate::inputs::{Kind, Profile};
use crate::random::Stream;

/// TPC-C's minimum shares in 100 cards (5.2.3), and HammerDB's 23 cards (pgoltp.tcl:3386-3410), in
/// the order of [`Kind::ALL`].
pub const SPEC: [u8; 5] = [45, 43, 4, 4, 4];
pub const HAMMERDB: [u8; 5] = [10, 10, 1, 1, 1];

/// One terminal's cards. `spec` draws a deck to its end before the next (TPC-C 5.2.4.2), so a
/// terminal's mix is exact every 100 transactions; `hammerdb` draws with replacement, as HammerDB
/// does.
///
/// It stores only how many cards remain of each kind. Drawn one by one, every order is equally
/// likely, as with a shuffled deck; but a shuffled deck needs memory, and with many users none of
/// it is cached.
#[derive(Clone, Debug)]
pub struct Deck {
    remaining: [u8; 5],
    with_replacement: bool,
}

impl Deck {
    pub fn new(profile: Profile) -> Self {
        let (remaining, with_replacement) = match profile {
            Profile::Spec => (SPEC, false),
            Profile::Hammerdb => (HAMMERDB, true),
        };
        Self { remaining, with_replacement }
    }

    /// The next card.
    pub fn draw(&mut self, random: &mut Stream) -> Kind {
        let kind = self.pick(random);
        if !self.with_replacement {
            self.remaining[kind as usize] -= 1;
            if self.remaining == [0; 5] {
                self.remaining = SPEC;
            }
        }
        kind
    }

    /// One of the remaining cards.
    fn pick(&self, random: &mut Stream) -> Kind {
        let mut card = random.below(self.remaining.iter().map(|&n| u64::from(n)).sum()) as u8;
        for (kind, &of_it) in Kind::ALL.into_iter().zip(&self.remaining) {
            if card < of_it {
                return kind;
            }
            card -= of_it;
        }
        unreachable!("a deck is never empty")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(profile: Profile, draws: usize) -> [usize; 5] {
        let (mut deck, mut random) = (Deck::new(profile), Stream::new(1, 0));
        let mut counts = [0; 5];
        (0..draws).for_each(|_| counts[deck.draw(&mut random) as usize] += 1);
        counts
    }

    #[test]
    fn the_spec_deck_is_exact_every_hundred_cards() {
        assert_eq!(shares(Profile::Spec, 100), SPEC.map(usize::from));
        assert_eq!(shares(Profile::Spec, 1000), SPEC.map(|n| 10 * usize::from(n)));
    }

    #[test]
    fn every_position_in_a_spec_deck_is_equally_likely_an_order() {
        let (mut deck, mut random) = (Deck::new(Profile::Spec), Stream::new(2, 0));
        let mut orders = [0; 100];
        (0..20_000).for_each(|_| {
            orders
                .iter_mut()
                .for_each(|seen| *seen += u32::from(deck.draw(&mut random) == Kind::NewOrder))
        });
        assert!(
            orders.iter().all(|&seen| (f64::from(seen) / 20_000.0 - 0.45).abs() < 0.018),
            "{orders:?}"
        );
    }

    #[test]
    fn hammerdb_draws_are_independent_with_ten_of_twenty_three_orders() {
        let orders = shares(Profile::Hammerdb, 230_000)[0] as f64;
        assert!((orders / 100_000.0 - 1.0).abs() < 0.01, "{orders}");
        assert_ne!(shares(Profile::Hammerdb, 23), HAMMERDB.map(usize::from));
    }
}
