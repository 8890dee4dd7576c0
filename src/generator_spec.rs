//! The specification of a load generator, validated.

use std::collections::BTreeSet;

use crate::input_generator::Workload;
use crate::inputs::{Home, Profile, constants};
use crate::worker_state::TerminalOptions;

/// Linux's CPU_SETSIZE.
const MAX_CORES: usize = libc::CPU_SETSIZE as usize;

/// The specification of a load generator.
#[cfg_attr(feature = "python", pyo3::pyclass(frozen, eq, get_all, module = "kneebench._core"))]
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorSpec {
    pub users: u32,
    /// Users of the load generators before this one, if several share a database.
    pub first_user: u32,
    /// Users of all load generators on the database; 0: no other one follows.
    pub all_users: u32,
    pub warehouses: u32,
    /// Databases of so many warehouses each; user n is in database n modulo their number.
    pub databases: u32,
    pub profile: Profile,
    pub home: Home,
    pub think_times: bool,
    pub retries: u32,
    pub seed: u64,
    /// Number of the random stream: differs between the rungs of one seed.
    pub stream: u64,
    /// Total rate of an open loop; None for a closed loop.
    pub rate_per_s: Option<f64>,
    /// Time that a queue may take to empty after the window.
    pub drain_s: f64,
    /// Connections shared by the users; 0: one per user.
    pub connections: u32,
    pub workers: u32,
    /// Cores to pin the workers to, in turn; empty: not pinned.
    pub cores: Vec<usize>,
    /// Keep a ledger of the orders, for what a crash loses.
    pub ledger: bool,
}

impl GeneratorSpec {
    /// The same with every number resolved: all users, the connections, no more workers than
    /// connections.
    pub fn resolved(mut self) -> Self {
        self.all_users = self.all_users.max(self.first_user + self.users);
        self.connections =
            if self.connections == 0 { self.users } else { self.connections.min(self.users) };
        self.workers = self.workers.min(self.connections);
        self
    }

    /// Fails with the name of the value that is out of range.
    pub fn check(&self) -> Result<(), String> {
        let invalid = |key: &str, seen: String, allowed: &str| {
            Err(format!("the load generator's spec: {key} is {seen}; allowed: {allowed}"))
        };
        let in_range = |key: &str, seen: u32, low: u32, high: u32| {
            if (low..=high).contains(&seen) {
                Ok(())
            } else {
                invalid(key, seen.to_string(), &format!("{low} to {high}"))
            }
        };
        in_range("users", self.users, 1, 100_000)?;
        in_range("first_user", self.first_user, 0, 1_000_000)?;
        if self.all_users != 0 {
            in_range("all_users", self.all_users, self.first_user + self.users, 1_100_000)?;
        }
        in_range("warehouses", self.warehouses, 1, 100_000)?;
        in_range("databases", self.databases, 1, 1_000)?;
        in_range("retries", self.retries, 0, 1_000)?;
        in_range("connections", self.connections, 0, 100_000)?;
        in_range("workers", self.workers, 1, 1_024)?;
        if let Some(rate) = self.rate_per_s.filter(|rate| !(*rate > 0.0 && *rate <= 1e7)) {
            return invalid("rate_per_s", rate.to_string(), "above 0, at most 10000000");
        }
        if !(0.0..=3_600.0).contains(&self.drain_s) {
            return invalid("drain_s", self.drain_s.to_string(), "0 to 3600");
        }
        match self.cores.iter().find(|&&core| core >= MAX_CORES) {
            Some(core) => invalid("cores", core.to_string(), &format!("0 to {}", MAX_CORES - 1)),
            None => Ok(()),
        }
    }

    pub fn workload(&self) -> Workload {
        Workload {
            warehouses: self.warehouses as i32,
            users: self.all_users as i32,
            profile: self.profile,
            home: self.home,
            nurand: constants(self.seed, self.profile).run,
        }
    }

    /// The parameters of a user's inputs, and its number among the users of its database.
    pub fn of_user(&self, user: u32) -> (Workload, i32) {
        let (database, number) = (user % self.databases, user / self.databases);
        let users = (self.all_users + self.databases - 1 - database) / self.databases;
        (Workload { users: users as i32, ..self.workload() }, number as i32)
    }

    pub fn terminal_options(&self) -> TerminalOptions {
        TerminalOptions {
            think_times: self.think_times,
            retries: self.retries,
            ledger: self.ledger,
        }
    }

    /// The users of one worker, counted from 0. Shares differ by at most one.
    pub fn share(&self, worker: u32) -> std::ops::Range<u32> {
        self.part(self.users, worker)
    }

    /// Numbers of one worker's connections: at least one, never more than its users.
    pub fn connections_of(&self, worker: u32) -> std::ops::Range<u32> {
        self.part(self.connections, worker)
    }

    fn part(&self, whole: u32, worker: u32) -> std::ops::Range<u32> {
        let upto =
            |worker: u32| (u64::from(whole) * u64::from(worker) / u64::from(self.workers)) as u32;
        upto(worker)..upto(worker + 1)
    }

    /// Cores for the workers: those they are pinned to, else those of this process.
    pub fn available_cores(&self) -> Option<usize> {
        match self.cores.is_empty() {
            true => std::thread::available_parallelism().ok().map(usize::from),
            false => Some(self.cores.iter().collect::<BTreeSet<_>>().len()),
        }
    }

