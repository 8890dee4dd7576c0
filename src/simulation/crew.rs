//! A crew in the simulated world: the same terminals, shift and tally as on real threads, on the world's clock.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::{Simulation, World};
use crate::arrivals::Arrivals;
use crate::board::{Board, SECOND_NS, Tick};
use crate::clock::Clock;
use crate::crew::{Crew, GoOn, Wrong, json};
use crate::executor::SimulatedClock;
use crate::order::Order;
use crate::pool::Way;
use crate::random::Stream;
use crate::shift::Shift;
use crate::tally::Rung;
use crate::terminal::terminal;
use crate::user::User;
use crate::worker::ANSWER_LIMIT;

/// What Python holds: a crew's number in its world.
pub struct SimulatedCrew {
    simulation: Simulation,
    number: u64,
}

/// A crew under load, on the world's thread.
pub struct Running {
    number: u64,
    order: Order,
    board: Arc<Board>,
    shift: Rc<Shift>,
    clock: SimulatedClock,
    told_s: u64,
    /// The clients' core time at the marks.
    cpu_s: [f64; 2],
}

impl SimulatedCrew {
    /// A crew that is hired and does nothing yet.
    pub fn new(simulation: &Simulation, order: &str) -> Result<Self, Wrong> {
        let order = Order::parse(order)?;
        let number = simulation.ask(|world| world.hire(order)).map_err(Wrong::Broken)?;
        Ok(Self { simulation: simulation.clone(), number })
    }

    fn ask<T: Send + 'static>(&self, what: impl FnOnce(&mut World, u64) -> Result<T, Wrong> + Send + 'static) -> Result<T, Wrong> {
        let number = self.number;
        self.simulation.ask(move |world| what(world, number)).unwrap_or_else(|wrong| Err(Wrong::Broken(wrong)))
    }
}

impl Crew for SimulatedCrew {
    fn ready(&self, _: GoOn) -> Result<(), Wrong> {
        self.ask(|world, _| world.refusal().map_or(Ok(()), |message| Err(Wrong::Connection(message))))
    }

    fn go(&self) -> Result<(), Wrong> {
        self.ask(World::go)
    }

    /// Works off the time to the next full second, however long that takes.
    fn tick(&self, _: GoOn) -> Result<String, Wrong> {
        self.ask(|world, number| json(&world.tick(number)?))
    }

    fn mark(&self, phase: &str) -> Result<f64, Wrong> {
        let phase = phase.to_owned();
        self.ask(move |world, number| world.mark(number, &phase))
    }

    fn stop(&self, _: GoOn) -> Result<String, Wrong> {
        self.ask(World::stop)
    }
}

impl Drop for SimulatedCrew {
    /// Its transactions end before anyone else's begin; nobody hears of them.
    fn drop(&mut self) {
        let _ = self.ask(|world, number| world.dismiss(number));
    }
}

impl Running {
    fn now_s(&self) -> f64 {
        self.clock.now_ns() as f64 / SECOND_NS as f64
    }

    fn rung(&self) -> Rung {
        let window = self.board.window_ns();
        Rung {
            users: self.order.users,
            window_s: if window.start == u64::MAX { 0.0 } else { (window.end - window.start) as f64 / SECOND_NS as f64 },
            whole_s: self.now_s(),
            client_cpu_s: self.cpu_s[1] - self.cpu_s[0],
            client_workers: self.order.workers as usize,
            client_cores: None,
            queued: self.order.queued(),
        }
    }
}

impl World {
    fn hire(&mut self, order: Order) -> u64 {
        self.hired += 1;
        self.waiting.insert(self.hired, order);
        self.hired
    }

    /// Why nobody can connect, if so.
    fn refusal(&self) -> Option<String> {
        self.database.borrow().dead(self.now_ns())
    }

