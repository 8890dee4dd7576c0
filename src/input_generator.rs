//! Generates the transactions of one user: which comes next, on which rows.

use crate::deck::Deck;
use crate::inputs::{
    CUSTOMERS, Customer, DISTRICTS, Home, ITEMS, Kind, MOST_LINES, NewOrder, Nurand, Payment,
    Profile, Transaction, last_name,
};
use crate::random::Stream;

/// Parameters of the inputs of every user.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    pub warehouses: i32,
    pub users: i32,
    pub profile: Profile,
    pub home: Home,
    pub nurand: Nurand,
}

/// Input generator of one user: its random stream, its deck, its home.
#[derive(Clone, Debug)]
pub struct InputGenerator {
    workload: Workload,
    number: i32,
    district: i32,
    deck: Deck,
    pub random: Stream,
}

impl InputGenerator {
    /// `number` counts from 0.
    pub fn new(workload: Workload, number: i32, random: Stream) -> Self {
        Self {
            workload,
            number,
            district: number % DISTRICTS + 1,
            deck: Deck::new(workload.profile),
            random,
        }
    }

    /// The next transaction.
    pub fn draw(&mut self) -> Transaction {
        let kind = self.deck.draw(&mut self.random);
        let warehouse = self.warehouse();
        match kind {
            Kind::NewOrder => Transaction::NewOrder(self.new_order(warehouse)),
            Kind::Payment => Transaction::Payment(self.payment(warehouse)),
            Kind::OrderStatus => Transaction::OrderStatus {
                warehouse,
                district: self.random.between(1, DISTRICTS),
                customer: self.customer(),
            },
            Kind::Delivery => {
                Transaction::Delivery { warehouse, carrier: self.random.between(1, 10) }
            }
            Kind::StockLevel => Transaction::StockLevel {
                warehouse,
                district: self.district,
                threshold: self.random.between(10, 20),
            },
        }
    }

    /// `One`: users spread evenly. `All`: user i of n owns the warehouses i, i + n, i + 2n, ...
    /// (gentpcc.tcl:3-33).
    fn warehouse(&mut self) -> i32 {
        let Workload { warehouses, users, home, .. } = self.workload;
        let (w, n, i) = (i64::from(warehouses), i64::from(users), i64::from(self.number));
        let nth = match home {
            Home::One => i * w / n,
            Home::All => i + n * self.random.below((w + n - 1) as u64 / n as u64) as i64,
        };
        (nth % w) as i32 + 1
    }

    /// A warehouse other than `home`, if there is one.
    fn other_warehouse(&mut self, home: i32) -> i32 {
        if self.workload.warehouses == 1 {
            return home;
        }
        let other = self.random.between(1, self.workload.warehouses - 1);
        other + i32::from(other >= home)
    }

    fn customer_id(&mut self) -> i32 {
        match self.workload.profile {
            Profile::Spec => self.workload.nurand.customer(&mut self.random),
            Profile::Hammerdb => self.random.between(1, CUSTOMERS),
        }
    }

    fn item(&mut self) -> i32 {
        match self.workload.profile {
            Profile::Spec => self.workload.nurand.item(&mut self.random),
            Profile::Hammerdb => self.random.between(1, ITEMS),
        }
    }

    /// 60% by last name, 40% by id (TPC-C 2.5.1.2, 2.6.1.2).
    fn customer(&mut self) -> Customer {
        if self.random.percent(60) {
            Customer::LastName(last_name(self.workload.nurand.last_name(&mut self.random)))
        } else {
            Customer::Id(self.customer_id())
        }
    }

