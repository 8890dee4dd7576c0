//! The mix: which transaction a terminal runs next.

use crate::inputs::{Kind, Profile};
use crate::random::Stream;

/// TPC-C's minimum shares in 100 cards (5.2.3), and HammerDB's 23 cards (pgoltp.tcl:3386-3410), in the order of [`Kind::ALL`].
pub const SPEC: [usize; 5] = [45, 43, 4, 4, 4];
pub const HAMMERDB: [usize; 5] = [10, 10, 1, 1, 1];

/// One terminal's cards. `spec` deals a shuffled deck to its end before it shuffles again (TPC-C 5.2.4.2), so that a
/// terminal's mix is exact every 100 transactions; `hammerdb` puts each card back, as HammerDB does.
#[derive(Clone, Debug)]
pub struct Deck {
    cards: Vec<Kind>,
    left: usize,
    put_back: bool,
}

impl Deck {
    pub fn new(profile: Profile) -> Self {
        let (shares, put_back) = match profile {
            Profile::Spec => (SPEC, false),
            Profile::Hammerdb => (HAMMERDB, true),
        };
        let cards = Kind::ALL.into_iter().zip(shares).flat_map(|(kind, share)| std::iter::repeat_n(kind, share)).collect();
        Self { cards, left: 0, put_back }
    }

    /// The next card.
    pub fn draw(&mut self, random: &mut Stream) -> Kind {
        if self.put_back {
            return self.cards[random.below(self.cards.len() as u64) as usize];
        }
        if self.left == 0 {
            random.shuffle(&mut self.cards);
            self.left = self.cards.len();
        }
        self.left -= 1;
        self.cards[self.left]
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
        assert_eq!(shares(Profile::Spec, 100), SPEC);
        assert_eq!(shares(Profile::Spec, 1000), SPEC.map(|n| n * 10));
    }

    #[test]
    fn hammerdb_draws_are_independent_with_ten_of_twenty_three_orders() {
        let orders = shares(Profile::Hammerdb, 230_000)[0] as f64;
        assert!((orders / 100_000.0 - 1.0).abs() < 0.01, "{orders}");
        assert_ne!(shares(Profile::Hammerdb, 23), HAMMERDB);
    }
}
