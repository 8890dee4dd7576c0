//! A simulated world on its own thread: the executor, the database, and the load generator.
//!
//! Its parts share state without locks and cannot leave their thread. A caller sends a closure
//! there and waits for the result, so Python may call the server from any thread.

pub mod generator_handle;
pub mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{self, Sender};

use crate::session::simulated::model::Model;
use world::World;

type Job = Box<dyn FnOnce(&mut World) + Send>;

/// A handle on the world; the thread ends when the last handle is dropped.
#[derive(Clone)]
pub struct Simulation {
    jobs: Sender<Job>,
    published: Arc<Published>,
}

/// Values that callers can read without a round trip to the thread (30 us): the clock, and the
/// number of changes.
#[derive(Default)]
struct Published {
    now_ns: AtomicU64,
    changes: AtomicU64,
}

impl Simulation {
    /// A freshly restored database, at time 0.
    pub fn start(model: Model) -> std::io::Result<Self> {
        let (jobs, incoming) = mpsc::channel::<Job>();
        std::thread::Builder::new().name("simulation".into()).spawn(move || {
            let mut world = World::new(&model);
            incoming.into_iter().for_each(|job| job(&mut world));
        })?;
        Ok(Self { jobs, published: Arc::default() })
    }

    /// The simulated clock.
    pub fn now_ns(&self) -> u64 {
        self.published.now_ns.load(SeqCst)
    }

    /// Number of calls that could change the world: values read before the last one may be out of
    /// date.
    pub fn changes(&self) -> u64 {
        self.published.changes.load(SeqCst)
    }

    /// Run `action` on the thread of the world, which it may change. Fails if this or an earlier
    /// action panicked.
    pub fn change<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut World) -> T + Send + 'static,
    ) -> Result<T, String> {
        let published = Arc::clone(&self.published);
        self.read(move |world| {
            let result = action(world);
            published.now_ns.store(world.now_ns(), SeqCst);
            published.changes.fetch_add(1, SeqCst);
            result
        })
    }

    /// The same for a query that does not change the world.
    pub fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut World) -> T + Send + 'static,
    ) -> Result<T, String> {
        let (sender, reply) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |world| _ = sender.send(query(world)));
        self.jobs
            .send(job)
            .ok()
            .and_then(|()| reply.recv().ok())
            .ok_or_else(|| "the simulation has broken down".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::simulated::model::tests::model;

    #[test]
    fn the_world_answers_from_any_thread_and_its_clock_goes_on() {
        let simulation = Simulation::start(model()).unwrap();
        let other = simulation.clone();
        std::thread::spawn(move || other.change(|world| world.executor.run_until(7)))
            .join()
            .unwrap()
            .unwrap();
        assert_eq!(
            (simulation.read(|world| world.now_ns()), simulation.now_ns(), simulation.changes()),
            (Ok(7), 7, 1)
        );
    }

    #[test]
    fn a_world_that_has_broken_down_reports_it_for_ever() {
        let simulation = Simulation::start(model()).unwrap();
        assert!(simulation.change(|_| std::panic::panic_any(())).is_err());
        assert!(simulation.change(|world| world.now_ns()).unwrap_err().contains("broken down"));
    }
}