    /// 15% of the customers live in another district or warehouse (TPC-C 2.5.1.2).
    fn payment(&mut self, warehouse: i32) -> Payment {
        let district = self.random.between(1, DISTRICTS);
        let (customer_warehouse, customer_district) = if self.random.percent(15) {
            (self.other_warehouse(warehouse), self.random.between(1, DISTRICTS))
        } else {
            (warehouse, district)
        };
        let amount_cents = self.random.between(100, 500_000);
        Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer: self.customer(),
            amount_cents,
        }
    }

    /// 5 to 15 lines; 1% of the lines come from another warehouse; 1% of the orders end in an
    /// item that does not exist (TPC-C 2.4.1).
    fn new_order(&mut self, warehouse: i32) -> NewOrder {
        let (district, customer) = (self.random.between(1, DISTRICTS), self.customer_id());
        let lines = self.random.between(5, MOST_LINES as i32) as usize;
        let rolls_back = self.random.percent(1);
        let mut order = NewOrder { warehouse, district, customer, lines, ..NewOrder::default() };
        for line in 0..lines {
            order.items[line] = self.item();
            order.suppliers[line] =
                if self.random.percent(1) { self.other_warehouse(warehouse) } else { warehouse };
            order.quantities[line] = self.random.between(1, 10);
        }
        if rolls_back {
            order.items[lines - 1] = ITEMS + 1;
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::constants;
    use std::collections::BTreeSet;

    fn user(number: i32, users: i32, warehouses: i32, home: Home) -> InputGenerator {
        let nurand = constants(1, Profile::Spec).run;
        let workload = Workload { warehouses, users, profile: Profile::Spec, home, nurand };
        InputGenerator::new(workload, number, Stream::new(1, number as u64))
    }

    fn orders(user: &mut InputGenerator, draws: usize) -> Vec<NewOrder> {
        let drawn = (0..draws).map(|_| user.draw());
        drawn
            .filter_map(|t| if let Transaction::NewOrder(order) = t { Some(order) } else { None })
            .collect()
    }

    #[test]
    fn orders_have_five_to_fifteen_lines_of_one_to_ten_pieces() {
        for order in orders(&mut user(0, 1, 10, Home::All), 10_000) {
            assert!((5..=15).contains(&order.items().len()));
            assert!(order.items().iter().rev().skip(1).all(|item| (1..=ITEMS).contains(item)));
            assert!(order.suppliers().iter().all(|w| (1..=10).contains(w)));
            assert!(order.quantities().iter().all(|q| (1..=10).contains(q)));
        }
    }

    #[test]
    fn one_order_in_a_hundred_rolls_back_on_its_last_line() {
        let orders = orders(&mut user(0, 1, 10, Home::All), 200_000);
        let share =
            orders.iter().filter(|order| order.rolls_back()).count() as f64 / orders.len() as f64;
        assert!((share - 0.01).abs() < 0.001, "{share}");
    }

    #[test]
    fn one_line_in_a_hundred_comes_from_elsewhere() {
        let orders = orders(&mut user(0, 1, 2, Home::One), 50_000);
        let lines: Vec<i32> = orders.iter().flat_map(|order| order.suppliers().to_vec()).collect();
        let share = lines.iter().filter(|&&w| w != 1).count() as f64 / lines.len() as f64;
        assert!((share - 0.01).abs() < 0.001, "{share}");
    }

    #[test]
    fn payments_are_85_percent_at_home_and_60_percent_by_name() {
        let mut user = user(0, 1, 10, Home::One);
        let drawn: Vec<Payment> = (0..100_000)
            .filter_map(|_| if let Transaction::Payment(p) = user.draw() { Some(p) } else { None })
            .collect();
        let share = |of: &dyn Fn(&&Payment) -> bool| {
            drawn.iter().filter(of).count() as f64 / drawn.len() as f64
        };
        assert!((share(&|p| p.customer_warehouse == p.warehouse) - 0.85).abs() < 0.01);
        assert!((share(&|p| matches!(p.customer, Customer::LastName(_))) - 0.6).abs() < 0.01);
    }

    #[test]
    fn users_together_are_at_home_in_every_warehouse_and_at_one_each_in_one() {
        let homes = |number, users, warehouses, home| -> BTreeSet<i32> {
            let mut user = user(number, users, warehouses, home);
            (0..500).map(|_| user.warehouse()).collect()
        };
        assert_eq!(homes(1, 3, 10, Home::All), BTreeSet::from([2, 5, 8, 1]));
        let all: BTreeSet<i32> = (0..3).flat_map(|i| homes(i, 3, 10, Home::All)).collect();
        assert_eq!(all, (1..=10).collect());
        let each: Vec<_> = (0..4).map(|i| homes(i, 4, 20, Home::One)).collect();
        assert_eq!(each, [1, 6, 11, 16].map(|w| BTreeSet::from([w])));
        assert!(
            (0..7).all(|i| homes(i, 7, 2, Home::All).len() == 1),
            "more users than warehouses: they share"
        );
    }

    #[test]
    fn a_single_warehouse_has_no_elsewhere() {
        assert!(
            orders(&mut user(0, 1, 1, Home::All), 5_000)
                .iter()
                .all(|order| order.suppliers().iter().all(|&w| w == 1))
        );
    }

    #[test]
    fn the_same_stream_draws_the_same_transactions() {
        let drawn = || -> Vec<Transaction> {
            (0..50)
                .map({
                    let mut u = user(3, 4, 10, Home::All);
                    move |_| u.draw()
                })
                .collect()
        };
        assert_eq!(drawn(), drawn());
    }
}
