//! Loading: the rows of the tables by binary COPY, over a few connections side by side, each on a thread of its own. A table is
//! one transaction on one connection: made, filled, committed, so that the server may leave it out of its log.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::SinkExt;
use serde::Deserialize;
use tokio_postgres::{Client, Error};

use crate::address::Address;
use crate::copy_format::{HEADER, Page, TRAILER};
use crate::inputs::Profile;
use crate::rows::{Rows, Table};
use crate::session::postgres::{connect, words};

/// A server's, role's or database's limits are made for its own work: a table takes as long as it takes. (transaction_timeout is there since 17.)
const NO_LIMITS: &str = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN \
    ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    address: Address,
    warehouses: i32,
    profile: Profile,
    seed: u64,
    streams: usize,
    /// Taken by the streams in this order: the largest first.
    tables: Vec<Filling>,
}

/// One table: what is run before it in its transaction, and the COPY.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Filling {
    name: Table,
    before: Vec<String>,
    copy: String,
}

/// What the streams share.
struct Work {
    order: Order,
    taken: AtomicUsize,
    rows: AtomicU64,
    bytes: AtomicU64,
    cancelled: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    started: bool,
    running: usize,
    failed: Option<String>,
}

/// Why a stream ended early.
enum Ended {
    Cancelled,
    Failed(String),
}

impl Work {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One stream, from its connection to its last table.
    fn stream(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let ended = match runtime {
            Ok(runtime) => runtime.block_on(self.tables()),
            Err(wrong) => Err(Ended::Failed(format!("starting a stream: {wrong}"))),
        };
        if let Err(Ended::Failed(message)) = ended {
            self.cancelled.store(true, Relaxed);
            self.state().failed.get_or_insert(message);
        }
    }

    async fn tables(&self) -> Result<(), Ended> {
        let (client, connection) = connect(&self.order.address).await.map_err(Ended::Failed)?;
        let driven = tokio::spawn(connection);
        let prepared =
            client.batch_execute(NO_LIMITS).await.map_err(|wrong| Ended::Failed(format!("the session's settings: {}", words(&wrong))));
        let outcome = match prepared {
            Ok(()) => self.taken_tables(&client).await,
            Err(ended) => Err(ended),
        };
        drop(client);
        match (outcome, driven.await) {
            (Err(Ended::Failed(message)), Ok(Err(wrong))) => Err(Ended::Failed(format!("{message}: {}", words(&wrong)))),
            (outcome, _) => outcome,
        }
    }

    /// Take one table after the other, until there is none left.
    async fn taken_tables(&self, client: &Client) -> Result<(), Ended> {
        while let Some(filling) = self.order.tables.get(self.taken.fetch_add(1, Relaxed)) {
            if self.cancelled.load(Relaxed) {
                return Err(Ended::Cancelled);
            }
            self.table(client, filling).await?;
        }
        Ok(())
    }

    async fn table(&self, client: &Client, filling: &Filling) -> Result<(), Ended> {
        let doing = |what: &str, wrong: &Error| Ended::Failed(format!("{what} {}: {}", filling.name.name(), words(wrong)));
        client.batch_execute("BEGIN").await.map_err(|wrong| doing("beginning", &wrong))?;
        for statement in &filling.before {
            client.batch_execute(statement).await.map_err(|wrong| doing("making", &wrong))?;
        }
        self.copy(client, filling).await.map_err(|wrong| wrong.map_or(Ended::Cancelled, |wrong| doing("filling", &wrong)))?;
        client.batch_execute("COMMIT").await.map_err(|wrong| doing("committing", &wrong))
    }

