//! Inputs of the five transactions as plain data, and the random picks behind them (TPC-C 2.1.6,
//! 2.4.1 to 2.8.1). No SQL.

use std::str::FromStr;
use std::sync::LazyLock;

use crate::random::Stream;

pub const DISTRICTS: i32 = 10;
pub const CUSTOMERS: i32 = 3_000;
pub const ITEMS: i32 = 100_000;
pub const MOST_LINES: usize = 15;

/// The five transactions; their number is the index into every array by transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    pub const ALL: [Kind; 5] =
        [Kind::NewOrder, Kind::Payment, Kind::OrderStatus, Kind::Delivery, Kind::StockLevel];

    pub fn name(self) -> &'static str {
        ["new_order", "payment", "order_status", "delivery", "stock_level"][self as usize]
    }

    /// Keying time (TPC-C 5.2.5.2).
    pub fn keying_s(self) -> f64 {
        [18.0, 3.0, 2.0, 2.0, 2.0][self as usize]
    }

    /// Mean think time (TPC-C 5.2.5.4).
    pub fn thinking_s(self) -> f64 {
        [12.0, 12.0, 10.0, 5.0, 5.0][self as usize]
    }
}

/// The rules of the inputs: TPC-C's, or HammerDB's (uniform customers and items, C = 123
/// everywhere).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Spec,
    Hammerdb,
}

impl Profile {
    pub const ALL: [Profile; 2] = [Profile::Spec, Profile::Hammerdb];

    pub fn name(self) -> &'static str {
        ["spec", "hammerdb"][self as usize]
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        named(name, "profile", &Self::ALL, Self::name)
    }
}

/// The home of a user: all warehouses of its share (as HammerDB's "use all warehouses"), or one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    All,
    One,
}

impl Home {
    pub const ALL: [Home; 2] = [Home::All, Home::One];

    pub fn name(self) -> &'static str {
        ["all", "one"][self as usize]
    }
}

impl FromStr for Home {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        named(name, "home", &Self::ALL, Self::name)
    }
}

/// The value of this name, or an error with the known names.
pub fn named<T: Copy>(
    name: &str,
    what: &str,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<T, String> {
    let known = || all.iter().map(|&one| name_of(one)).collect::<Vec<_>>().join(", ");
    all.iter()
        .copied()
        .find(|&one| name_of(one) == name)
        .ok_or_else(|| format!("unknown {what} {name:?}; known: {}", known()))
}

/// Inputs of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus { warehouse: i32, district: i32, customer: Customer },
    Delivery { warehouse: i32, carrier: i32 },
    StockLevel { warehouse: i32, district: i32, threshold: i32 },
}

/// An order. It may name an item twice; an item that does not exist is in the last line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewOrder {
    pub warehouse: i32,
    pub district: i32,
    pub customer: i32,
    pub(crate) lines: usize,
    pub(crate) items: [i32; MOST_LINES],
    pub(crate) suppliers: [i32; MOST_LINES],
    pub(crate) quantities: [i32; MOST_LINES],
}

impl NewOrder {
    pub fn items(&self) -> &[i32] {
        &self.items[..self.lines]
    }

    pub fn suppliers(&self) -> &[i32] {
        &self.suppliers[..self.lines]
    }

    pub fn quantities(&self) -> &[i32] {
        &self.quantities[..self.lines]
    }

    /// The lines as (item, supplier, quantity), by supplier and item: databases lock stock in this
    /// order, which is that of its key.
    pub fn lines_by_stock(&self) -> impl Iterator<Item = (i32, i32, i32)> {
        let mut numbers: [usize; MOST_LINES] = std::array::from_fn(|number| number);
        numbers[..self.lines]
            .sort_unstable_by_key(|&line| (self.suppliers[line], self.items[line]));
        let line = |line: usize| (self.items[line], self.suppliers[line], self.quantities[line]);
        numbers.into_iter().take(self.lines).map(line)
    }

    /// Lines that another warehouse than the order's supplies.
    pub fn remote_lines(&self) -> usize {
        self.suppliers().iter().filter(|&&one| one != self.warehouse).count()
    }

    /// It names an item that does not exist, so the database must roll back.
    pub fn rolls_back(&self) -> bool {
        self.items().last().is_some_and(|&item| item > ITEMS)
    }
}

/// A payment at (warehouse, district) by a customer who may live elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    pub warehouse: i32,
    pub district: i32,
    pub customer_warehouse: i32,
    pub customer_district: i32,
    pub customer: Customer,
    pub amount_cents: i32,
}

