//! Parameters of the simulated database: the figures of the plan's `SimulatedStorage`, and the
//! draws from them.

use crate::deck::{HAMMERDB, SPEC};
use crate::inputs::Profile;
use crate::random::Stream;

pub const SECOND_NS: u64 = 1_000_000_000;

/// Relative demand of a transaction on cores and drives, in the order of `Kind`: a delivery empties
/// ten districts, a payment touches four rows. Estimates from the rows that each one touches;
/// `Model::weights` scales their mean over the mix to 1.
const DEMAND: [f64; 5] = [1.0, 0.5, 0.4, 3.0, 1.5];

/// The drives and cores: field by field the plan's `SimulatedStorage`, which describes each.
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
#[derive(Clone, Debug)]
pub struct Storage {
    pub cores: usize,
    #[cfg_attr(feature = "python", pyo3(attribute("cpu_per_transaction")))]
    pub cpu_per_transaction_s: f64,
    pub contention: f64,
    pub affinity: f64,
    pub reads_per_transaction: f64,
    pub cold_reads_per_transaction: f64,
    pub warm_after: u64,
    #[cfg_attr(feature = "python", pyo3(attribute("read_latency")))]
    pub read_latency_s: f64,
    pub read_channels: usize,
    pub writes_per_transaction: f64,
    #[cfg_attr(feature = "python", pyo3(attribute("write_latency")))]
    pub write_latency_s: f64,
    pub log_on_data_drive: bool,
    #[cfg_attr(feature = "python", pyo3(attribute("log_latency")))]
    pub log_latency_s: f64,
    #[cfg_attr(feature = "python", pyo3(attribute("log_time_per_commit")))]
    pub log_time_per_commit_s: f64,
    #[cfg_attr(feature = "python", pyo3(attribute("cpu_per_flush")))]
    pub cpu_per_flush_s: f64,
    #[cfg_attr(feature = "python", pyo3(attribute("cpu_after_flush")))]
    pub cpu_after_flush_s: f64,
    #[cfg_attr(feature = "python", pyo3(attribute("cpu_beside_flush")))]
    pub cpu_beside_flush_s: f64,
    #[cfg_attr(feature = "python", pyo3(attribute("cpu_beside_read")))]
    pub cpu_beside_read_s: f64,
    #[cfg_attr(feature = "python", pyo3(attribute("checkpoint_every")))]
    pub checkpoint_every_s: f64,
    pub noise: f64,
    pub restore_noise: f64,
    pub full_after_users: usize,
    pub deadlocks: f64,
    pub row_locks: bool,
    #[cfg_attr(feature = "python", pyo3(attribute("dies_after")))]
    pub dies_after_s: f64,
}

/// A whole simulated database.
#[derive(Clone, Debug)]
pub struct Model {
    pub storage: Storage,
    pub warehouses: u32,
    pub profile: Profile,
    pub seed: u64,
}

impl Model {
    /// Demand per transaction type; the mean over the profile's mix is 1.
    pub fn weights(&self) -> [f64; 5] {
        let cards = match self.profile {
            Profile::Spec => SPEC,
            Profile::Hammerdb => HAMMERDB,
        };
        let cards = cards.map(f64::from);
        let mean =
            cards.iter().zip(DEMAND).map(|(n, d)| n * d).sum::<f64>() / cards.iter().sum::<f64>();
        DEMAND.map(|d| d / mean)
    }
}

/// Factor by which each resource is slower than its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseFactors {
    pub cores: f64,
    pub device: f64,
    pub log: f64,
}

/// The random draws: one stream for service times, one for the noise from second to second, so that
/// neither shifts the other.
pub struct Rng {
    service: Stream,
    noise: Stream,
    deviation: f64,
    restore_factors: NoiseFactors,
    factors: NoiseFactors,
    until_ns: u64,
}

impl Rng {
    pub fn new(seed: u64, deviation: f64, restore_deviation: f64) -> Self {
        let service = Stream::new(seed, 0);
        let mut noise = service.aside();
        let restore_factors = factors(&mut noise, restore_deviation);
        Self { service, noise, deviation, restore_factors, factors: restore_factors, until_ns: 0 }
    }

