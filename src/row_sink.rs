//! The seam between loading and a database: encoding of rows, and the connection that takes them.

use std::future::Future;

use crate::session::Error;

/// Encodes rows for a server. A row is `begin_row`, then its values in order.
pub trait RowWriter {
    /// Bytes written so far.
    fn size_bytes(&self) -> usize;
    fn begin_row(&mut self, columns: u16);
    fn null(&mut self);
    fn smallint(&mut self, value: i16);
    fn integer(&mut self, value: i32);
    fn bigint(&mut self, value: i64);
    /// Days since 1970-01-01.
    fn date(&mut self, days: i32);
    /// Seconds since 1970-01-01 00:00 UTC.
    fn time(&mut self, unix_s: i64);
    /// char and varchar: the caller respects the width.
    fn text(&mut self, value: &[u8]);
    /// A text of `length` bytes, written in place by `fill`.
    fn text_in_place(&mut self, length: usize, fill: impl FnOnce(&mut [u8]));
    /// A number with a scale of 2.
    fn hundredths(&mut self, value: i64);
    /// A number with a scale of 4.
    fn ten_thousandths(&mut self, value: i32);
}

/// Opens connections for loading.
pub trait Loader: Send + Sync + 'static {
    type Sink: RowSink;

    fn open(&self) -> impl Future<Output = Result<Self::Sink, Error>>;
}

/// A connection that takes the rows of one table after the other, each table in one transaction.
pub trait RowSink: Sized {
    type Page: RowWriter;

    fn begin(&mut self) -> impl Future<Output = Result<(), Error>>;
    /// Run a statement before the rows.
    fn execute(&mut self, statement: &str) -> impl Future<Output = Result<(), Error>>;
    /// Start the rows of a table; returns the first page to fill.
    fn fill(&mut self, statement: &str) -> impl Future<Output = Result<Self::Page, Error>>;
    /// Send a page; returns the next one to fill.
    fn send(&mut self, page: Self::Page) -> impl Future<Output = Result<Self::Page, Error>>;
    /// Send the last page and end the rows.
    fn finish(&mut self, page: Self::Page) -> impl Future<Output = Result<(), Error>>;
    fn commit(&mut self) -> impl Future<Output = Result<(), Error>>;
    /// Close the connection; fails with the error that broke it, if any.
    fn close(self) -> impl Future<Output = Result<(), Error>>;

    /// Close the connection after an error; returns both errors as one.
    fn close_after(self, mut error: Error) -> impl Future<Output = Error> {
        async move {
            if let Err(more) = self.close().await {
                error.message = format!("{}: {}", error.message, more.message);
            }
            error
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The values alone, without lengths.
    #[derive(Default)]
    pub struct PlainPage(pub Vec<u8>);

    impl RowWriter for PlainPage {
        fn size_bytes(&self) -> usize {
            self.0.len()
        }

        fn begin_row(&mut self, _: u16) {
            self.0.push(b'\n');
        }

        fn null(&mut self) {
            self.0.push(b'-');
        }

        fn smallint(&mut self, value: i16) {
            self.0.extend_from_slice(&value.to_be_bytes());
        }

        fn integer(&mut self, value: i32) {
            self.0.extend_from_slice(&value.to_be_bytes());
        }

        fn bigint(&mut self, value: i64) {
            self.0.extend_from_slice(&value.to_be_bytes());
        }

        fn date(&mut self, days: i32) {
            self.0.extend_from_slice(&days.to_be_bytes());
        }

        fn time(&mut self, unix_s: i64) {
            self.0.extend_from_slice(&unix_s.to_be_bytes());
        }

        fn text(&mut self, value: &[u8]) {
            self.0.extend_from_slice(value);
        }

        fn text_in_place(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) {
            let start = self.0.len();
            self.0.resize(start + length, 0);
            fill(&mut self.0[start..]);
        }

        fn hundredths(&mut self, value: i64) {
            self.0.extend_from_slice(&value.to_be_bytes());
        }

        fn ten_thousandths(&mut self, value: i32) {
            self.0.extend_from_slice(&value.to_be_bytes());
        }
    }
}
