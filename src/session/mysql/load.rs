//! Loading by LOAD DATA LOCAL INFILE: the server requests a file, and is sent rows as they are
//! made.
//!
//! CREATE TABLE commits by itself, so a table is not one transaction with its rows: a load that
//! fails leaves tables. With LOCAL, rows that do not fit are no error but warnings, which are
//! errors here.

use super::MysqlConnector;
use super::packets::{PacketStream, Reply, ok_status_at};
use super::settings::LOADING;
use super::text_format::Page;
use crate::row_sink::{Loader, RowSink, RowWriter};
use crate::session::Error;
use crate::session::opening::within_limit;

/// A connection for loading.
pub struct LocalFileSink {
    packets: PacketStream,
}

impl Loader for MysqlConnector {
    type Sink = LocalFileSink;

    async fn open(&self) -> Result<LocalFileSink, Error> {
        let opened = within_limit(self.open_with(&[LOADING])).await;
        let packets = opened.map_err(|error| error.during(self.settings.address()))?;
        Ok(LocalFileSink { packets })
    }
}

impl RowSink for LocalFileSink {
    type Page = Page;

    /// LOAD DATA is one transaction by itself.
    async fn begin(&mut self) -> Result<(), Error> {
        Ok(())
    }

    async fn execute(&mut self, statement: &str) -> Result<(), Error> {
        self.packets.query(statement).await.map(drop)
    }

    async fn fill(&mut self, statement: &str) -> Result<Page, Error> {
        match self.packets.query(statement).await? {
            Reply::LocalFile => Ok(Page::new(0)),
            Reply::Done => Err(Error::other("the statement takes no rows; this is a defect")),
        }
    }

    /// The server reads all rows, then reports an error, if any.
    async fn send(&mut self, page: Page) -> Result<Page, Error> {
        let size = page.size_bytes();
        self.packets.send_in_place(page.into_packet()).await?;
        Ok(Page::new(size + size / 8))
    }

    async fn finish(&mut self, page: Page) -> Result<(), Error> {
        if page.size_bytes() > 0 {
            self.send(page).await?;
        }
        // an empty packet is the end of the file
        self.packets.send(&[]).await?;
        match warnings(&self.packets.receive().await?) {
            None => Ok(()),
            Some(counts) => {
                Err(Error::other(format!("the server skipped or changed rows: {counts}")))
            }
        }
    }

    async fn commit(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// The server rolls back a LOAD DATA that did not end.
    async fn close(self) -> Result<(), Error> {
        Ok(())
    }
}

/// The server's counts of rows (Records, Deleted, Skipped, Warnings), if there were warnings.
fn warnings(ok: &[u8]) -> Option<String> {
    let tail = ok.get(ok_status_at(ok)? + 2..)?;
    let (count, text) = tail.split_first_chunk()?;
    // the text has its length before it
    let text = text.split_first().map_or(&[][..], |(_, text)| text);
    (u16::from_le_bytes(*count) > 0).then(|| String::from_utf8_lossy(text).into())
}