    /// The factors of the current second: this restore's times this second's, each with mean 1.
    pub fn factors(&mut self, now_ns: u64) -> NoiseFactors {
        if now_ns >= self.until_ns {
            let second = factors(&mut self.noise, self.deviation);
            let NoiseFactors { cores, device, log } = self.restore_factors;
            self.factors = NoiseFactors {
                cores: cores * second.cores,
                device: device * second.device,
                log: log * second.log,
            };
            self.until_ns = now_ns - now_ns % SECOND_NS + SECOND_NS;
        }
        self.factors
    }

    /// Exponential with this mean, in whole nanoseconds.
    pub fn exponential_ns(&mut self, mean_ns: f64) -> u64 {
        self.service.exponential(mean_ns) as u64
    }

    /// Duration of a flush: four fifths constant, the rest exponential; drives vary little from
    /// flush to flush, except for a tail.
    pub fn flush_ns(&mut self, mean_ns: f64) -> u64 {
        (0.8 * mean_ns) as u64 + self.exponential_ns(0.2 * mean_ns)
    }

    /// A whole number with this mean: one of its two neighbours, at random.
    pub fn rounded(&mut self, mean: f64) -> u32 {
        let whole = mean.floor();
        whole as u32 + u32::from(self.chance(mean - whole))
    }

    /// A whole number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.service.unit() * n as f64) as usize).min(n - 1)
    }

    /// True with this probability; draws nothing if it is 0.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.service.unit() <= probability
    }
}

fn factors(stream: &mut Stream, deviation: f64) -> NoiseFactors {
    let mut factor = || {
        let normal = stream.exponential(2.0).sqrt() * (std::f64::consts::TAU * stream.unit()).cos();
        (deviation * normal - deviation * deviation / 2.0).exp()
    };
    NoiseFactors { cores: factor(), device: factor(), log: factor() }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Four cores, 2 ms per transaction: at most 2,000 per second.
    pub fn model() -> Model {
        let storage = Storage {
            cores: 4,
            cpu_per_transaction_s: 0.002,
            contention: 0.0,
            affinity: 0.0,
            reads_per_transaction: 2.0,
            cold_reads_per_transaction: 0.0,
            warm_after: 2000,
            read_latency_s: 0.0001,
            read_channels: 16,
            writes_per_transaction: 0.0,
            write_latency_s: 0.0001,
            log_on_data_drive: false,
            log_latency_s: 0.0005,
            log_time_per_commit_s: 0.0,
            cpu_per_flush_s: 0.0,
            cpu_after_flush_s: 0.0,
            cpu_beside_flush_s: 0.0,
            cpu_beside_read_s: 0.0,
            checkpoint_every_s: 30.0,
            noise: 0.0,
            restore_noise: 0.0,
            full_after_users: 0,
            deadlocks: 0.0,
            row_locks: false,
            dies_after_s: 0.0,
        };
        Model { storage, warehouses: 20, profile: Profile::Spec, seed: 1 }
    }

    fn mean(draws: u32, mut draw: impl FnMut() -> f64) -> f64 {
        (0..draws).map(|_| draw()).sum::<f64>() / f64::from(draws)
    }

    #[test]
    fn every_draw_has_the_mean_it_is_asked_for() {
        let mut rng = Rng::new(1, 0.1, 0.0);
        assert!((mean(100_000, || rng.exponential_ns(1e6) as f64) / 1e6 - 1.0).abs() < 0.02);
        assert!((mean(100_000, || rng.flush_ns(1e6) as f64) / 1e6 - 1.0).abs() < 0.01);
        assert!((mean(100_000, || f64::from(rng.rounded(2.3))) - 2.3).abs() < 0.01);
        let mut second = 0;
        let noisy = mean(20_000, || {
            second += 1;
            rng.factors(second * SECOND_NS).cores
        });
        assert!((noisy - 1.0).abs() < 0.005);
    }

    #[test]
    fn the_mood_lasts_for_a_second_and_the_noise_of_a_restore_for_ever() {
        let mut rng = Rng::new(1, 0.1, 0.0);
        let first = rng.factors(0);
        assert_eq!(first, rng.factors(SECOND_NS - 1));
        assert_ne!(first, rng.factors(SECOND_NS));
        let mut restored = Rng::new(1, 0.0, 0.1);
        assert_eq!(restored.factors(0), restored.factors(5 * SECOND_NS));
        assert_ne!(restored.factors(0).cores, Rng::new(2, 0.0, 0.1).factors(0).cores);
    }
}
