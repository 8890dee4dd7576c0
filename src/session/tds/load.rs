//! Loading by INSERT BULK: after the statement, one message with the rows of the whole table.

use std::sync::Arc;

use super::TdsConnector;
use super::bulk_columns::columns;
use super::bulk_format::{END_OF_ROWS, Page, metadata};
use super::connect::Purpose;
use super::connection::Connection;
use super::packet;
use crate::row_sink::{Loader, RowSink};
use crate::session::Error;

/// A connection for loading.
pub struct BulkSink(Connection);

impl Loader for TdsConnector {
    type Sink = BulkSink;

    async fn open(&self) -> Result<BulkSink, Error> {
        let steps = [(super::SETTINGS, "the session's settings")];
        self.open_for(Purpose::Loading, &steps).await.map(BulkSink)
    }
}

impl BulkSink {
    /// Send a part of the rows; returns the number of the page's bytes that it contains. A server
    /// that failed reports the reason.
    async fn part(&mut self, page: &Page, last: bool) -> Result<usize, Error> {
        if page.mismatch {
            return Err(Error::other("the rows are not of the types of the statement; a defect"));
        }
        let connection = &mut self.0;
        let packet_bytes = connection.frame().packet_bytes;
        connection.request.clear();
        let sent = packet::packets(
            &mut connection.request,
            packet::BULK_LOAD,
            packet_bytes,
            &page.bytes,
            last,
        );
        match connection.send().await {
            Ok(()) => Ok(sent),
            Err(error) => Err(match connection.response().await {
                Ok(Some(reason)) => reason.error(),
                Ok(None) => Error::lost(format!("error communicating with the server: {error}")),
                Err(lost) => lost,
            }),
        }
    }
}

impl RowSink for BulkSink {
    type Page = Page;

    async fn begin(&mut self) -> Result<(), Error> {
        self.0.run("BEGIN TRANSACTION").await
    }

    async fn execute(&mut self, statement: &str) -> Result<(), Error> {
        self.0.run(statement).await
    }

    async fn fill(&mut self, statement: &str) -> Result<Page, Error> {
        let columns = columns(statement).map_err(Error::other)?;
        self.0.run(statement).await?;
        let metadata = metadata(&columns, self.0.frame().collation);
        let types: Arc<[_]> = columns.into_iter().map(|(_, of_type)| of_type).collect();
        Ok(Page::new(types, metadata))
    }

    async fn send(&mut self, page: Page) -> Result<Page, Error> {
        let sent = self.part(&page, false).await?;
        Ok(page.after(sent))
    }

    async fn finish(&mut self, mut page: Page) -> Result<(), Error> {
        page.bytes.extend_from_slice(&END_OF_ROWS);
        self.part(&page, true).await?;
        self.0.response().await?.map_or(Ok(()), |error| Err(error.error()))
    }

    async fn commit(&mut self) -> Result<(), Error> {
        self.0.run("COMMIT TRANSACTION").await
    }

    /// The server rolls back what is not committed.
    async fn close(self) -> Result<(), Error> {
        Ok(())
    }
}
