//! The load generator in the simulated world: the same terminals, worker state and tally as on real
//! threads, on the simulated clock.

use super::Simulation;
use super::world::World;
use crate::generator_spec::GeneratorSpec;
use crate::ledger::Ledger;
use crate::load_generator::{GeneratorError, KeepWaiting, LoadGenerator};
use crate::shared_state::Tick;
use crate::tally::report::Report;

/// A handle for Python: the number of a load generator in its world.
pub struct SimulatedLoadGenerator {
    simulation: Simulation,
    number: u64,
}

impl SimulatedLoadGenerator {
    /// A load generator that has not started.
    pub fn new(simulation: &Simulation, spec: GeneratorSpec) -> Result<Self, GeneratorError> {
        let number =
            simulation.change(|world| world.create(spec)).map_err(GeneratorError::Broken)?;
        Ok(Self { simulation: simulation.clone(), number })
    }

    fn change<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut World, u64) -> Result<T, GeneratorError> + Send + 'static,
    ) -> Result<T, GeneratorError> {
        let number = self.number;
        self.simulation
            .change(move |world| action(world, number))
            .unwrap_or_else(|error| Err(GeneratorError::Broken(error)))
    }
}

impl LoadGenerator for SimulatedLoadGenerator {
    fn ready(&self, _: KeepWaiting) -> Result<(), GeneratorError> {
        self.change(|world, _| world.reach())
    }

    fn go(&self) -> Result<(), GeneratorError> {
        self.change(World::go)
    }

    /// Simulates the time to the next full second.
    fn tick(&self, _: KeepWaiting) -> Result<Tick, GeneratorError> {
        self.change(World::tick)
    }

    fn mark(&self, phase: &str) -> Result<f64, GeneratorError> {
        let phase = phase.to_owned();
        self.change(move |world, number| world.mark(number, &phase))
    }

    fn stop(&self, _: KeepWaiting) -> Result<Report, GeneratorError> {
        self.change(World::stop)
    }

    fn take_ledger(&self) -> Result<Ledger, GeneratorError> {
        self.change(|world, _| Ok(std::mem::take(&mut world.ledger)))
    }
}

impl Drop for SimulatedLoadGenerator {
    /// Its transactions end before another load begins; they are not reported.
    fn drop(&mut self) {
        let _ = self.change(|world, number| world.shut_down(number));
    }
}
