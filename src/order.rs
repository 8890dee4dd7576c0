//! What Python asks of a crew, checked.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::address::Address;
use crate::crew::Wrong;
use crate::inputs::{Home, Profile, Workload, constants};
use crate::shift::Manners;

/// Linux's CPU_SETSIZE.
const MOST_CORES: usize = libc::CPU_SETSIZE as usize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    pub users: u32,
    #[serde(default)]
    pub first_user: u32,
    pub warehouses: u32,
    pub profile: Profile,
    pub home: Home,
    #[serde(default)]
    pub think_times: bool,
    #[serde(default)]
    pub retries: u32,
    pub seed: u64,
    /// Tells the rungs of one seed apart.
    pub stream: u64,
    /// The open loop's total; None is a closed loop.
    #[serde(default)]
    pub rate_per_s: Option<f64>,
    #[serde(default = "ten")]
    pub drain_s: f64,
    /// Shared by the users; 0: one for each.
    #[serde(default)]
    pub connections: u32,
    pub workers: u32,
    /// One worker each, in turn; not pinned when empty.
    #[serde(default)]
    pub cores: Vec<usize>,
    #[serde(default)]
    pub address: Option<Address>,
}

fn ten() -> f64 {
    10.0
}

impl Order {
    pub fn parse(json: &str) -> Result<Self, Wrong> {
        let mut order: Self =
            serde_json::from_str(json).map_err(|wrong| Wrong::Order(format!("while reading the crew's order: {wrong}")))?;
        order.check()?;
        order.connections = if order.connections == 0 { order.users } else { order.connections.min(order.users) };
        order.workers = order.workers.min(order.connections);
        Ok(order)
    }

    fn check(&self) -> Result<(), Wrong> {
        let wrong =
            |key: &str, seen: String, allowed: &str| Err(Wrong::Order(format!("the crew's order: {key} is {seen}; allowed: {allowed}")));
        let within = |key: &str, seen: u32, low: u32, high: u32| {
            if (low..=high).contains(&seen) { Ok(()) } else { wrong(key, seen.to_string(), &format!("{low} to {high}")) }
        };
        within("users", self.users, 1, 100_000)?;
        within("first_user", self.first_user, 0, 1_000_000)?;
        within("warehouses", self.warehouses, 1, 100_000)?;
        within("retries", self.retries, 0, 1_000)?;
        within("connections", self.connections, 0, 100_000)?;
        within("workers", self.workers, 1, 1_024)?;
        if let Some(rate) = self.rate_per_s.filter(|rate| !(*rate > 0.0 && *rate <= 1e7)) {
            return wrong("rate_per_s", rate.to_string(), "above 0, at most 10000000");
        }
        if !(0.0..=3_600.0).contains(&self.drain_s) {
            return wrong("drain_s", self.drain_s.to_string(), "0 to 3600");
        }
        match self.cores.iter().find(|&&core| core >= MOST_CORES) {
            Some(core) => wrong("cores", core.to_string(), &format!("0 to {}", MOST_CORES - 1)),
            None => Ok(()),
        }
    }

    pub fn workload(&self) -> Workload {
        Workload {
            warehouses: self.warehouses as i32,
            users: self.users as i32,
            profile: self.profile,
            home: self.home,
            nurand: constants(self.seed, self.profile).run,
        }
    }

    pub fn manners(&self) -> Manners {
        Manners { think_times: self.think_times, retries: self.retries }
    }

    /// The users of one worker, counted from 0: every worker has as many as any other, or one more.
    pub fn share(&self, worker: u32) -> std::ops::Range<u32> {
        self.part(self.users, worker)
    }

    /// How many connections one worker has: at least one, and never more than users.
    pub fn connections_of(&self, worker: u32) -> u32 {
        self.part(self.connections, worker).len() as u32
    }

    fn part(&self, whole: u32, worker: u32) -> std::ops::Range<u32> {
        let upto = |worker: u32| (u64::from(whole) * u64::from(worker) / u64::from(self.workers)) as u32;
        upto(worker)..upto(worker + 1)
    }

    /// Cores that the workers may run on: those that they are pinned to, else those of this process.
    pub fn client_cores(&self) -> Option<usize> {
        match self.cores.is_empty() {
            true => std::thread::available_parallelism().ok().map(usize::from),
            false => Some(self.cores.iter().collect::<BTreeSet<_>>().len()),
        }
    }

    /// Whether a start may have to wait: for a user (open loop) or for a connection.
    pub fn queued(&self) -> bool {
        self.rate_per_s.is_some() || self.connections < self.users
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"users": 10, "first_user": 0, "warehouses": 4, "profile": "spec", "home": "all", "think_times": false,
        "retries": 10, "seed": 1, "stream": 2, "rate_per_s": null, "drain_s": 10.0, "workers": 4, "cores": []}"#;

    #[test]
    fn shares_hold_every_user_once_and_differ_by_at_most_one() {
        let order = Order::parse(GOOD).unwrap();
        let shares: Vec<_> = (0..4).map(|worker| order.share(worker)).collect();
        assert_eq!(shares, [0..2, 2..5, 5..7, 7..10]);
    }

    #[test]
    fn there_are_never_more_workers_than_users() {
        assert_eq!(Order::parse(&GOOD.replace("\"users\": 10", "\"users\": 3")).unwrap().workers, 3);
    }

    #[test]
    fn every_worker_has_its_part_of_the_connections_and_at_least_one() {
        let with = |more: &str| Order::parse(&GOOD.replace("\"seed\": 1", &format!("\"seed\": 1, {more}"))).unwrap();
        let parts = |order: &Order| (0..order.workers).map(|worker| order.connections_of(worker)).collect::<Vec<_>>();
        assert_eq!((parts(&with("\"connections\": 7")), with("\"connections\": 7").queued()), (vec![1, 2, 2, 2], true));
        assert_eq!(parts(&with("\"connections\": 2")), [1, 1]);
        for own in ["\"connections\": 0", "\"connections\": 10", "\"connections\": 99"] {
            assert_eq!((parts(&with(own)), with(own).queued()), (vec![2, 3, 2, 3], false));
        }
    }

    #[test]
    fn workers_share_the_distinct_cores_that_they_are_pinned_to() {
        assert_eq!(Order::parse(&GOOD.replace("\"cores\": []", "\"cores\": [1, 0, 1]")).unwrap().client_cores(), Some(2));
        assert!(Order::parse(GOOD).unwrap().client_cores() >= Some(1));
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_name_with_what_is_allowed() {
        for (good, bad, key) in [
            ("\"users\": 10", "\"users\": 0", "users is 0; allowed: 1 to 100000"),
            ("\"rate_per_s\": null", "\"rate_per_s\": 0.0", "rate_per_s"),
            ("\"drain_s\": 10.0", "\"drain_s\": -1.0", "drain_s is -1"),
            ("\"cores\": []", "\"cores\": [0, 5000]", "cores is 5000"),
            ("\"home\": \"all\"", "\"home\": \"away\"", "away"),
            ("\"seed\": 1", "\"seed\": -1", "-1"),
            ("\"users\": 10", "\"users\": 10, \"usres\": 1", "usres"),
        ] {
            let message = Order::parse(&GOOD.replace(good, bad)).unwrap_err().to_string();
            assert!(message.contains(key), "{message}");
        }
    }
}
