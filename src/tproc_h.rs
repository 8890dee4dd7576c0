//! Rows of the eight tables of TPROC-H, as dbgen makes them: the same scale gives the same rows.

use std::fmt::{Display, Write};
use std::str::FromStr;

use tpchgen::generators::{
    Customer, CustomerGenerator, CustomerGeneratorIterator, LineItem, LineItemGenerator,
    LineItemGeneratorIterator, Nation, NationGenerator, NationGeneratorIterator, Order,
    OrderGenerator, OrderGeneratorIterator, Part, PartGenerator, PartGeneratorIterator, PartSupp,
    PartSuppGenerator, PartSuppGeneratorIterator, Region, RegionGenerator, RegionGeneratorIterator,
    Supplier, SupplierGenerator, SupplierGeneratorIterator,
};

use crate::inputs::named;
use crate::row_sink::RowWriter;
use crate::rows::PAGE_BYTES;

/// The eight tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Region,
    Nation,
    Supplier,
    Customer,
    Part,
    Partsupp,
    Orders,
    Lineitem,
}

impl Table {
    pub const ALL: [Table; 8] = [
        Table::Region,
        Table::Nation,
        Table::Supplier,
        Table::Customer,
        Table::Part,
        Table::Partsupp,
        Table::Orders,
        Table::Lineitem,
    ];

    pub fn name(self) -> &'static str {
        ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
            [self as usize]
    }

    /// Rows of the table; for lineitem the expected number.
    pub fn expected(self, scale: f64) -> u64 {
        let per_scale = match self {
            Table::Region => return 5,
            Table::Nation => return 25,
            Table::Supplier => 10_000,
            Table::Customer => 150_000,
            Table::Part => 200_000,
            Table::Partsupp => 800_000,
            Table::Orders => 1_500_000,
            Table::Lineitem => 6_000_000,
        };
        (scale * f64::from(per_scale)) as u64
    }
}

impl FromStr for Table {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        named(name, "table", &Self::ALL, Self::name)
    }
}

/// A table's rows, page by page.
pub struct Rows {
    of: Source,
    text: String,
}

