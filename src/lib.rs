//! The hot path: virtual users, loading, histograms. `python` is what Python sees of it; without that feature it builds and is tested
//! with no Python on the machine.

pub mod address;
pub mod alarm;
pub mod arrivals;
pub mod board;
pub mod clock;
pub mod copy_format;
pub mod crew;
pub mod deck;
pub mod executor;
pub mod histogram;
pub mod inputs;
pub mod loading;
pub mod order;
pub mod pool;
#[cfg(feature = "python")]
pub mod python;
pub mod random;
pub mod rows;
pub mod session;
pub mod shift;
pub mod simulation;
pub mod tally;
pub mod terminal;
pub mod user;
pub mod worker;
