//! Loading: the rows of the tables over a few parallel connections, each on its own thread. A table
//! is one transaction on one connection: created, filled, committed.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::dataset::Table;
use crate::row_sink::{Loader, RowSink, RowWriter};
use crate::session::Error;

/// The specification of a load.
#[derive(Clone, Debug)]
pub struct LoadingSpec {
    pub streams: usize,
    /// In the order in which streams start them: the largest first.
    pub tables: Vec<TableLoad>,
}

/// One table: the statements before its rows, in the same transaction, and the statement that takes
/// the rows.
#[derive(Clone, Debug)]
pub struct TableLoad {
    pub table: Table,
    pub before: Vec<String>,
    pub fill: String,
}

/// A load as Python uses it, whatever the database.
pub trait LoadProgress: Send + Sync {
    /// Start the streams; once.
    fn start(&self) -> Result<(), Error>;
    /// Rows and bytes so far, and the expected rows (order lines are drawn).
    fn progress(&self) -> [(&'static str, u64); 3];
    /// True once all is loaded; the first error if a stream failed.
    fn wait(&self, timeout: Duration) -> Result<bool, Error>;
    /// Request the streams to stop; their tables are rolled back. Then `wait`.
    fn cancel(&self);
}

impl LoadingSpec {
    pub fn check(&self) -> Result<(), String> {
        match (1..=64).contains(&self.streams) {
            true => Ok(()),
            false => Err("the load's spec: allowed are 1 to 64 streams".into()),
        }
    }
}

/// State shared by the streams.
struct Shared<L> {
    spec: LoadingSpec,
    loader: L,
    next_table: AtomicUsize,
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
    failed: Option<Error>,
}

/// The reason of an early end.
enum StreamEnd {
    Cancelled,
    Failed(Error),
}

impl From<Error> for StreamEnd {
    fn from(error: Error) -> Self {
        StreamEnd::Failed(error)
    }
}

impl<L> Shared<L> {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L: Loader> Shared<L> {
    /// One stream, from its connection to its last table.
    fn stream(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let ended = match runtime {
            Ok(runtime) => runtime.block_on(self.tables()),
            Err(error) => Err(Error::other(format!("cannot start a stream: {error}")).into()),
        };
        if let Err(StreamEnd::Failed(error)) = ended {
            self.cancelled.store(true, Relaxed);
            self.state().failed.get_or_insert(error);
        }
    }

    async fn tables(&self) -> Result<(), StreamEnd> {
        let mut sink = self.loader.open().await?;
        match self.remaining_tables(&mut sink).await {
            Err(StreamEnd::Failed(error)) => Err(sink.close_after(error).await.into()),
            ended => {
                let _ = sink.close().await;
                ended
            }
        }
    }

    /// Load one table after the other, until none remains.
    async fn remaining_tables(&self, sink: &mut L::Sink) -> Result<(), StreamEnd> {
        while let Some(table) = self.spec.tables.get(self.next_table.fetch_add(1, Relaxed)) {
            if self.cancelled.load(Relaxed) {
                return Err(StreamEnd::Cancelled);
            }
            self.table(sink, table).await?;
        }
        Ok(())
    }

    async fn table(&self, sink: &mut L::Sink, load: &TableLoad) -> Result<(), StreamEnd> {
        let during = |action: &str, error: Error| {
            error.during(format_args!("{action} {}", load.table.name()))
        };
        sink.begin().await.map_err(|error| during("beginning", error))?;
        for statement in &load.before {
            sink.execute(statement).await.map_err(|error| during("creating", error))?;
        }
        self.fill(sink, load).await.map_err(|ended| match ended {
            StreamEnd::Failed(error) => StreamEnd::Failed(during("filling", error)),
            StreamEnd::Cancelled => StreamEnd::Cancelled,
        })?;
        Ok(sink.commit().await.map_err(|error| during("committing", error))?)
    }

    /// The rows of a table. If cancelled, the connection closes, so the server rolls the table
    /// back.
    async fn fill(&self, sink: &mut L::Sink, load: &TableLoad) -> Result<(), StreamEnd> {
        let mut rows = load.table.rows();
        let mut page = sink.fill(&load.fill).await?;
        loop {
            let rows_written = rows.page(&mut page);
            if rows_written == 0 {
                return Ok(sink.finish(page).await?);
            }
            let size = page.size_bytes();
            page = sink.send(page).await?;
            self.rows.fetch_add(rows_written, Relaxed);
            self.bytes.fetch_add(size as u64, Relaxed);
            if self.cancelled.load(Relaxed) {
                return Err(StreamEnd::Cancelled);
            }
        }
    }
}

/// Marks its stream as ended when dropped.
struct StreamGuard<L>(Arc<Shared<L>>);

impl<L> Drop for StreamGuard<L> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if std::thread::panicking() {
            self.0.cancelled.store(true, Relaxed);
            state.failed.get_or_insert_with(|| {
                Error::other("a stream of the load panicked; this is a defect")
            });
        }
        state.running -= 1;
        self.0.changed.notify_all();
    }
}

/// One load on its own threads.
pub struct Load<L>(Arc<Shared<L>>);

impl<L: Loader> Load<L> {
    /// A load that has opened nothing yet.
    pub fn new(spec: LoadingSpec, loader: L) -> Self {
        Self(Arc::new(Shared {
            spec,
            loader,
            next_table: AtomicUsize::new(0),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }
}

impl<L: Loader> LoadProgress for Load<L> {
    fn start(&self) -> Result<(), Error> {
        let streams = self.0.spec.streams.min(self.0.spec.tables.len());
        {
            let mut state = self.0.state();
            if std::mem::replace(&mut state.started, true) {
                return Err(Error::other("this load was started before"));
            }
            state.running = streams;
        }
        // Each guard is dropped in the end, also if no thread starts.
        let guards: Vec<StreamGuard<L>> =
            (0..streams).map(|_| StreamGuard(Arc::clone(&self.0))).collect();
        for (stream, guard) in guards.into_iter().enumerate() {
            let thread = std::thread::Builder::new().name(format!("loading-{stream}"));
            thread
                .spawn(move || guard.0.stream())
                .map_err(|error| Error::other(format!("cannot start a thread: {error}")))?;
        }
        Ok(())
    }

    fn progress(&self) -> [(&'static str, u64); 3] {
        let total = self.0.spec.tables.iter().map(|load| load.table.expected()).sum();
        [
            ("rows", self.0.rows.load(Relaxed)),
            ("rows_total", total),
            ("bytes", self.0.bytes.load(Relaxed)),
        ]
    }

    fn wait(&self, timeout: Duration) -> Result<bool, Error> {
        let waited =
            self.0.changed.wait_timeout_while(self.0.state(), timeout, |state| state.running > 0);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &state.failed {
            Some(error) if state.running == 0 => Err(error.clone()),
            _ => Ok(state.running == 0),
        }
    }

    fn cancel(&self) {
        self.0.cancelled.store(true, Relaxed);
    }
}
