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
        self.enter_at(self.first_free(), now_ns, service_ns)
    }

    /// The same at this server, also if another is free first.
    pub fn enter_at(&mut self, server: usize, now_ns: u64, service_ns: u64) -> u64 {
        let begin_ns = now_ns.max(self.servers[server].free_at_ns);
        let end_ns = self.reserve(server, begin_ns, service_ns);
        self.queueing.add(now_ns, begin_ns);
        self.present.add(now_ns, end_ns);
        self.inside += 1;
        self.arrivals_ns = self.arrivals_ns.wrapping_add(now_ns);
        end_ns
    }

    /// Work that is no request: it takes the next free server, and no figure but the busy time
    /// includes it. Returns its end.
    pub fn occupy(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        let server = self.first_free();
        self.reserve(server, now_ns.max(self.servers[server].free_at_ns), service_ns)
    }

    /// Number of servers.
    pub fn servers(&self) -> usize {
        self.servers.len()
    }

    fn first_free(&self) -> usize {
        let mut first = 0;
        for (index, server) in self.servers.iter().enumerate() {
            if server.free_at_ns < self.servers[first].free_at_ns {
                first = index;
            }
        }
        first
    }

    fn reserve(&mut self, server: usize, begin_ns: u64, service_ns: u64) -> u64 {
        let server = &mut self.servers[server];
        server.free_at_ns = begin_ns + service_ns;
        server.reserved_ns += service_ns;
        server.free_at_ns
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
    fn work_that_is_no_request_delays_requests_and_is_not_counted() {
        let mut station = QueueingStation::new(2);
        assert_eq!([station.occupy(0, 10), station.occupy(0, 30)], [10, 30]);
        assert_eq!((station.enter(5, 5), station.enter_at(1, 5, 5)), (15, 35));
        station.leave(5, 15);
        assert_eq!((station.served(), station.inside()), ((1, 10), 1));
        assert_eq!(station.busy_ns(20).collect::<Vec<_>>(), [15, 20]);
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