    /// True if starts may wait: for a user (open loop) or for a connection.
    pub fn queued(&self) -> bool {
        self.rate_per_s.is_some() || self.connections < self.users
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> GeneratorSpec {
        GeneratorSpec {
            users: 10,
            first_user: 0,
            all_users: 0,
            warehouses: 4,
            databases: 1,
            profile: Profile::Spec,
            home: Home::All,
            think_times: false,
            retries: 10,
            seed: 1,
            stream: 2,
            rate_per_s: None,
            drain_s: 10.0,
            connections: 0,
            workers: 4,
            cores: Vec::new(),
            ledger: false,
        }
    }

    #[test]
    fn shares_contain_every_user_once_and_differ_by_at_most_one() {
        let spec = spec().resolved();
        let shares: Vec<_> = (0..4).map(|worker| spec.share(worker)).collect();
        assert_eq!(shares, [0..2, 2..5, 5..7, 7..10]);
    }

    #[test]
    fn two_load_generators_on_one_database_give_every_user_the_same_home_as_one() {
        use crate::input_generator::InputGenerator;
        use crate::inputs::Transaction;
        use crate::random::Stream;
        let homes = |users: u32,
                     first_user: u32,
                     all_users: u32,
                     home: Home|
         -> Vec<BTreeSet<(i32, i32)>> {
            let spec =
                GeneratorSpec { users, first_user, all_users, warehouses: 21, home, ..spec() }
                    .resolved();
            let numbers = spec.first_user..spec.first_user + spec.users;
            let at = |user: &mut InputGenerator| match user.draw() {
                Transaction::StockLevel { warehouse, district, .. } => Some((warehouse, district)),
                _ => None,
            };
            let user = |number| {
                InputGenerator::new(
                    spec.workload(),
                    number as i32,
                    Stream::new(1, u64::from(number)),
                )
            };
            numbers
                .map(|number| {
                    (0..5_000).scan(user(number), |user, _| Some(at(user))).flatten().collect()
                })
                .collect()
        };
        for home in [Home::One, Home::All] {
            let both = [homes(4, 0, 10, home), homes(6, 4, 10, home)].concat();
            assert_eq!(both, homes(10, 0, 0, home), "{home:?}");
            assert_eq!(
                both.iter().flatten().map(|(w, _)| w).collect::<BTreeSet<_>>().len(),
                if home == Home::One { 10 } else { 21 }
            );
        }
    }

    #[test]
    fn users_of_several_databases_share_all_warehouses_of_each() {
        use crate::input_generator::InputGenerator;
        use crate::inputs::Transaction;
        use crate::random::Stream;
        let spec = GeneratorSpec { databases: 4, warehouses: 5, ..spec() }.resolved();
        let mut homes = vec![BTreeSet::new(); 4];
        for user in 0..spec.users {
            let (workload, number) = spec.of_user(user);
            assert_eq!(workload.users, if user % 4 < 2 { 3 } else { 2 });
            let mut inputs = InputGenerator::new(workload, number, Stream::new(1, u64::from(user)));
            let at = (0..5_000).filter_map(|_| match inputs.draw() {
                Transaction::StockLevel { warehouse, .. } => Some(warehouse),
                _ => None,
            });
            homes[user as usize % 4].extend(at);
        }
        assert_eq!(homes, vec![(1..=5).collect::<BTreeSet<_>>(); 4]);
    }

    #[test]
    fn there_are_never_more_workers_than_users() {
        assert_eq!(GeneratorSpec { users: 3, ..spec() }.resolved().workers, 3);
    }

    #[test]
    fn every_worker_has_its_part_of_the_connections_and_at_least_one() {
        let with = |connections| GeneratorSpec { connections, ..spec() }.resolved();
        let parts = |spec: &GeneratorSpec| {
            (0..spec.workers).map(|worker| spec.connections_of(worker).len()).collect::<Vec<_>>()
        };
        assert_eq!((parts(&with(7)), with(7).queued()), (vec![1, 2, 2, 2], true));
        assert_eq!(parts(&with(2)), [1, 1]);
        for own in [0, 10, 99] {
            assert_eq!((parts(&with(own)), with(own).queued()), (vec![2, 3, 2, 3], false));
        }
    }

    #[test]
    fn workers_share_the_distinct_cores_that_they_are_pinned_to() {
        assert_eq!(GeneratorSpec { cores: vec![1, 0, 1], ..spec() }.available_cores(), Some(2));
        assert!(spec().available_cores() >= Some(1));
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_its_name_and_the_allowed_range() {
        assert_eq!(spec().check(), Ok(()));
        for (bad, expected) in [
            (GeneratorSpec { users: 0, ..spec() }, "users is 0; allowed: 1 to 100000"),
            (
                GeneratorSpec { first_user: 4, all_users: 13, ..spec() },
                "all_users is 13; allowed: 14 to",
            ),
            (GeneratorSpec { rate_per_s: Some(0.0), ..spec() }, "rate_per_s"),
            (GeneratorSpec { drain_s: -1.0, ..spec() }, "drain_s is -1"),
            (GeneratorSpec { cores: vec![0, 5000], ..spec() }, "cores is 5000"),
        ] {
            let message = bad.check().unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
