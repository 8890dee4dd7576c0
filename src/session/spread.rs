//! Sessions spread over several databases of one server, in turn.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{Connector, Error};

/// Opens each session in the next database, so that their numbers differ by at most one.
pub struct Spread<C> {
    databases: Vec<C>,
    opened: AtomicUsize,
}

impl<C> Spread<C> {
    /// Over at least one.
    pub fn over(databases: impl IntoIterator<Item = C>) -> Self {
        Self { databases: databases.into_iter().collect(), opened: AtomicUsize::new(0) }
    }
}

impl<C: Connector + Sync> Connector for Spread<C> {
    type Session = C::Session;

    async fn open(&self) -> Result<C::Session, Error> {
        let nth = self.opened.fetch_add(1, Relaxed);
        self.databases[nth % self.databases.len()].open().await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::inputs::Transaction;
    use crate::session::{Outcome, Session};

    struct Named<'a>(&'static str, &'a Mutex<Vec<&'static str>>);
    struct Opened;

    impl Session for Opened {
        async fn execute(&mut self, _: &Transaction) -> Outcome {
            Outcome::Committed
        }
    }

    impl Connector for Named<'_> {
        type Session = Opened;

        async fn open(&self) -> Result<Opened, Error> {
            self.1.lock().unwrap().push(self.0);
            Ok(Opened)
        }
    }

    #[tokio::test]
    async fn sessions_are_opened_in_each_database_in_turn() {
        let seen = Mutex::new(Vec::new());
        let spread = Spread::over([Named("one", &seen), Named("two", &seen)]);
        for _ in 0..5 {
            assert!(spread.open().await.is_ok());
        }
        assert_eq!(*seen.lock().unwrap(), ["one", "two", "one", "two", "one"]);
    }
}
