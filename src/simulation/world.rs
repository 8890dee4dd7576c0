//! The simulated world: the executor, the database, and the load generator that runs on them.
//! Everything on one thread, without locks.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::clock::Clock;
use crate::executor::{Executor, SimulatedClock};
use crate::generator_spec::GeneratorSpec;
use crate::input_generator::InputGenerator;
use crate::ledger::Ledger;
use crate::load_generator::GeneratorError;
use crate::pool::ConnectionSource;
use crate::random::Stream;
use crate::session::simulated::Database;
use crate::session::simulated::connection::SimulatedConnector;
use crate::session::simulated::model::Model;
use crate::shared_state::{SECOND_NS, SharedState, Tick};
use crate::tally::report::{Report, Rung};
use crate::terminal::terminal;
use crate::worker::RESPONSE_LIMIT;
use crate::worker_state::WorkerState;

/// Everything on the simulation's thread.
pub struct World {
    pub executor: Executor,
    pub database: Rc<RefCell<Database>>,
    created: u64,
    ready: BTreeMap<u64, GeneratorSpec>,
    load_generator: Option<ActiveGenerator>,
    /// Of the latest load that has stopped.
    pub ledger: Ledger,
}

impl World {
    pub fn new(model: &Model) -> Self {
        let (executor, database) =
            (Executor::default(), Rc::new(RefCell::new(Database::new(model))));
        Self {
            executor,
            database,
            created: 0,
            ready: BTreeMap::new(),
            load_generator: None,
            ledger: Ledger::default(),
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.executor.timeline().now_ns()
    }

    /// Opens sessions of the database.
    pub fn connector(&self) -> SimulatedConnector {
        SimulatedConnector::new(self.database.clone(), self.executor.timeline())
    }
}

/// A load generator under load, on the thread of the world.
pub struct ActiveGenerator {
    number: u64,
    spec: GeneratorSpec,
    shared: Arc<SharedState>,
    state: Rc<WorkerState>,
    clock: SimulatedClock,
    reported_s: u64,
    /// CPU time of the load generator at the two marks.
    cpu_s: [f64; 2],
}

impl ActiveGenerator {
    fn now_s(&self) -> f64 {
        self.clock.now_ns() as f64 / SECOND_NS as f64
    }

    fn rung(&self) -> Rung {
        let window = self.shared.window_ns();
        Rung {
            users: self.spec.users,
            window_s: if window.start == u64::MAX {
                0.0
            } else {
                (window.end - window.start) as f64 / SECOND_NS as f64
            },
            whole_s: self.now_s(),
            load_generator_cpu_s: self.cpu_s[1] - self.cpu_s[0],
            load_generator_threads: self.spec.workers as usize,
            load_generator_cores: None,
            queued: self.spec.queued(),
        }
    }
}

impl World {
    pub fn create(&mut self, spec: GeneratorSpec) -> u64 {
        self.created += 1;
        self.ready.insert(self.created, spec.resolved());
        self.created
    }

    /// Fails if no session can be opened.
    pub fn reach(&self) -> Result<(), GeneratorError> {
        self.connector().reach().map_err(GeneratorError::Connection)
    }

    /// Start the load; the load generator's clock reads 0 now.
    pub fn go(&mut self, number: u64) -> Result<(), GeneratorError> {
        if self.load_generator.is_some() {
            return Err(GeneratorError::Broken(
                "another load generator runs on this simulated server: stop it first".into(),
            ));
        }
        let spec = self
            .ready
            .remove(&number)
            .ok_or_else(|| GeneratorError::Broken("go comes once, after ready".into()))?;
        let (shared, clock) =
            (Arc::new(SharedState::new(1)), SimulatedClock::starting_now(self.executor.timeline()));
        let state =
            WorkerState::new(Arc::clone(&shared), 0, spec.terminal_options(), arrivals(&spec));
        let sessions = (0..spec.connections).map(|_| self.connector().session()).collect();
        for (inputs, source) in
            inputs(&spec).zip(ConnectionSource::for_users(spec.users as usize, sessions))
        {
            self.executor.spawn(terminal(inputs, source, clock.clone(), Rc::clone(&state)));
        }
        self.executor.start();
        self.load_generator = Some(ActiveGenerator {
            number,
            spec,
            shared,
            state,
            clock,
            reported_s: 0,
            cpu_s: [0.0; 2],
        });
        Ok(())
    }

