//! Random streams: one seed, one stream per virtual user, without overlap.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers (xoshiro256++, Blackman and Vigna). Streams of one `seed` and
/// `stream` are 2^128 numbers apart by `jump`, so no two users ever draw the same numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The first stream of a seed; `stream` separates the uses of a seed (the rungs of a ladder,
    /// the loading).
    pub fn new(seed: u64, stream: u64) -> Self {
        let mixed = seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// Endless streams, one jump apart; the first is `self`.
    pub fn jumps(self) -> impl Iterator<Item = Stream> {
        std::iter::successors(Some(self), |before| {
            let mut next = before.clone();
            next.0.jump();
            Some(next)
        })
    }

    /// A stream that no number of `jumps` reaches (2^192 numbers away): for draws that belong to no
    /// user.
    pub fn aside(&self) -> Self {
        let mut far = self.clone();
        far.0.long_jump();
        far
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in 0..n (n > 0), by one multiplication: off by at most n / 2^64 in probability.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in low..=high.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        debug_assert!(low <= high);
        let width = (i64::from(high) - i64::from(low) + 1) as u64;
        (i64::from(low) + self.below(width) as i64) as i32
    }

    /// True with `percent` per cent probability.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Uniform in (0, 1]: safe for a logarithm.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -self.unit().ln() * mean
    }

    /// Shuffle in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_stream_gives_others() {
        let numbers = |seed, stream| -> Vec<u64> {
            let mut random = Stream::new(seed, stream);
            (0..4).map(|_| random.bits()).collect()
        };
        assert_eq!(numbers(1, 2), numbers(1, 2));
        assert_ne!(numbers(1, 2), numbers(1, 3));
        assert_ne!(numbers(1, 2), numbers(2, 2));
    }

    #[test]
    fn users_have_streams_of_their_own() {
        let mut firsts: Vec<u64> =
            Stream::new(7, 0).jumps().take(500).map(|mut s| s.bits()).collect();
        firsts.push(Stream::new(7, 0).aside().bits());
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 501);
    }

    #[test]
    fn between_meets_both_ends_and_nothing_beyond() {
        let mut random = Stream::new(1, 0);
        let drawn: Vec<i32> = (0..1000).map(|_| random.between(-2, 3)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&-2), Some(&3)));
    }

    #[test]
    fn exponential_has_its_mean() {
        let mut random = Stream::new(3, 0);
        let mean = (0..100_000).map(|_| random.exponential(12.0)).sum::<f64>() / 100_000.0;
        assert!((mean - 12.0).abs() < 0.15, "{mean}");
    }
}
