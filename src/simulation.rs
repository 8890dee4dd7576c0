//! A simulated world on a thread of its own: the executor, the database, and whoever runs on them.
//!
//! Its parts share state without locks and cannot leave their thread; whoever wants something sends a closure there and
//! waits for its answer. So Python may hold and call the server from any thread.

pub mod crew;
#[cfg(feature = "python")]
pub mod server;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{self, Sender};

use crate::executor::Executor;
use crate::order::Order;
use crate::session::simulated::model::Model;
use crate::session::simulated::{Database, SimulatedSession};

/// What lives on the simulation's thread.
pub struct World {
    pub executor: Executor,
    pub database: Rc<RefCell<Database>>,
    hired: u64,
    waiting: BTreeMap<u64, Order>,
    crew: Option<crew::Running>,
}

impl World {
    fn new(model: &Model) -> Self {
        let (executor, database) = (Executor::default(), Rc::new(RefCell::new(Database::new(model))));
        Self { executor, database, hired: 0, waiting: BTreeMap::new(), crew: None }
    }

    pub fn now_ns(&self) -> u64 {
        self.executor.timeline().now_ns()
    }

    /// A connection to the database.
    pub fn session(&self) -> SimulatedSession {
        SimulatedSession::new(self.database.clone(), self.executor.timeline())
    }
}

type Job = Box<dyn FnOnce(&mut World) + Send>;

/// A handle on the world; its thread ends when the last handle is dropped.
#[derive(Clone)]
pub struct Simulation {
    jobs: Sender<Job>,
    face: Arc<Face>,
}

/// What can be seen of the world without asking its thread (30 us there and back): its clock, and how often it was changed.
#[derive(Default)]
struct Face {
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
        Ok(Self { jobs, face: Arc::default() })
    }

    /// The simulated clock.
    pub fn now_ns(&self) -> u64 {
        self.face.now_ns.load(SeqCst)
    }

    /// How often something was asked that could change the world: what was seen before the last time may be out of date.
    pub fn changes(&self) -> u64 {
        self.face.changes.load(SeqCst)
    }

    /// Have `question` answered on the world's thread; it may change the world. The error: the world broke down under this
    /// question or an earlier one.
    pub fn ask<T: Send + 'static>(&self, question: impl FnOnce(&mut World) -> T + Send + 'static) -> Result<T, String> {
        let face = Arc::clone(&self.face);
        self.look(move |world| {
            let answer = question(world);
            face.now_ns.store(world.now_ns(), SeqCst);
            face.changes.fetch_add(1, SeqCst);
            answer
        })
    }

    /// The same for a question that leaves the world as it is.
    pub fn look<T: Send + 'static>(&self, question: impl FnOnce(&mut World) -> T + Send + 'static) -> Result<T, String> {
        let (answer, answered) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |world| _ = answer.send(question(world)));
        self.jobs.send(job).ok().and_then(|()| answered.recv().ok()).ok_or_else(|| "the simulation has broken down".into())
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
        std::thread::spawn(move || other.ask(|world| world.executor.run_until(7))).join().unwrap().unwrap();
        assert_eq!((simulation.look(|world| world.now_ns()), simulation.now_ns(), simulation.changes()), (Ok(7), 7, 1));
    }

    #[test]
    fn a_world_that_has_broken_down_says_so_for_ever() {
        let simulation = Simulation::start(model()).unwrap();
        assert!(simulation.ask(|_| std::panic::panic_any(())).is_err());
        assert!(simulation.ask(|world| world.now_ns()).unwrap_err().contains("broken down"));
    }
}
