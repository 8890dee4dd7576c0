//! Latencies in HDR histograms: 1 us to 1 h, three digits. Histograms are merged; percentiles are
//! never averaged.

use std::cell::RefCell;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

const LOW_NS: u64 = 1_000;
/// An hour. Longer times are counted here and reported as overflow.
const HIGH_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;
const NS: f64 = 1e-9;
/// The cookie of a deflated V2 histogram.
const DEFLATED: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
/// A cookie and a length.
const HEADER_BYTES: usize = 8;
/// Of one histogram, inflated: ours have 34,000 counts of up to nine bytes.
const MOST_BYTES: u64 = 1 << 20;

thread_local! {
    /// Its buffers are larger than a histogram: allocating them per histogram costs more than the
    /// encoding.
    static SERIALIZER: RefCell<V2DeflateSerializer> = RefCell::new(V2DeflateSerializer::new());
}

/// A histogram of nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Self {
        match Histogram::new_with_bounds(LOW_NS, HIGH_NS, DIGITS) {
            Ok(histogram) => Self(histogram),
            Err(error) => unreachable!("constant bounds: {error}"),
        }
    }
}

/// The record `Latency` of Python: seconds.
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    pub n: u64,
    pub mean_s: f64,
    pub p50_s: f64,
    pub p90_s: f64,
    pub p95_s: f64,
    pub p99_s: f64,
    pub p999_s: f64,
    pub p999_low_s: f64,
    pub p999_high_s: f64,
    pub max_s: f64,
    pub overflow: u64,
    pub histogram: String,
}

impl Latencies {
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns.min(HIGH_NS));
    }

    pub fn merge(&mut self, other: &Latencies) {
        if let Err(error) = self.0.add(&other.0) {
            unreachable!("equal bounds: {error}");
        }
    }

    pub fn n(&self) -> u64 {
        self.0.len()
    }

    pub fn mean_s(&self) -> f64 {
        self.0.mean() * NS
    }

    pub fn max_s(&self) -> f64 {
        if self.n() == 0 { 0.0 } else { self.0.max() as f64 * NS }
    }

    /// The smallest value that at least this share of the samples does not exceed.
    pub fn quantile_s(&self, share: f64) -> f64 {
        self.0.value_at_quantile(share) as f64 * NS
    }

    /// 95% interval of a quantile by order statistics: the samples of rank
    /// `n p -+ 1.96 sqrt(n p (1 - p))`, widened to contain the quantile (for small n the upper rank
    /// exceeds the last sample: the interval then ends at the maximum).
    pub fn interval_s(&self, p: f64) -> (f64, f64) {
        let n = self.n() as f64;
        let half = 1.96 * (n * p * (1.0 - p)).sqrt();
        let at = |rank: f64| self.quantile_s((rank.clamp(1.0, n.max(1.0)) - 0.5) / n.max(1.0));
        (at((n * p - half).floor()), at((n * p + half).ceil() + 1.0))
    }

    /// None without samples.
    pub fn latency(&self) -> Option<Latency> {
        (self.n() > 0).then(|| Latency { histogram: self.encoded(), ..self.statistics() })
    }

    /// The numbers alone; zeros without samples.
    pub fn statistics(&self) -> Latency {
        let (p999_low_s, p999_high_s) = self.interval_s(0.999);
        Latency {
            n: self.n(),
            mean_s: self.mean_s(),
            p50_s: self.quantile_s(0.5),
            p90_s: self.quantile_s(0.9),
            p95_s: self.quantile_s(0.95),
            p99_s: self.quantile_s(0.99),
            p999_s: self.quantile_s(0.999),
            p999_low_s,
            p999_high_s,
            max_s: self.max_s(),
            overflow: self.overflow(),
            histogram: String::new(),
        }
    }

    /// Number of samples of an hour or longer.
    fn overflow(&self) -> u64 {
        self.0.count_at(HIGH_NS)
    }

    /// HdrHistogram's V2 encoding, deflated, in base64: begins with "HISTFAAA"; every HdrHistogram
    /// tool reads it.
    pub fn encoded(&self) -> String {
        let mut bytes = Vec::new();
        match SERIALIZER.with_borrow_mut(|serializer| serializer.serialize(&self.0, &mut bytes)) {
            Ok(_) => STANDARD.encode(bytes),
            Err(error) => unreachable!("writing to memory: {error}"),
        }
    }

    /// Read the output of [`Latencies::encoded`], or any V2 histogram of nanoseconds, deflated or
    /// not, of at most `MOST_BYTES`.
    pub fn decode(text: &str) -> Result<Self, String> {
        let bytes = STANDARD
            .decode(text.trim())
            .map_err(|error| format!("a histogram is not base64: {error}"))?;
        let plain = inflated(&bytes)?;
        let read: Histogram<u64> = Deserializer::new()
            .deserialize(&mut plain.as_slice())
            .map_err(|error| format!("a histogram is not HDR V2: {error}"))?;
        let ours = (read.low(), read.high(), read.sigfig()) == (LOW_NS, HIGH_NS, DIGITS);
        if ours && read.max() <= read.highest_equivalent(HIGH_NS) {
            return Ok(Self(read));
        }
        let mut latencies = Self::default();
        for counted in read.iter_recorded() {
            let ns = counted.value_iterated_to().min(HIGH_NS);
            latencies.0.saturating_record_n(ns, counted.count_at_value());
        }
        Ok(latencies)
    }
}

