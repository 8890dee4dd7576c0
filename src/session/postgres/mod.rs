//! PostgreSQL: five prepared statements, one round trip each, autocommit.
//!
//! tokio-postgres connects; from then on a session speaks the extended protocol itself: a call is one write from a buffer that is used
//! again and one read into the stack, without an allocation (docs/decisions/session-on-the-wire.md).

mod answer;
mod connect;
mod ear;
mod line;
mod question;

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

pub use self::connect::{Connection, Door, connect, words};

use self::answer::{Listener, Refusal};
use self::line::Line;
use crate::inputs::{Kind, Transaction};
use crate::session::{Outcome, Session};

/// Generic plans over the keys, whatever the statistics of the moment say: a plan flip once made a peer's run seven times
/// too slow without a sign.
pub const SETTINGS: [(&str, &str); 5] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
];

/// Larger than nearly any answer of the five functions, so that one read is enough; where one is larger it is read in pieces.
const READ_BYTES: usize = 2048;

/// One connection with its statements prepared.
pub struct Postgres {
    line: Line,
    listener: Listener,
    /// Messages for the server, and how much of them is sent.
    question: Vec<u8>,
    sent: usize,
}

impl Postgres {
    /// Connect, set the session up and prepare the five calls.
    pub async fn open(door: &Door<'_>) -> Result<Self, String> {
        let placed = |wrong: String| format!("{}: {wrong}", door.address());
        let line = door.enter().await.map_err(placed)?;
        let mut session = Self { line, listener: Listener::default(), question: Vec::new(), sent: 0 };
        session.prepare().await.map_err(placed)?;
        Ok(session)
    }

    async fn prepare(&mut self) -> Result<(), String> {
        let settings: String = SETTINGS.iter().map(|(name, value)| format!("SET {name} = {value};")).collect();
        question::simple(&mut self.question, &settings);
        self.done().await.map_err(|wrong| format!("the session's settings: {wrong}"))?;
        for kind in Kind::ALL {
            question::prepare(&mut self.question, kind);
            self.done().await.map_err(|wrong| format!("preparing {:?}: {wrong}", question::sql(kind)))?;
        }
        Ok(())
    }

    async fn done(&mut self) -> Result<(), String> {
        self.ask().await?.map_or(Ok(()), |refusal| Err(refusal.words()))
    }

    /// Send the question and wait for its answer. The error: the connection is lost.
    async fn ask(&mut self) -> Result<Option<Refusal>, String> {
        let mut unsent = None;
        let answer = poll_fn(|context| {
            if unsent.is_none() {
                unsent = ready!(self.poll_send(context)).err();
            }
            // A server that has gone may have said why: it is heard to its end.
            let answer = ready!(self.poll_answer(context));
            Poll::Ready(unsent.take().map_or(answer, Err))
        })
        .await;
        (self.sent, _) = (0, self.question.clear());
        answer.map_err(|wrong| self.listener.farewell().unwrap_or_else(|| lost(&wrong)))
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.question.len() {
            self.sent += ready!(self.line.poll_write(context, &self.question[self.sent..]))?;
        }
        self.line.poll_flush(context)
    }

    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Option<Refusal>>> {
        loop {
            let mut buffer = [0; READ_BYTES];
            let read = ready!(self.line.poll_read(context, &mut buffer))?;
            if read == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            self.listener.hear(&buffer[..read]).map_err(io::Error::other)?;
            if let Some(answer) = self.listener.answer() {
                return Poll::Ready(Ok(answer));
            }
        }
    }
}

fn lost(wrong: &io::Error) -> String {
    match wrong.kind() {
        io::ErrorKind::UnexpectedEof => "connection closed".into(),
        _ => format!("error communicating with the server: {wrong}"),
    }
}

impl Session for Postgres {
    /// Rows are skipped, not decoded.
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        question::call(&mut self.question, transaction);
        match self.ask().await {
            Ok(None) => Outcome::Committed,
            Ok(Some(refusal)) => refusal.outcome(),
            Err(message) => Outcome::Lost { message },
        }
    }
}

impl Drop for Postgres {
    /// Not where a question is half sent: the server would take this for its end.
    fn drop(&mut self) {
        if self.sent == 0 || self.sent == self.question.len() {
            self.line.say(question::TERMINATE);
        }
    }
}