/// How a customer is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Customer {
    Id(i32),
    LastName(&'static str),
}

impl Customer {
    /// As the SQL functions expect it: (id, "") or (0, last name).
    pub fn id_and_name(self) -> (i32, &'static str) {
        match self {
            Customer::Id(id) => (id, ""),
            Customer::LastName(name) => (0, name),
        }
    }
}

impl Transaction {
    pub fn kind(&self) -> Kind {
        match self {
            Transaction::NewOrder(_) => Kind::NewOrder,
            Transaction::Payment(_) => Kind::Payment,
            Transaction::OrderStatus { .. } => Kind::OrderStatus,
            Transaction::Delivery { .. } => Kind::Delivery,
            Transaction::StockLevel { .. } => Kind::StockLevel,
        }
    }
}

/// Last name for a number in 0..1000: a syllable per digit (TPC-C 4.3.2.3).
pub fn last_name(number: i32) -> &'static str {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        (0..1000)
            .map(|n| [n / 100, n / 10 % 10, n % 10].map(|digit| SYLLABLES[digit]).concat())
            .collect()
    });
    &NAMES[number.clamp(0, 999) as usize]
}

/// The constants C of NURand for last names, customers and items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nurand {
    pub last_name: i32,
    pub customer: i32,
    pub item: i32,
}

/// NURand(A, x, y) with its C (TPC-C 2.1.6).
pub fn nurand(random: &mut Stream, a: i32, low: i32, high: i32, c: i32) -> i32 {
    ((random.between(0, a) | random.between(low, high)) + c) % (high - low + 1) + low
}

impl Nurand {
    /// Number of a last name, 0..=999.
    pub fn last_name(&self, random: &mut Stream) -> i32 {
        nurand(random, 255, 0, 999, self.last_name)
    }

    /// A customer, 1..=3000.
    pub fn customer(&self, random: &mut Stream) -> i32 {
        nurand(random, 1023, 1, CUSTOMERS, self.customer)
    }

    /// An item, 1..=100000.
    pub fn item(&self, random: &mut Stream) -> i32 {
        nurand(random, 8191, 1, ITEMS, self.item)
    }
}

/// The constants for loading and for running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    pub load: Nurand,
    pub run: Nurand,
}

/// Constants of a seed: |C_load - C_run| for last names is in [65, 119] and is neither 96 nor 112
/// (TPC-C 2.1.6.1); `hammerdb` uses 123 everywhere (tpcccommon-1.0.tm:15-17).
pub fn constants(seed: u64, profile: Profile) -> Constants {
    if profile == Profile::Hammerdb {
        let same = Nurand { last_name: 123, customer: 123, item: 123 };
        return Constants { load: same, run: same };
    }
    let mut random = Stream::new(seed, u64::MAX);
    let mut drawn = || Nurand {
        last_name: random.between(0, 255),
        customer: random.between(0, 1023),
        item: random.between(0, 8191),
    };
    let (load, mut run) = (drawn(), drawn());
    while !matches!((load.last_name - run.last_name).abs(), 65..=95 | 97..=111 | 113..=119) {
        run.last_name = drawn().last_name;
    }
    Constants { load, run }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_the_syllables_of_their_digits() {
        assert_eq!([0, 371, 999].map(last_name), ["BARBARBAR", "PRICALLYOUGHT", "EINGEINGEING"]);
    }

    #[test]
    fn constants_of_load_and_run_are_as_far_apart_as_the_rule_requires() {
        for seed in 0..2000 {
            let Constants { load, run } = constants(seed, Profile::Spec);
            let apart = (load.last_name - run.last_name).abs();
            assert!(
                (65..=119).contains(&apart) && apart != 96 && apart != 112,
                "seed {seed}: {apart}"
            );
            assert!((0..=255).contains(&run.last_name));
        }
        assert_eq!(constants(1, Profile::Hammerdb).run.item, 123);
        assert_eq!(constants(5, Profile::Spec), constants(5, Profile::Spec));
    }

    #[test]
    fn nurand_stays_in_its_range_and_prefers_some() {
        let (mut random, mut counts) = (Stream::new(1, 0), vec![0u32; 3001]);
        (0..300_000).for_each(|_| counts[nurand(&mut random, 1023, 1, 3000, 259) as usize] += 1);
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().max() > Some(&400), "uniform would be about 100 each");
    }
}
