//! A queueing station: k servers behind one queue, first come, first served (cores, or the channels
//! of a drive).
//!
//! In such a queue the end of an arrival is known at once: it gets the server that is free first.
//! So nothing is queued; an arrival *reserves*, and sleeps once until its end. Reservations beyond
//! now have not happened yet, and no figure includes them.

/// Time covered by at least one interval; intervals are added in order of their beginning.
#[derive(Clone, Copy, Default)]
pub struct Coverage {
    total_ns: u64,
    until_ns: u64,
}

impl Coverage {
    pub fn add(&mut self, from_ns: u64, to_ns: u64) {
        self.total_ns += to_ns.saturating_sub(from_ns.max(self.until_ns));
        self.until_ns = self.until_ns.max(to_ns);
    }

    pub fn by(&self, now_ns: u64) -> u64 {
        self.total_ns - self.until_ns.saturating_sub(now_ns)
    }
}

#[derive(Clone, Copy, Default)]
struct Server {
    free_at_ns: u64,
    reserved_ns: u64,
}

/// k servers behind one queue, first come, first served.
pub struct QueueingStation {
    servers: Vec<Server>,
    queueing: Coverage,
    present: Coverage,
    served: u64,
    served_time_ns: u64,
    inside: u64,
    arrivals_ns: u64,
}

impl QueueingStation {
    pub fn new(servers: usize) -> Self {
        let (queueing, present) = Default::default();
        Self {
            servers: vec![Server::default(); servers.max(1)],
            queueing,
            present,
            served: 0,
            served_time_ns: 0,
            inside: 0,
            arrivals_ns: 0,
        }
    }

    /// Take the next free server for `service_ns`; returns the end of the service.
    pub fn enter(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        let mut first = 0;
        for (index, server) in self.servers.iter().enumerate() {
            if server.free_at_ns < self.servers[first].free_at_ns {
                first = index;
            }
        }
        let server = &mut self.servers[first];
        let begin_ns = now_ns.max(server.free_at_ns);
        server.free_at_ns = begin_ns + service_ns;
        server.reserved_ns += service_ns;
        let end_ns = server.free_at_ns;
        self.queueing.add(now_ns, begin_ns);
        self.present.add(now_ns, end_ns);
        self.inside += 1;
        self.arrivals_ns = self.arrivals_ns.wrapping_add(now_ns);
        end_ns
    }

    /// The request that arrived at `arrived_ns` is done.
    pub fn leave(&mut self, arrived_ns: u64, now_ns: u64) {
        self.inside -= 1;
        self.arrivals_ns = self.arrivals_ns.wrapping_sub(arrived_ns);
        self.served += 1;
        self.served_time_ns += now_ns - arrived_ns;
    }

    /// All present requests are aborted; their reservations remain.
    pub fn abandon(&mut self) {
        (self.inside, self.arrivals_ns) = (0, 0);
    }

    /// Busy time of each server so far.
    pub fn busy_ns(&self, now_ns: u64) -> impl Iterator<Item = u64> {
        self.servers
            .iter()
            .map(move |server| server.reserved_ns - server.free_at_ns.saturating_sub(now_ns))
    }

    /// Requests served, and the time they spent here, queueing included.
    pub fn served(&self) -> (u64, u64) {
        (self.served, self.served_time_ns)
    }

    /// Requests present now, queueing or being served.
    pub fn inside(&self) -> u64 {
        self.inside
    }

    /// Request-time spent here so far, including present requests: its growth per second is the
    /// mean queue depth.
    pub fn spent_ns(&self, now_ns: u64) -> u64 {
        self.served_time_ns + self.inside.wrapping_mul(now_ns).wrapping_sub(self.arrivals_ns)
    }

    /// Time with at least one request here.
    pub fn present_ns(&self, now_ns: u64) -> u64 {
        self.present.by(now_ns)
    }

    /// Time with at least one request queueing.
    pub fn queueing_ns(&self, now_ns: u64) -> u64 {
        self.queueing.by(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_served_in_the_order_they_came_by_the_server_that_is_free_first() {
        let mut station = QueueingStation::new(2);
        assert_eq!(
            [station.enter(0, 10), station.enter(0, 4), station.enter(1, 5), station.enter(2, 5)],
            [10, 4, 9, 14]
        );
        assert_eq!(station.enter(100, 1), 101);
    }

    #[test]
    fn what_is_reserved_beyond_now_is_not_counted_yet() {
        let mut station = QueueingStation::new(1);
        station.enter(0, 10);
        station.enter(0, 10);
        assert_eq!(station.busy_ns(5).collect::<Vec<_>>(), [5]);
        assert_eq!(
            (station.present_ns(5), station.queueing_ns(5), station.spent_ns(5), station.inside()),
            (5, 5, 10, 2)
        );
        station.leave(0, 10);
        station.leave(0, 20);
        assert_eq!(station.busy_ns(50).collect::<Vec<_>>(), [20]);
        assert_eq!(
            (station.present_ns(50), station.queueing_ns(50), station.spent_ns(50)),
            (20, 10, 30)
        );
        assert_eq!(station.served(), (2, 30));
    }
}
