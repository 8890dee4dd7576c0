//! Row locks: one holder each, first come, first served; held until the commit's flush ends.
//!
//! A New-Order holds its district from its first statement on (it takes the next order number). A
//! payment takes its district and then its warehouse near its end. Both hold them while the log is
//! flushed, so that users of one district, or of one warehouse, wait for each other's flushes.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::inputs::DISTRICTS;

/// The locks of all districts and warehouses, and the sessions that wait for one.
pub struct RowLocks {
    districts: Vec<Arc<Semaphore>>,
    warehouses: Vec<Arc<Semaphore>>,
    waiting: Rc<Cell<u64>>,
}

/// A lock that is held; released when dropped.
pub type Held = OwnedSemaphorePermit;

/// A lock that is waited for; counted meanwhile, also if the wait is given up.
pub struct Waiting {
    lock: Arc<Semaphore>,
    waiting: Rc<Cell<u64>>,
}

impl RowLocks {
    pub fn new(warehouses: u32) -> Self {
        let free = |n: usize| (0..n).map(|_| Arc::new(Semaphore::new(1))).collect();
        let warehouses = warehouses as usize;
        Self {
            districts: free(warehouses * DISTRICTS as usize),
            warehouses: free(warehouses),
            waiting: Rc::default(),
        }
    }

    pub fn district(&self, warehouse: i32, district: i32) -> Waiting {
        let place = (warehouse - 1) * DISTRICTS + district - 1;
        self.wait(&self.districts[place as usize])
    }

    pub fn warehouse(&self, warehouse: i32) -> Waiting {
        self.wait(&self.warehouses[warehouse as usize - 1])
    }

    /// Sessions that wait for a lock now.
    pub fn waiting(&self) -> u64 {
        self.waiting.get()
    }

    fn wait(&self, lock: &Arc<Semaphore>) -> Waiting {
        self.waiting.set(self.waiting.get() + 1);
        Waiting { lock: Arc::clone(lock), waiting: Rc::clone(&self.waiting) }
    }
}

impl Waiting {
    /// The lock, once all that came before have released it.
    pub async fn held(self) -> Held {
        let lock = Arc::clone(&self.lock);
        // no lock is ever closed
        lock.acquire_owned().await.expect("locks stay open")
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.waiting.set(self.waiting.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;

    #[test]
    fn a_row_has_one_holder_and_the_next_is_the_one_that_came_first() {
        let (mut executor, locks) = (Executor::default(), Rc::new(RowLocks::new(2)));
        let (timeline, log) = (executor.timeline(), Rc::new(std::cell::RefCell::new(Vec::new())));
        for user in 0..3_u64 {
            let (locks, timeline, log) = (locks.clone(), timeline.clone(), log.clone());
            executor.spawn(async move {
                timeline.sleep_until(user).await;
                let held = locks.district(1, 10).held().await;
                log.borrow_mut().push((user, timeline.now_ns(), locks.waiting()));
                timeline.sleep_until(timeline.now_ns() + 10).await;
                drop(held);
            });
        }
        let (other, elsewhere) = (locks.clone(), log.clone());
        executor.spawn(async move {
            let _held = (other.district(2, 10).held().await, other.warehouse(1).held().await);
            elsewhere.borrow_mut().push((9, 0, other.waiting()));
        });
        assert!(executor.finish(1_000));
        assert_eq!(log.take(), [(0, 0, 0), (9, 0, 0), (1, 10, 1), (2, 20, 0)]);
    }
}