/// A histogram that is not deflated. The deserializer makes room for as many bytes as the histogram
/// claims to have, before it reads them: 56 characters could take 4 GiB.
fn inflated(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    if bytes.starts_with(&DEFLATED) {
        let packed = bytes.get(HEADER_BYTES..).unwrap_or_default();
        ZlibDecoder::new(packed)
            .take(MOST_BYTES)
            .read_to_end(&mut plain)
            .map_err(|error| format!("a histogram is not deflated: {error}"))?;
    } else {
        plain.extend_from_slice(bytes);
    }
    match plain.get(4..HEADER_BYTES).and_then(|claim| claim.try_into().ok()) {
        Some(claim) if u64::from(u32::from_be_bytes(claim)) > plain.len() as u64 => {
            Err(format!("a histogram is cut off, or has more than {MOST_BYTES} bytes"))
        }
        _ => Ok(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn sample(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        values.iter().for_each(|&ns| latencies.record(ns));
        latencies
    }

    fn random_values(random: &mut Stream) -> Vec<u64> {
        let n = random.below(300);
        let scales: Vec<f64> = (0..n).map(|_| 10f64.powi(random.between(3, 12))).collect();
        scales.into_iter().map(|scale| random.exponential(scale) as u64).collect()
    }

    #[test]
    fn merging_is_the_histogram_of_all_values_in_any_order_and_grouping() {
        let mut random = Stream::new(11, 0);
        for _ in 0..200 {
            let [a, b, c] = [0; 3].map(|_| random_values(&mut random));
            let whole = sample(&[a.clone(), b.clone(), c.clone()].concat());
            let (mut left, mut right) = (sample(&a), sample(&c));
            left.merge(&sample(&b));
            left.merge(&sample(&c));
            let mut ba = sample(&b);
            ba.merge(&sample(&a));
            right.merge(&ba);
            assert_eq!(left, whole);
            assert_eq!(right, whole);
        }
    }

    #[test]
    fn encoding_and_decoding_gives_the_same_histogram_back() {
        let mut random = Stream::new(12, 0);
        for _ in 0..100 {
            let latencies = sample(&random_values(&mut random));
            assert!(latencies.encoded().starts_with("HISTFAAA"));
            assert_eq!(
                Latencies::decode(&latencies.encoded()).map(|l| l.latency()),
                Ok(latencies.latency())
            );
        }
    }

    #[test]
    fn percentiles_are_right_to_three_digits() {
        let latency =
            sample(&(1..=100_000).map(|i| i * 1_000).collect::<Vec<_>>()).latency().unwrap();
        for (seen, exact) in [
            (latency.mean_s, 0.0500005),
            (latency.p50_s, 0.05),
            (latency.p99_s, 0.099),
            (latency.p999_s, 0.0999),
        ] {
            assert!((seen / exact - 1.0).abs() < 0.001, "{seen} {exact}");
        }
    }

    #[test]
    fn the_interval_of_the_last_thousandth_covers_the_truth_as_often_as_it_claims() {
        let (mut random, truth) = (Stream::new(13, 0), 0.001 * 1000f64.ln());
        let covered = (0..400).filter(|_| {
            let (low, high) =
                sample(&(0..20_000).map(|_| random.exponential(1e6) as u64).collect::<Vec<_>>())
                    .interval_s(0.999);
            low <= truth && truth <= high
        });
        let share = covered.count() as f64 / 400.0;
        assert!((0.92..=0.99).contains(&share), "{share}");
    }

    #[test]
    fn what_takes_longer_than_an_hour_is_counted_and_shown() {
        let latency = sample(&[1_000_000, 2 * HIGH_NS, u64::MAX]).latency().unwrap();
        assert_eq!((latency.n, latency.overflow), (3, 2));
        assert!((latency.max_s / 3600.0 - 1.0).abs() < 0.001);
        assert_eq!(Latencies::decode(&latency.histogram).unwrap().latency().unwrap().overflow, 2);
        let Latencies(mut foreign) = Latencies::default(); // its counts reach beyond the bound
        foreign.record(HIGH_NS + HIGH_NS / 8).unwrap();
        assert_eq!(Latencies::decode(&Latencies(foreign).encoded()).unwrap().overflow(), 1);
    }

    #[test]
    fn nothing_recorded_has_no_latency_and_nonsense_is_refused() {
        assert_eq!(Latencies::default().latency(), None);
        assert!(Latencies::decode("???").unwrap_err().contains("base64"));
        assert!(Latencies::decode("AAAA").unwrap_err().contains("HDR V2"));
    }

    #[test]
    fn a_histogram_that_claims_more_than_it_has_takes_no_memory() {
        let plain = |claim: u32| {
            let head = [0x1c84_9313, claim, 0, 3].map(u32::to_be_bytes).concat();
            let bounds = [1, 1 << 40, 1f64.to_bits()].map(u64::to_be_bytes).concat();
            [head, bounds].concat()
        };
        let deflated = |plain: &[u8]| {
            let mut packed = DEFLATED.to_vec();
            packed.extend([0; 4]);
            let mut into = flate2::write::ZlibEncoder::new(packed, flate2::Compression::best());
            std::io::Write::write_all(&mut into, plain).unwrap();
            into.finish().unwrap()
        };
        let much = [plain(1 << 26), vec![0; 1 << 26]].concat();
        for bytes in [plain(u32::MAX), deflated(&plain(u32::MAX)), deflated(&much)] {
            let refused = Latencies::decode(&STANDARD.encode(bytes)).unwrap_err();
            assert!(refused.contains("cut off, or has more than"), "{refused}");
        }
        assert_eq!(Latencies::decode(&STANDARD.encode(plain(0))).unwrap().latency(), None);
    }
}
