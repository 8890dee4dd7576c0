//! The schedule of the open loop.

use crate::random::Stream;

/// Starts at a mean rate with exponential gaps (a Poisson process), as of independent users.
/// It stores only the next start, so a backlog of any length needs no memory.
#[derive(Clone, Debug)]
pub struct Arrivals {
    random: Stream,
    mean_gap_ns: f64,
    at_ns: f64,
}

impl Arrivals {
    pub fn new(rate_per_s: f64, random: Stream) -> Self {
        Self { random, mean_gap_ns: 1e9 / rate_per_s, at_ns: 0.0 }
    }
}

impl Iterator for Arrivals {
    type Item = u64;

    /// The next intended start; it never ends.
    fn next(&mut self) -> Option<u64> {
        self.at_ns += self.random.exponential(self.mean_gap_ns);
        Some(self.at_ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_keep_their_rate_and_come_in_order() {
        let starts: Vec<u64> = Arrivals::new(1_000.0, Stream::new(1, 0)).take(100_000).collect();
        assert!(starts.is_sorted());
        assert!((starts[99_999] as f64 / 1e11 - 1.0).abs() < 0.01);
    }

    #[test]
    fn gaps_vary_as_in_a_poisson_process() {
        let mut per_s = vec![0f64; 1_000];
        Arrivals::new(100.0, Stream::new(2, 0))
            .take_while(|&ns| ns < 1_000_000_000_000)
            .for_each(|ns| per_s[(ns / 1_000_000_000) as usize] += 1.0);
        let mean = per_s.iter().sum::<f64>() / 1e3;
        let variance = per_s.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 1e3;
        assert!((variance / mean - 1.0).abs() < 0.15, "{variance} {mean}");
    }
}
