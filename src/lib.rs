//! The hot path: load generator, loading, histograms. `python` is the Python border; without that
//! feature the crate builds and is tested with no Python on the machine.

pub mod address;
pub mod arrivals;
pub mod calendar;
pub mod clock;
pub mod cpu;
pub mod dataset;
pub mod deck;
pub mod executor;
pub mod generator_spec;
pub mod histogram;
pub mod input_generator;
pub mod inputs;
pub mod ledger;
pub mod load_generator;
pub mod loading;
pub mod pool;
pub mod protocols;
#[cfg(feature = "python")]
pub mod python;
pub mod random;
pub mod response_arrival;
pub mod row_sink;
pub mod rows;
pub mod session;
pub mod shared_state;
pub mod simulation;
pub mod tally;
pub mod terminal;
pub mod timer;
pub mod tproc_h;
pub mod worker;
pub mod worker_state;
