//! Sessions spread over several databases of one server, in turn.

use super::{Connector, Error};

/// Opens session n in database n modulo their number.
pub struct Spread<C> {
    databases: Vec<C>,
}

impl<C> Spread<C> {
    /// Over at least one.
    pub fn over(databases: impl IntoIterator<Item = C>) -> Self {
        Self { databases: databases.into_iter().collect() }
    }
}

impl<C: Connector + Sync> Connector for Spread<C> {
    type Session = C::Session;

    async fn open(&self) -> Result<C::Session, Error> {
        self.open_nth(0).await
    }

    async fn open_nth(&self, number: u32) -> Result<C::Session, Error> {
        self.databases[number as usize % self.databases.len()].open().await
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
    async fn a_session_is_opened_in_the_database_of_its_number() {
        let seen = Mutex::new(Vec::new());
        let spread = Spread::over([Named("one", &seen), Named("two", &seen)]);
        for number in [0, 1, 2, 5] {
            assert!(spread.open_nth(number).await.is_ok());
        }
        assert_eq!(*seen.lock().unwrap(), ["one", "two", "one", "two"]);
    }
}
