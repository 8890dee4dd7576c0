//! Loading by binary COPY. A table is created and filled in one transaction, so that the server may
//! skip its log.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::SinkExt;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, CopyInSink};

use super::PostgresConnector;
use super::copy_format::{HEADER, Page, TRAILER};
use super::errors::driver_error;
use super::settings::NO_LIMITS;
use crate::row_sink::{Loader, RowSink};
use crate::session::Error;
use crate::session::opening::within_limit;

/// A connection for loading, with the COPY of the current table.
pub struct CopySink {
    client: Client,
    connection: JoinHandle<Result<(), tokio_postgres::Error>>,
    copy: Option<Pin<Box<CopyInSink<Bytes>>>>,
}

impl Loader for PostgresConnector {
    type Sink = CopySink;

    async fn open(&self) -> Result<CopySink, Error> {
        within_limit(self.open_sink()).await.map_err(|error| error.during(self.settings.address()))
    }
}

impl PostgresConnector {
    async fn open_sink(&self) -> Result<CopySink, Error> {
        let (client, connection) = self.settings.open_client().await?;
        let sink = CopySink { client, connection: tokio::spawn(connection), copy: None };
        match sink.run(NO_LIMITS).await {
            Ok(()) => Ok(sink),
            Err(error) => Err(sink.close_after(error.during("the session's settings")).await),
        }
    }
}

impl CopySink {
    async fn run(&self, statement: &str) -> Result<(), Error> {
        self.client.batch_execute(statement).await.map_err(|error| driver_error(&error))
    }

    async fn end_copy(&mut self) -> Result<(), Error> {
        match self.copy.take() {
            Some(mut copy) => {
                copy.as_mut().finish().await.map(drop).map_err(|error| driver_error(&error))
            }
            None => Ok(()),
        }
    }
}

impl RowSink for CopySink {
    type Page = Page;

    async fn begin(&mut self) -> Result<(), Error> {
        self.run("BEGIN").await
    }

    async fn execute(&mut self, statement: &str) -> Result<(), Error> {
        self.run(statement).await
    }

    async fn fill(&mut self, statement: &str) -> Result<Page, Error> {
        self.copy = Some(Box::pin(
            self.client
                .copy_in::<_, Bytes>(statement)
                .await
                .map_err(|error| driver_error(&error))?,
        ));
        Ok(Page(HEADER.to_vec()))
    }

    /// A server that failed reports the reason at the end of the COPY.
    async fn send(&mut self, page: Page) -> Result<Page, Error> {
        let size = page.0.len();
        let sent = match &mut self.copy {
            Some(copy) => copy.send(Bytes::from(page.0)).await.is_ok(),
            None => false,
        };
        if !sent {
            self.end_copy().await?;
            return Err(Error::other("the server ended the COPY without an error"));
        }
        Ok(Page(Vec::with_capacity(size + size / 8)))
    }

    async fn finish(&mut self, mut page: Page) -> Result<(), Error> {
        page.0.extend_from_slice(TRAILER);
        if let Some(copy) = &mut self.copy {
            // the end of the COPY reports an error
            let _ = copy.send(Bytes::from(page.0)).await;
        }
        self.end_copy().await
    }

    async fn commit(&mut self) -> Result<(), Error> {
        self.run("COMMIT").await
    }

    /// The server rolls back what is not committed.
    async fn close(self) -> Result<(), Error> {
        let Self { client, connection, copy } = self;
        drop(copy);
        drop(client);
        match connection.await {
            Ok(Err(error)) => Err(driver_error(&error)),
            _ => Ok(()),
        }
    }
}
