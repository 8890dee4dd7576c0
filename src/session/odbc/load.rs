//! Loading by arrays of parameters: a page of rows is one execution of the INSERT.

use std::ops::Range;
use std::sync::Arc;

use kneebench::calendar::{DAY_S, date};
use kneebench::row_sink::{Loader, RowSink, RowWriter};
use kneebench::session::Error;
use odbc_api::buffers::BoxColumnBuffer;
use odbc_api::handles::StatementRef;
use odbc_api::parameter::WithDataType;
use odbc_api::sys::Timestamp;
use odbc_api::{BindParamDesc, ColumnarBulkInserter};

use crate::connection::{Link, Shared};
use crate::session::OdbcConnector;

/// Digits of numbers with a scale: those of the tables have at most 12.
const PRECISION: u8 = 15;

/// Pages in one transaction: a log of a fixed size must hold them, and each commit is a flush. What
/// a load that fails leaves is known by its facts.
const PAGES: u32 = 32;

/// A connection for loading.
pub struct InsertSink {
    link: Link,
    target: Shared,
    fill: String,
    /// What each column of the table holds, by the rows so far.
    kinds: Vec<Option<Kind>>,
    /// Pages since the last commit.
    uncommitted: u32,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Integer,
    Decimal(i8),
    Time,
    Text,
}

/// One value; a text is in the page's bytes.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Null,
    Integer(i32),
    Time(i64),
    Text(Kind, Range<usize>),
}

/// Rows, one after the other.
#[derive(Default)]
pub struct Page {
    columns: usize,
    cells: Vec<Cell>,
    bytes: Vec<u8>,
}

impl Loader for OdbcConnector {
    type Sink = InsertSink;

    async fn open(&self) -> Result<InsertSink, Error> {
        let target = Arc::clone(&self.target);
        let link = target.connect().map_err(|error| error.during(&target.place))?;
        let failed = |error| target.classes.error(&error);
        link.set_autocommit(false).map_err(failed)?;
        Ok(InsertSink { link, target, fill: String::new(), kinds: Vec::new(), uncommitted: 0 })
    }
}

/// A thread of the load has no other work: it waits for the driver.
impl RowSink for InsertSink {
    type Page = Page;

    async fn begin(&mut self) -> Result<(), Error> {
        Ok(())
    }

    async fn execute(&mut self, statement: &str) -> Result<(), Error> {
        let executed = self.link.execute(statement, (), None).map(drop);
        executed.map_err(|error| self.target.classes.error(&error))
    }

    async fn fill(&mut self, statement: &str) -> Result<Page, Error> {
        self.fill = statement.into();
        self.kinds.clear();
        Ok(Page::default())
    }

    async fn send(&mut self, page: Page) -> Result<Page, Error> {
        self.insert(&page).map_err(|error| self.target.classes.error(&error))?;
        self.uncommitted += 1;
        if self.uncommitted == PAGES {
            self.commit().await?;
        }
        Ok(Page::default())
    }

    async fn finish(&mut self, page: Page) -> Result<(), Error> {
        self.send(page).await.map(drop)
    }

    async fn commit(&mut self) -> Result<(), Error> {
        self.uncommitted = 0;
        self.link.commit().map_err(|error| self.target.classes.error(&error))
    }

    /// What is not committed is rolled back.
    async fn close(self) -> Result<(), Error> {
        Ok(())
    }
}

impl InsertSink {
    fn insert(&mut self, page: &Page) -> Result<(), odbc_api::Error> {
        let rows = page.rows();
        if rows == 0 {
            return Ok(());
        }
        self.kinds.resize(page.columns, None);
        for (column, kind) in self.kinds.iter_mut().enumerate() {
            *kind = kind.or_else(|| page.column(column).find_map(Cell::kind));
        }
        let bound = self
            .kinds
            .iter()
            .enumerate()
            .map(|(column, kind)| kind.unwrap_or(Kind::Integer).bound(page.longest(column)));
        let mut statement = self.link.prepare(&self.fill)?;
        let mut inserter = statement.column_inserter(rows, bound)?;
        inserter.set_num_rows(rows);
        for column in 0..page.columns {
            write(&mut inserter, page, column, self.kinds[column].unwrap_or(Kind::Integer));
        }
        inserter.execute().map(drop)
    }
}

impl Kind {
    fn bound(self, longest: usize) -> BindParamDesc {
        match self {
            Kind::Integer => BindParamDesc::i32(true),
            Kind::Decimal(scale) => BindParamDesc::decimal_as_text(PRECISION, scale),
            Kind::Time => BindParamDesc::timestamp(true, 0),
            Kind::Text => BindParamDesc::text(longest.max(1)),
        }
    }
}

type Inserter<'a> = ColumnarBulkInserter<StatementRef<'a>, WithDataType<BoxColumnBuffer>>;

