//! PostgreSQL, by tokio-postgres: five prepared statements, one round trip each, autocommit.

use std::error::Error as _;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio_postgres::config::SslMode;
use tokio_postgres::error::Severity;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, Statement};

use crate::address::{Address, TlsMode};
use crate::inputs::{Kind, NewOrder, Payment, Transaction};
use crate::session::{Outcome, Session, tls};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Generic plans over the keys, whatever the statistics of the moment say: a plan flip once made a peer's run seven times
/// too slow without a sign.
pub const SETTINGS: [(&str, &str); 5] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
];

/// What the function `kneebench.new_order` raises for an item that does not exist.
const ROLLED_BACK_BY_DESIGN: &str = "KB001";

const INT: Type = Type::INT4;
const INTS: Type = Type::INT4_ARRAY;
const TEXT: Type = Type::TEXT;

/// The five functions, in the order of [`Kind::ALL`].
const CALLS: [(&str, &[Type]); 5] = [
    ("SELECT kneebench.new_order($1, $2, $3, $4, $5, $6)", &[INT, INT, INT, INTS, INTS, INTS]),
    ("SELECT kneebench.payment($1, $2, $3, $4, $5, $6, $7)", &[INT, INT, INT, INT, INT, TEXT, INT]),
    ("SELECT * FROM kneebench.order_status($1, $2, $3, $4)", &[INT, INT, INT, TEXT]),
    ("SELECT kneebench.delivery($1, $2)", &[INT, INT]),
    ("SELECT kneebench.stock_level($1, $2, $3)", &[INT, INT, INT]),
];

/// What moves bytes for a client; ends with it.
pub type Connection = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// One connection with its statements prepared. It drives its own bytes within `execute`: one task a user, not two.
pub struct Postgres {
    client: Client,
    line: Line,
    statements: [Statement; 5],
}

/// A client, and the connection that must be driven for it to get anywhere.
pub async fn connect(address: &Address) -> Result<(Client, Connection), String> {
    let tls = tls::connector(address)?;
    let (client, connection) = config(address).connect(tls).await.map_err(|wrong| format!("{address}: {}", words(&wrong)))?;
    Ok((client, Box::pin(connection)))
}

/// A connection that is driven only while something is asked of it. Once it has ended it is dropped, which tells whoever
/// waits for an answer that there will be none.
struct Line(Option<Connection>);

impl Line {
    /// Work on the connection until the answer is there.
    async fn drive<T>(&mut self, asked: impl Future<Output = T>) -> T {
        let mut asked = pin!(asked);
        poll_fn(|context| {
            if let Poll::Ready(answer) = asked.as_mut().poll(context) {
                return Poll::Ready(answer);
            }
            if self.0.as_mut().is_some_and(|connection| connection.as_mut().poll(context).is_ready()) {
                self.0 = None;
            }
            asked.as_mut().poll(context)
        })
        .await
    }
}

fn config(address: &Address) -> Config {
    let mut config = Config::new();
    config.host(&address.host).port(address.port).user(&address.user).dbname(&address.database);
    config.application_name("kneebench").connect_timeout(CONNECT_TIMEOUT).ssl_mode(match address.sslmode {
        _ if address.host.starts_with('/') => SslMode::Disable,
        TlsMode::Disable => SslMode::Disable,
        TlsMode::Prefer => SslMode::Prefer,
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
    });
    if let Some(password) = &address.password {
        config.password(&password.0);
    }
    config
}

impl Postgres {
    /// Connect, set the session up and prepare the five calls.
    pub async fn open(address: &Address) -> Result<Self, String> {
        let (client, connection) = connect(address).await?;
        let mut line = Line(Some(connection));
        let statements = line.drive(prepare(&client)).await.map_err(|wrong| format!("{address}: {wrong}"))?;
        Ok(Self { client, line, statements })
    }

    /// Rows are drained, not decoded.
    async fn call(&mut self, kind: Kind, parameters: &[&(dyn ToSql + Sync)]) -> Outcome {
        let answer = self.client.execute(&self.statements[kind as usize], parameters);
        match self.line.drive(answer).await {
            Ok(_) => Outcome::Committed,
            Err(wrong) => outcome(&wrong),
        }
    }
}

async fn prepare(client: &Client) -> Result<[Statement; 5], String> {
    let settings: String = SETTINGS.iter().map(|(name, value)| format!("SET {name} = {value};")).collect();
    client.batch_execute(&settings).await.map_err(|wrong| format!("the session's settings: {}", words(&wrong)))?;
    let one = async |(sql, types)| client.prepare_typed(sql, types).await.map_err(|wrong| format!("preparing {sql:?}: {}", words(&wrong)));
    let [a, b, c, d, e] = CALLS;
    Ok([one(a).await?, one(b).await?, one(c).await?, one(d).await?, one(e).await?])
}

impl Session for Postgres {
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        let kind = transaction.kind();
        match transaction {
            Transaction::NewOrder(order) => {
                let NewOrder { warehouse, district, customer, .. } = order;
                let (items, suppliers, quantities) = (order.items(), order.suppliers(), order.quantities());
                self.call(kind, &[warehouse, district, customer, &items, &suppliers, &quantities]).await
            }
            Transaction::Payment(Payment { warehouse, district, customer_warehouse, customer_district, customer, amount_cents }) => {
                let (id, name) = customer.id_and_name();
                self.call(kind, &[warehouse, district, customer_warehouse, customer_district, &id, &name, amount_cents]).await
            }
            Transaction::OrderStatus { warehouse, district, customer } => {
                let (id, name) = customer.id_and_name();
                self.call(kind, &[warehouse, district, &id, &name]).await
            }
            Transaction::Delivery { warehouse, carrier } => self.call(kind, &[warehouse, carrier]).await,
            Transaction::StockLevel { warehouse, district, threshold } => self.call(kind, &[warehouse, district, threshold]).await,
        }
    }
}

/// A FATAL or PANIC ends the connection, perhaps after the commit: nobody can know.
fn outcome(wrong: &Error) -> Outcome {
    let Some(answer) = wrong.as_db_error() else {
        let lost = wrong.is_closed() || wrong.source().is_some_and(|cause| cause.is::<std::io::Error>());
        return if lost {
            Outcome::Lost { message: words(wrong) }
        } else {
            Outcome::Failed { code: "client".into(), message: words(wrong) }
        };
    };
    if matches!(answer.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) {
        return Outcome::Lost { message: words(wrong) };
    }
    match answer.code().code() {
        ROLLED_BACK_BY_DESIGN => Outcome::RolledBack,
        code @ ("40001" | "40P01") => Outcome::Retry { code: code.into() },
        code => Outcome::Failed { code: code.into(), message: words(wrong) },
    }
}

/// What the server said, or what went wrong below it.
pub fn words(wrong: &Error) -> String {
    if let Some(answer) = wrong.as_db_error() {
        let more = [answer.detail(), answer.hint()].into_iter().flatten().map(|line| format!("; {line}")).collect::<String>();
        return format!("{}: {}{more} (SQLSTATE {})", answer.severity(), answer.message(), answer.code().code());
    }
    let causes = std::iter::successors(wrong.source(), |&cause| cause.source());
    causes.fold(wrong.to_string(), |said, cause| {
        let cause = cause.to_string();
        if said.contains(&cause) { said } else { format!("{said}: {cause}") }
    })
}
