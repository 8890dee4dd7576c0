//! Counters that meters read from a real server: cumulative, by "quantity|source"
//! (measurement/quantities.py).
//!
//! Two drives: `sim0` contains the data, `sim1` the log.

use std::collections::BTreeMap;

use super::ledger::PAGE_BYTES;
use super::model::SECOND_NS;
use super::{Checkpoints, Database};

/// CPU time of the load generator per transaction: 9.3 us per prepared call, measured.
const CLIENT_CPU_S: f64 = 9.3e-6;
/// A checkpoint's pages are written evenly over this share of the time to the next.
const CHECKPOINT_SPREAD: f64 = 0.9;

pub type Readings = BTreeMap<String, f64>;

fn s(ns: u64) -> f64 {
    ns as f64 / SECOND_NS as f64
}

impl Checkpoints {
    fn pages_written(&self, now_ns: u64, every_s: f64) -> f64 {
        let spread_s = CHECKPOINT_SPREAD * every_s;
        let share =
            if spread_s > 0.0 { (s(now_ns - self.begun_ns) / spread_s).min(1.0) } else { 1.0 };
        self.pages_before + self.pages * share
    }
}

impl Database {
    /// CPU time of the load generator so far.
    pub fn load_generator_cpu_s(&self) -> f64 {
        self.received as f64 * CLIENT_CPU_S
    }

    /// Every counter and gauge at this moment.
    pub fn readings(&mut self, now_ns: u64) -> Readings {
        self.checkpoint_when_due(now_ns);
        let mut readings = Readings::new();
        self.read_cores(now_ns, &mut readings);
        self.read_data_device(now_ns, &mut readings);
        self.read_log(&mut readings);
        self.read_database(&mut readings);
        self.read_waits(now_ns, &mut readings);
        readings
    }

    fn read_cores(&self, now_ns: u64, readings: &mut Readings) {
        readings.extend(
            self.cores
                .busy_ns(now_ns)
                .enumerate()
                .map(|(core, ns)| (format!("cores.busy|{core}"), s(ns))),
        );
        readings.insert("processes.cpu|server".into(), s(self.cores.busy_ns(now_ns).sum()));
        readings.insert("processes.cpu|load_generator".into(), self.load_generator_cpu_s());
    }

    fn read_data_device(&self, now_ns: u64, readings: &mut Readings) {
        let (reads, read_time_ns) = self.device.served();
        let pages = self.checkpoints.pages_written(now_ns, self.storage.checkpoint_every_s);
        readings.extend(
            [
                ("reads", reads as f64),
                ("read_bytes", (reads * PAGE_BYTES) as f64),
                ("read_time", s(read_time_ns)),
                ("writes", pages),
                ("write_bytes", pages * PAGE_BYTES as f64),
                ("write_time", pages * self.storage.read_latency_s),
                ("flushes", (self.checkpoints.timed + self.checkpoints.requested) as f64),
                (
                    "flush_time",
                    (self.checkpoints.timed + self.checkpoints.requested) as f64
                        * self.storage.log_latency_s,
                ),
                ("busy", s(self.device.present_ns(now_ns))),
                ("queue_depth", s(self.device.spent_ns(now_ns))),
            ]
            .map(|(name, value)| (format!("device.{name}|sim0"), value)),
        );
    }

    fn read_log(&self, readings: &mut Readings) {
        let (flushes, flush_time_ns) = self.log.flushed();
        let traffic = self.ledger.traffic;
        let device = [
            ("writes", flushes as f64),
            ("flushes", flushes as f64),
            ("write_bytes", traffic.log_bytes as f64),
        ];
        let times = [
            ("flush_time", s(flush_time_ns)),
            ("busy", s(flush_time_ns)),
            ("queue_depth", s(flush_time_ns)),
        ];
        readings.extend(
            device
                .into_iter()
                .chain(times)
                .map(|(name, value)| (format!("device.{name}|sim1"), value)),
        );
        readings.extend(
            [
                ("log.flushes|database", flushes as f64),
                ("log.writes|database", flushes as f64),
                ("log.write_time|database", 0.0),
                ("log.flush_time|database", s(flush_time_ns)),
                ("log.bytes|database", traffic.log_bytes as f64),
                ("log.records|database", traffic.log_records as f64),
                ("log.full_page_images|database", traffic.full_pages),
            ]
            .map(|(name, value)| (name.into(), value)),
        );
    }

    fn read_database(&self, readings: &mut Readings) {
        let (sums, traffic, (misses, _)) =
            (self.ledger.sums(), self.ledger.traffic, self.device.served());
        readings.extend(
            [
                ("database.commits|database", sums.committed as f64),
                ("database.rollbacks|database", sums.rolled_back as f64),
                ("cache.hits|database", traffic.blocks as f64),
                ("cache.reads|database", misses as f64),
                ("checkpoints.timed|database", self.checkpoints.timed as f64),
                ("checkpoints.requested|database", self.checkpoints.requested as f64),
                (
                    "checkpoints.buffers|database",
                    self.checkpoints.pages_before + self.checkpoints.pages,
                ),
                ("tables.dead_tuples|database", traffic.updates as f64),
                ("tables.sequential_scans|database", 0.0),
                ("tables.autovacuums|database", 0.0),
            ]
            .map(|(name, value)| (name.into(), value)),
        );
    }

    /// Waiting sessions by event, and the time in which at least one waited (as the kernel's
    /// pressure, "some").
    fn read_waits(&self, now_ns: u64, readings: &mut Readings) {
        readings.extend(
            [
                ("waits.sessions|CPU", self.cores.inside() as f64),
                ("waits.sessions|IO:DataFileRead", self.device.inside() as f64),
                ("waits.sessions|IO:WalSync", self.log.waiting() as f64),
                ("pressure.cpu|some", s(self.cores.queueing_ns(now_ns))),
                ("pressure.io|some", s(self.device.present_ns(now_ns))),
                ("pressure.memory|some", 0.0),
            ]
            .map(|(name, value)| (name.into(), value)),
        );
        if let Some(locks) = &self.locks {
            let waiting = locks.waiting() as f64;
            readings.insert("waits.sessions|Lock:transactionid".into(), waiting);
        }
    }
}
