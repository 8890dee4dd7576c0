//! The data that a load fills tables with: those of TPROC-C, or of TPROC-H.

use crate::inputs::Profile;
use crate::row_sink::RowWriter;
use crate::{rows, tproc_h};

/// What shapes the rows of a database.
#[derive(Clone, Copy, Debug)]
pub enum Dataset {
    TprocC { warehouses: i32, profile: Profile, seed: u64 },
    TprocH { scale: f64 },
}

/// One of its tables, with what shapes its rows.
#[derive(Clone, Copy, Debug)]
pub enum Table {
    TprocC { table: rows::Table, warehouses: i32, profile: Profile, seed: u64 },
    TprocH { table: tproc_h::Table, scale: f64 },
}

/// A table's rows, page by page.
pub enum Rows {
    TprocC(Box<rows::Rows>),
    TprocH(Box<tproc_h::Rows>),
}

impl Dataset {
    pub fn check(&self) -> Result<(), String> {
        match self {
            Dataset::TprocC { warehouses, .. } if !(1..=100_000).contains(warehouses) => {
                Err("allowed are 1 to 100000 warehouses".into())
            }
            Dataset::TprocH { scale } if !(0.001..=10_000.0).contains(scale) => {
                Err("allowed are scales of 0.001 to 10000".into())
            }
            _ => Ok(()),
        }
    }

    pub fn table(&self, name: &str) -> Result<Table, String> {
        Ok(match *self {
            Dataset::TprocC { warehouses, profile, seed } => {
                Table::TprocC { table: name.parse()?, warehouses, profile, seed }
            }
            Dataset::TprocH { scale } => Table::TprocH { table: name.parse()?, scale },
        })
    }
}

impl Table {
    pub fn name(self) -> &'static str {
        match self {
            Table::TprocC { table, .. } => table.name(),
            Table::TprocH { table, .. } => table.name(),
        }
    }

    /// Rows of the table, of order lines the expected number.
    pub fn expected(self) -> u64 {
        match self {
            Table::TprocC { table, warehouses, .. } => table.expected(warehouses),
            Table::TprocH { table, scale } => table.expected(scale),
        }
    }

    pub fn rows(self) -> Rows {
        match self {
            Table::TprocC { table, warehouses, profile, seed } => {
                Rows::TprocC(Box::new(rows::Rows::new(table, warehouses, profile, seed)))
            }
            Table::TprocH { table, scale } => {
                Rows::TprocH(Box::new(tproc_h::Rows::new(table, scale)))
            }
        }
    }
}

impl Rows {
    /// Append about a page of whole rows; returns their number, 0 at the end of the table.
    pub fn page(&mut self, page: &mut impl RowWriter) -> u64 {
        match self {
            Rows::TprocC(rows) => rows.page(page),
            Rows::TprocH(rows) => rows.page(page),
        }
    }
}