    pub fn tick(&mut self, number: u64) -> Result<Tick, GeneratorError> {
        let now_ns = self.now_ns();
        let left_ns = SECOND_NS - self.generator(number)?.clock.now_ns() % SECOND_NS;
        self.executor.run_until(now_ns + left_ns);
        let generator = self.generator(number)?;
        generator.state.advance(generator.clock.now_ns());
        let until_s = generator.clock.now_ns() / SECOND_NS;
        let ended = std::mem::replace(&mut generator.reported_s, until_s)..until_s;
        let alive = generator.shared.alive.load(Relaxed);
        Ok(Tick::new(generator.now_s(), alive, 0.0, &generator.shared.take(ended)))
    }

    pub fn mark(&mut self, number: u64, phase: &str) -> Result<f64, GeneratorError> {
        let load_generator_cpu_s = self.database.borrow().load_generator_cpu_s();
        let generator = self.generator(number)?;
        generator.shared.mark(phase, generator.clock.now_ns()).map_err(GeneratorError::Broken)?;
        generator.cpu_s[usize::from(phase == "cool_down")] = load_generator_cpu_s;
        Ok(generator.now_s())
    }

    /// Let every transaction that began end, and report the tally.
    pub fn stop(&mut self, number: u64) -> Result<Report, GeneratorError> {
        let window = self.generator(number)?.shared.window_ns();
        if window.start != u64::MAX && window.end == u64::MAX {
            self.mark(number, "cool_down")?;
        }
        let generator = self.end(number)?;
        let mut tally = generator
            .state
            .end(&format!("no response in {} s after the end", RESPONSE_LIMIT.as_secs()));
        tally.identity().map_err(GeneratorError::Broken)?;
        self.ledger = std::mem::take(&mut tally.ledger);
        Ok(tally.report(generator.rung()))
    }

    pub fn shut_down(&mut self, number: u64) -> Result<(), GeneratorError> {
        self.ready.remove(&number);
        self.end(number).map(drop)
    }

    /// Allow no more starts; run until every transaction has ended or exceeds the limit.
    fn end(&mut self, number: u64) -> Result<ActiveGenerator, GeneratorError> {
        let generator = self.generator(number)?;
        let drain = Duration::from_secs_f64(generator.spec.drain_s);
        generator.state.close(generator.clock.now_ns(), drain);
        let limit = drain + RESPONSE_LIMIT;
        if !self.executor.finish(self.now_ns().saturating_add(limit.as_nanos() as u64)) {
            self.executor.abandon();
            self.database.borrow_mut().abandon();
        }
        self.load_generator.take().ok_or_else(not_running)
    }

    fn generator(&mut self, number: u64) -> Result<&mut ActiveGenerator, GeneratorError> {
        self.load_generator
            .as_mut()
            .filter(|generator| generator.number == number)
            .ok_or_else(not_running)
    }
}

fn not_running() -> GeneratorError {
    GeneratorError::Broken(
        "the load generator does not run: it begins with go and ends with stop".into(),
    )
}

fn arrivals(spec: &GeneratorSpec) -> Option<Arrivals> {
    let stream =
        Stream::new(spec.seed, spec.stream).aside().jumps().nth(spec.first_user as usize)?;
    spec.rate_per_s.map(|rate_per_s| Arrivals::new(rate_per_s, stream))
}

fn inputs(spec: &GeneratorSpec) -> impl Iterator<Item = InputGenerator> {
    let (workload, first, count) = (spec.workload(), spec.first_user as usize, spec.users as usize);
    let streams = Stream::new(spec.seed, spec.stream).jumps().enumerate().skip(first).take(count);
    streams.map(move |(number, random)| InputGenerator::new(workload, number as i32, random))
}