    /// Start the load; the crew's clock reads 0 now.
    fn go(&mut self, number: u64) -> Result<(), Wrong> {
        if self.crew.is_some() {
            return Err(Wrong::Broken("another crew is at work on this simulated server: stop it first".into()));
        }
        let order = self.waiting.remove(&number).ok_or_else(|| Wrong::Broken("go comes once, after ready".into()))?;
        let (board, clock) = (Arc::new(Board::new(1)), SimulatedClock::starting_now(self.executor.timeline()));
        let shift = Shift::new(Arc::clone(&board), 0, order.manners(), arrivals(&order));
        let sessions = (0..order.connections).map(|_| self.session()).collect();
        for (user, way) in users(&order).zip(Way::for_each_of(order.users as usize, sessions)) {
            self.executor.spawn(terminal(user, way, clock.clone(), Rc::clone(&shift)));
        }
        self.executor.start();
        self.crew = Some(Running { number, order, board, shift, clock, told_s: 0, cpu_s: [0.0; 2] });
        Ok(())
    }

    fn tick(&mut self, number: u64) -> Result<Tick, Wrong> {
        let now_ns = self.now_ns();
        let left_ns = SECOND_NS - self.crew(number)?.clock.now_ns() % SECOND_NS;
        self.executor.run_until(now_ns + left_ns);
        let crew = self.crew(number)?;
        crew.shift.turn(crew.clock.now_ns());
        let until_s = crew.clock.now_ns() / SECOND_NS;
        let ended = std::mem::replace(&mut crew.told_s, until_s)..until_s;
        Ok(Tick { now_s: crew.now_s(), alive: crew.board.alive.load(Relaxed), seconds: crew.board.take(ended) })
    }

    fn mark(&mut self, number: u64, phase: &str) -> Result<f64, Wrong> {
        let client_cpu_s = self.database.borrow().client_cpu_s();
        let crew = self.crew(number)?;
        crew.board.mark(phase, crew.clock.now_ns()).map_err(Wrong::Broken)?;
        crew.cpu_s[usize::from(phase == "cool_down")] = client_cpu_s;
        Ok(crew.now_s())
    }

    /// Let all that began end; the tally.
    fn stop(&mut self, number: u64) -> Result<String, Wrong> {
        let window = self.crew(number)?.board.window_ns();
        if window.start != u64::MAX && window.end == u64::MAX {
            self.mark(number, "cool_down")?;
        }
        let crew = self.end(number)?;
        let tally = crew.shift.end(&format!("no answer in {} s after the end", ANSWER_LIMIT.as_secs()));
        tally.identity().map_err(Wrong::Broken)?;
        json(&tally.report(crew.rung()))
    }

    fn dismiss(&mut self, number: u64) -> Result<(), Wrong> {
        self.waiting.remove(&number);
        self.end(number).map(drop)
    }

    /// No more starts; go on until everyone has had an answer, or has waited too long for it.
    fn end(&mut self, number: u64) -> Result<Running, Wrong> {
        let crew = self.crew(number)?;
        let drain = Duration::from_secs_f64(crew.order.drain_s);
        crew.shift.close(crew.clock.now_ns(), drain);
        let limit = drain + ANSWER_LIMIT;
        if !self.executor.finish(self.now_ns().saturating_add(limit.as_nanos() as u64)) {
            self.executor.abandon();
            self.database.borrow_mut().abandon();
        }
        self.crew.take().ok_or_else(not_at_work)
    }

    fn crew(&mut self, number: u64) -> Result<&mut Running, Wrong> {
        self.crew.as_mut().filter(|crew| crew.number == number).ok_or_else(not_at_work)
    }
}

fn not_at_work() -> Wrong {
    Wrong::Broken("the crew is not at work: it begins with go and ends with stop".into())
}

fn arrivals(order: &Order) -> Option<Arrivals> {
    let stream = Stream::new(order.seed, order.stream).aside().jumps().nth(order.first_user as usize)?;
    order.rate_per_s.map(|rate_per_s| Arrivals::new(rate_per_s, stream))
}

fn users(order: &Order) -> impl Iterator<Item = User> {
    let (workload, first, count) = (order.workload(), order.first_user as usize, order.users as usize);
    let streams = Stream::new(order.seed, order.stream).jumps().enumerate().skip(first).take(count);
    streams.map(move |(number, random)| User::new(workload, number as i32, random))
}