enum Source {
    Region(RegionGeneratorIterator<'static>),
    Nation(NationGeneratorIterator<'static>),
    Supplier(SupplierGeneratorIterator<'static>),
    Customer(CustomerGeneratorIterator<'static>),
    Part(PartGeneratorIterator<'static>),
    Partsupp(PartSuppGeneratorIterator<'static>),
    Orders(OrderGeneratorIterator<'static>),
    Lineitem(LineItemGeneratorIterator<'static>),
}

impl Rows {
    pub fn new(table: Table, scale: f64) -> Self {
        let of = match table {
            Table::Region => Source::Region(RegionGenerator::new(scale, 1, 1).iter()),
            Table::Nation => Source::Nation(NationGenerator::new(scale, 1, 1).iter()),
            Table::Supplier => Source::Supplier(SupplierGenerator::new(scale, 1, 1).iter()),
            Table::Customer => Source::Customer(CustomerGenerator::new(scale, 1, 1).iter()),
            Table::Part => Source::Part(PartGenerator::new(scale, 1, 1).iter()),
            Table::Partsupp => Source::Partsupp(PartSuppGenerator::new(scale, 1, 1).iter()),
            Table::Orders => Source::Orders(OrderGenerator::new(scale, 1, 1).iter()),
            Table::Lineitem => Source::Lineitem(LineItemGenerator::new(scale, 1, 1).iter()),
        };
        Self { of, text: String::new() }
    }

    /// Append about a page of whole rows; returns their number, 0 at the end of the table.
    pub fn page(&mut self, page: &mut impl RowWriter) -> u64 {
        let mut made = 0;
        while page.size_bytes() < PAGE_BYTES && self.write(page) {
            made += 1;
        }
        made
    }

    /// Write the next row; false at the end of the table.
    fn write<P: RowWriter>(&mut self, page: &mut P) -> bool {
        let mut row = RowValues { page, text: &mut self.text };
        let written = match &mut self.of {
            Source::Region(rows) => rows.next().map(|one| row.region(&one)),
            Source::Nation(rows) => rows.next().map(|one| row.nation(&one)),
            Source::Supplier(rows) => rows.next().map(|one| row.supplier(&one)),
            Source::Customer(rows) => rows.next().map(|one| row.customer(&one)),
            Source::Part(rows) => rows.next().map(|one| row.part(&one)),
            Source::Partsupp(rows) => rows.next().map(|one| row.partsupp(&one)),
            Source::Orders(rows) => rows.next().map(|one| row.order(&one)),
            Source::Lineitem(rows) => rows.next().map(|one| row.lineitem(&one)),
        };
        written.is_some()
    }
}

/// One row of each table, columns in the specification's order.
struct RowValues<'a, P> {
    page: &'a mut P,
    text: &'a mut String,
}

impl<P: RowWriter> RowValues<'_, P> {
    fn shown(&mut self, value: &dyn Display) {
        self.text.clear();
        // A String takes everything.
        let _ = write!(self.text, "{value}");
        self.page.text(self.text.as_bytes());
    }

    fn region(&mut self, row: &Region) {
        self.page.begin_row(3);
        self.page.integer(row.r_regionkey as i32);
        self.page.text(row.r_name.as_bytes());
        self.page.text(row.r_comment.as_bytes());
    }

    fn nation(&mut self, row: &Nation) {
        self.page.begin_row(4);
        self.page.integer(row.n_nationkey as i32);
        self.page.text(row.n_name.as_bytes());
        self.page.integer(row.n_regionkey as i32);
        self.page.text(row.n_comment.as_bytes());
    }

    fn supplier(&mut self, row: &Supplier) {
        self.page.begin_row(7);
        self.page.integer(row.s_suppkey as i32);
        self.shown(&row.s_name);
        self.shown(&row.s_address);
        self.page.integer(row.s_nationkey as i32);
        self.shown(&row.s_phone);
        self.page.hundredths(row.s_acctbal.into_inner());
        self.page.text(row.s_comment.as_bytes());
    }

    fn customer(&mut self, row: &Customer) {
        self.page.begin_row(8);
        self.page.integer(row.c_custkey as i32);
        self.shown(&row.c_name);
        self.shown(&row.c_address);
        self.page.integer(row.c_nationkey as i32);
        self.shown(&row.c_phone);
        self.page.hundredths(row.c_acctbal.into_inner());
        self.page.text(row.c_mktsegment.as_bytes());
        self.page.text(row.c_comment.as_bytes());
    }

    fn part(&mut self, row: &Part) {
        self.page.begin_row(9);
        self.page.integer(row.p_partkey as i32);
        self.shown(&row.p_name);
        self.shown(&row.p_mfgr);
        self.shown(&row.p_brand);
        self.page.text(row.p_type.as_bytes());
        self.page.integer(row.p_size);
        self.page.text(row.p_container.as_bytes());
        self.page.hundredths(row.p_retailprice.into_inner());
        self.page.text(row.p_comment.as_bytes());
    }

    fn partsupp(&mut self, row: &PartSupp) {
        self.page.begin_row(5);
        self.page.integer(row.ps_partkey as i32);
        self.page.integer(row.ps_suppkey as i32);
        self.page.integer(row.ps_availqty);
        self.page.hundredths(row.ps_supplycost.into_inner());
        self.page.text(row.ps_comment.as_bytes());
    }

    fn order(&mut self, row: &Order) {
        self.page.begin_row(9);
        self.page.bigint(row.o_orderkey);
        self.page.integer(row.o_custkey as i32);
        self.page.text(row.o_orderstatus.as_str().as_bytes());
        self.page.hundredths(row.o_totalprice.into_inner());
        self.page.date(row.o_orderdate.to_unix_epoch());
        self.page.text(row.o_orderpriority.as_bytes());
        self.shown(&row.o_clerk);
        self.page.integer(row.o_shippriority);
        self.page.text(row.o_comment.as_bytes());
    }

    fn lineitem(&mut self, row: &LineItem) {
        self.page.begin_row(16);
        self.page.bigint(row.l_orderkey);
        self.page.integer(row.l_partkey as i32);
        self.page.integer(row.l_suppkey as i32);
        self.page.integer(row.l_linenumber);
        self.page.hundredths(row.l_quantity * 100);
        self.page.hundredths(row.l_extendedprice.into_inner());
        self.page.hundredths(row.l_discount.into_inner());
        self.page.hundredths(row.l_tax.into_inner());
        self.page.text(row.l_returnflag.as_bytes());
        self.page.text(row.l_linestatus.as_bytes());
        self.page.date(row.l_shipdate.to_unix_epoch());
        self.page.date(row.l_commitdate.to_unix_epoch());
        self.page.date(row.l_receiptdate.to_unix_epoch());
        self.page.text(row.l_shipinstruct.as_bytes());
        self.page.text(row.l_shipmode.as_bytes());
        self.page.text(row.l_comment.as_bytes());
    }
}
