//! One user's connection: a thread on which the driver waits, and the worker's end of it.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use kneebench::cpu::Cpu;
use kneebench::inputs::Transaction;
use kneebench::session::opening::within_limit;
use kneebench::session::{Connector, Delay, Error, ErrorClass, Outcome, Session};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::call::Calls;
use crate::connection::{Link, Shared, Target};

/// Opens sessions of one database.
pub struct OdbcConnector {
    pub(crate) target: Shared,
}

impl OdbcConnector {
    pub fn new(target: Target) -> Self {
        Self { target: Arc::new(target) }
    }
}

impl Connector for OdbcConnector {
    type Session = OdbcSession;

    async fn open(&self) -> Result<OdbcSession, Error> {
        let opened = within_limit(OdbcSession::open(Arc::clone(&self.target))).await;
        opened.map_err(|error| error.during(&self.target.place))
    }
}

/// The worker's end. A driver's call cannot be given up: if the session is dropped in the middle of
/// one, the thread ends with the call.
pub struct OdbcSession {
    calls: mpsc::Sender<Transaction>,
    answers: UnboundedReceiver<Answer>,
    cpu: Cpu,
    delay: Option<Delay>,
}

/// An outcome, and when the driver returned it.
struct Answer {
    outcome: Outcome,
    at: Instant,
}

impl OdbcSession {
    async fn open(target: Shared) -> Result<Self, Error> {
        let (calls, received) = mpsc::channel();
        let (answered, answers) = unbounded_channel();
        let (opened, opening) = oneshot::channel();
        thread::Builder::new()
            .name("odbc".into())
            .spawn(move || serve(&target, opened, &received, &answered))
            .map_err(|error| {
                Error::other(format!("cannot start a connection's thread: {error}"))
            })?;
        let ended = |_| Error::other("a connection's thread ended; this is a defect");
        let cpu = opening.await.map_err(ended)??;
        Ok(Self { calls, answers, cpu, delay: None })
    }
}

impl Session for OdbcSession {
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        let answer = match self.calls.send(transaction.clone()) {
            Ok(()) => self.answers.recv().await,
            Err(_) => None,
        };
        self.delay = answer
            .as_ref()
            .map(|answer| Delay { ns: answer.at.elapsed().as_nanos() as u64, stamped: true });
        answer.map_or_else(
            || Outcome::Failed(Error::lost("the connection was lost")),
            |answer| answer.outcome,
        )
    }

    /// From the driver's return to the worker.
    fn delay(&self) -> Option<Delay> {
        self.delay
    }

    fn thread(&self) -> Option<Cpu> {
        Some(self.cpu)
    }
}

/// The life of a connection, on its thread: until the session is dropped, or the connection lost.
fn serve(
    target: &Target,
    opened: oneshot::Sender<Result<Cpu, Error>>,
    received: &mpsc::Receiver<Transaction>,
    answered: &UnboundedSender<Answer>,
) {
    let link = match target.connect() {
        Ok(link) => link,
        Err(error) => return drop(opened.send(Err(error))),
    };
    match Calls::prepared(&link, target) {
        Ok(calls) => {
            let cpu = Cpu::of_this_thread().map_err(|error| Error::other(error.to_string()));
            let _ = opened.send(cpu);
            answer(calls, &link, target, received, answered);
        }
        Err(error) => drop(opened.send(Err(error))),
    }
}

/// Answer calls, until there are no more or the connection is lost.
fn answer(
    mut calls: Calls<'_>,
    link: &Link,
    target: &Target,
    received: &mpsc::Receiver<Transaction>,
    answered: &UnboundedSender<Answer>,
) {
    for transaction in received {
        let ended = calls.run(&transaction);
        let at = Instant::now();
        let outcome = ended.map_or_else(
            |error| Outcome::Failed(unless_dead(target.classes.error(&error), link)),
            |()| Outcome::Committed,
        );
        let lost = outcome.class() == Some(ErrorClass::Lost);
        if answered.send(Answer { outcome, at }).is_err() || lost {
            return;
        }
    }
}

/// The error; on a dead connection it is unknown what became of the transaction.
fn unless_dead(error: Error, link: &Link) -> Error {
    match link.is_dead() {
        Ok(false) => error,
        _ => Error { class: ErrorClass::Lost, ..error },
    }
}
