//! The time limit of opening a session, the same for every protocol: greeting, TLS, log-in and the
//! session's settings together. A limit on each read would let a server drip bytes forever.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;

use super::Error;

/// Longer than the limit of a control session, which logs in before (databases/log_in.py): many
/// users log in at once, and a first login may compile the server's own procedures.
const OPEN_LIMIT: Duration = Duration::from_secs(60);

/// What is opened within the limit.
pub async fn within_limit<T>(opening: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = |_| Error::lost(format!("no complete log-in within {} s", OPEN_LIMIT.as_secs()));
    timeout(OPEN_LIMIT, opening).await.map_err(late)?
}