/// Put a column's values where the driver reads them; of another kind there are none.
fn write(inserter: &mut Inserter<'_>, page: &Page, column: usize, kind: Kind) {
    let buffer = inserter.column_mut(column);
    let cells = page.column(column);
    match kind {
        Kind::Integer => {
            let number =
                |cell: &Cell| if let Cell::Integer(value) = cell { Some(*value) } else { None };
            buffer
                .as_nullable_slice()
                .into_iter()
                .for_each(|mut to| to.write(cells.clone().map(number)));
        }
        Kind::Time => {
            let time =
                |cell: &Cell| if let Cell::Time(at) = cell { Some(timestamp(*at)) } else { None };
            buffer
                .as_nullable_slice()
                .into_iter()
                .for_each(|mut to| to.write(cells.clone().map(time)));
        }
        Kind::Text | Kind::Decimal(_) => {
            let Some(mut to) = buffer.as_text() else { return };
            for (row, cell) in cells.enumerate() {
                let text =
                    if let Cell::Text(_, at) = cell { page.bytes.get(at.clone()) } else { None };
                to.set_cell(row, text);
            }
        }
    }
}

impl Cell {
    fn kind(&self) -> Option<Kind> {
        match self {
            Cell::Null => None,
            Cell::Integer(_) => Some(Kind::Integer),
            Cell::Time(_) => Some(Kind::Time),
            Cell::Text(kind, _) => Some(*kind),
        }
    }
}

impl Page {
    fn rows(&self) -> usize {
        self.cells.len() / self.columns.max(1)
    }

    fn column(&self, column: usize) -> impl Iterator<Item = &Cell> + Clone {
        self.cells.iter().skip(column).step_by(self.columns)
    }

    fn longest(&self, column: usize) -> usize {
        let length = |cell: &Cell| if let Cell::Text(_, at) = cell { at.len() } else { 0 };
        self.column(column).map(length).max().unwrap_or(0)
    }

    /// A number with so many digits behind its point.
    fn decimal(&mut self, value: i64, scale: u32) {
        let (whole, part) = (value.unsigned_abs(), 10_u64.pow(scale));
        let sign = if value < 0 { "-" } else { "" };
        let digits = scale as usize;
        let text = format!("{sign}{}.{:0digits$}", whole / part, whole % part);
        self.push(Kind::Decimal(scale as i8), text.as_bytes());
    }

    fn push(&mut self, kind: Kind, text: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(text);
        self.cells.push(Cell::Text(kind, start..self.bytes.len()));
    }
}

impl RowWriter for Page {
    fn size_bytes(&self) -> usize {
        self.bytes.len() + 4 * self.cells.len()
    }

    fn begin_row(&mut self, columns: u16) {
        self.columns = usize::from(columns);
    }

    fn null(&mut self) {
        self.cells.push(Cell::Null);
    }

    fn smallint(&mut self, value: i16) {
        self.integer(value.into());
    }

    fn integer(&mut self, value: i32) {
        self.cells.push(Cell::Integer(value));
    }

    fn bigint(&mut self, value: i64) {
        self.push(Kind::Decimal(0), value.to_string().as_bytes());
    }

    fn date(&mut self, days: i32) {
        self.time(i64::from(days) * DAY_S);
    }

    fn time(&mut self, unix_s: i64) {
        self.cells.push(Cell::Time(unix_s));
    }

    fn text(&mut self, value: &[u8]) {
        self.push(Kind::Text, value);
    }

    fn text_in_place(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) {
        let start = self.bytes.len();
        self.bytes.resize(start + length, 0);
        fill(&mut self.bytes[start..]);
        self.cells.push(Cell::Text(Kind::Text, start..start + length));
    }

    fn hundredths(&mut self, value: i64) {
        self.decimal(value, 2);
    }

    fn ten_thousandths(&mut self, value: i32) {
        self.decimal(value.into(), 4);
    }
}

/// A moment in UTC.
fn timestamp(unix_s: i64) -> Timestamp {
    let ((year, month, day), second) = (date(unix_s.div_euclid(DAY_S)), unix_s.rem_euclid(DAY_S));
    Timestamp {
        year: year as i16,
        month: month as u16,
        day: day as u16,
        hour: (second / 3_600) as u16,
        minute: (second / 60 % 60) as u16,
        second: (second % 60) as u16,
        fraction: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_columns_and_their_kinds() {
        let mut page = Page::default();
        for price in [-5, 1_234] {
            page.begin_row(3);
            page.smallint(7);
            page.null();
            page.hundredths(price);
        }
        assert_eq!(page.rows(), 2);
        let texts: Vec<_> = page.column(2).collect();
        assert_eq!(page.bytes, b"-0.0512.34");
        assert_eq!(
            texts,
            [&Cell::Text(Kind::Decimal(2), 0..5), &Cell::Text(Kind::Decimal(2), 5..10)]
        );
        assert_eq!(page.column(1).find_map(Cell::kind), None);
        assert_eq!(page.longest(2), 5);
    }
}