    /// Err(None) when cancelled: the server then rolls the table back, since the connection goes.
    async fn copy(&self, client: &Client, filling: &Filling) -> Result<(), Option<Error>> {
        let Order { warehouses, profile, seed, .. } = self.order;
        let mut rows = Rows::new(filling.name, warehouses, profile, seed);
        let mut sink = Box::pin(client.copy_in::<_, Bytes>(filling.copy.as_str()).await?);
        let mut page = Page(HEADER.to_vec());
        loop {
            let made = rows.page(&mut page);
            if made == 0 {
                page.0.extend_from_slice(TRAILER);
            }
            let size = page.0.len();
            // A server that has given up says why when asked to finish.
            let heard = sink.send(Bytes::from(std::mem::take(&mut page.0))).await.is_ok();
            if made == 0 || !heard {
                return sink.as_mut().finish().await.map(drop).map_err(Some);
            }
            self.rows.fetch_add(made, Relaxed);
            self.bytes.fetch_add(size as u64, Relaxed);
            if self.cancelled.load(Relaxed) {
                return Err(None);
            }
            page.0.reserve(size + size / 8);
        }
    }
}

/// Says that a stream has ended, however it did.
struct Leaving(Arc<Work>);

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if std::thread::panicking() {
            self.0.cancelled.store(true, Relaxed);
            state.failed.get_or_insert_with(|| "a stream of the loading broke down; this is a defect".into());
        }
        state.running -= 1;
        self.0.changed.notify_all();
    }
}

/// One load under way on threads of its own.
pub struct Load(Arc<Work>);

impl Load {
    /// Of an order as JSON; nothing is opened yet. The error says what is wrong with it.
    pub fn new(order: &str) -> Result<Self, String> {
        let order: Order = serde_json::from_str(order).map_err(|wrong| format!("while reading the loading's order: {wrong}"))?;
        if !(1..=100_000).contains(&order.warehouses) || !(1..=64).contains(&order.streams) {
            return Err("the loading's order: allowed are 1 to 100000 warehouses and 1 to 64 streams".into());
        }
        let (zero, state) = (AtomicU64::default, Mutex::default());
        let work = Work {
            order,
            taken: AtomicUsize::new(0),
            rows: zero(),
            bytes: zero(),
            cancelled: AtomicBool::new(false),
            state,
            changed: Condvar::new(),
        };
        Ok(Self(Arc::new(work)))
    }

    /// Start the streams; once.
    pub fn start(&self) -> Result<(), String> {
        let streams = self.0.order.streams.min(self.0.order.tables.len());
        {
            let mut state = self.0.state();
            if std::mem::replace(&mut state.started, true) {
                return Err("this loading was started before".into());
            }
            state.running = streams;
        }
        // Each of them is dropped sooner or later, also where no thread comes of it.
        let all: Vec<Leaving> = (0..streams).map(|_| Leaving(Arc::clone(&self.0))).collect();
        for (stream, leaving) in all.into_iter().enumerate() {
            let thread = std::thread::Builder::new().name(format!("loading-{stream}"));
            thread.spawn(move || leaving.0.stream()).map_err(|wrong| format!("starting a thread: {wrong}"))?;
        }
        Ok(())
    }

    /// Rows and bytes so far, and the rows that are expected (order lines are drawn).
    pub fn progress(&self) -> [(&'static str, u64); 3] {
        let Order { warehouses, tables, .. } = &self.0.order;
        let total = tables.iter().map(|filling| filling.name.expected(*warehouses)).sum();
        [("rows", self.0.rows.load(Relaxed)), ("rows_total", total), ("bytes", self.0.bytes.load(Relaxed))]
    }

    /// True once all is loaded; the server's words when a stream failed.
    pub fn wait(&self, timeout: Duration) -> Result<bool, String> {
        let waited = self.0.changed.wait_timeout_while(self.0.state(), timeout, |state| state.running > 0);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &state.failed {
            Some(message) if state.running == 0 => Err(message.clone()),
            _ => Ok(state.running == 0),
        }
    }

    /// Ask the streams to stop; the tables under way are rolled back. `wait` until they have.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Relaxed);
    }
}
