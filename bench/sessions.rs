//! One load generator with one of three sessions; `python -m bench clients` starts it. Not shipped.
//!
//! `sessions SESSION VALUES SECONDS` prints `[seconds, transactions, new orders, rolled back]` each
//! second, sums since the start, then `end`. SESSION is one of
//! - `own`: the session of src/session/postgres;
//! - `library`: tokio-postgres as it comes;
//! - `library-own-socket`: tokio-postgres over our socket, which is registered for reading only and
//!   reports when a response arrived.

use std::cell::Cell;
use std::io;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::{Client, Config, NoTls, Statement};

use _core::address::{ServerAddress, TlsMode};
use _core::generator_spec::GeneratorSpec;
use _core::inputs::{Home, Kind, Profile, Transaction};
use _core::load_generator::{LoadGenerator, ThreadedLoadGenerator};
use _core::response_arrival;
use _core::session::postgres::PostgresConnector;
use _core::session::postgres::errors::driver_error;
use _core::session::postgres::request;
use _core::session::socket::ReadInterestSocket;
use _core::session::{Connector, Delay, Error, Outcome, Session};

type Failure = Box<dyn std::error::Error>;

/// What differs between the turns of the benchmark; the rest is ignored.
#[derive(Deserialize)]
struct Values {
    users: u32,
    warehouses: u32,
    retries: u32,
    seed: u64,
    stream: u64,
    address: Server,
}

/// A server that takes this user without a password. The host is the directory of its Unix socket.
#[derive(Clone, Deserialize)]
struct Server {
    host: String,
    port: u16,
    user: String,
    database: String,
}

impl Server {
    fn address(self) -> ServerAddress {
        let Self { host, port, user, database } = self;
        ServerAddress {
            host,
            port,
            user,
            password: None,
            database,
            tls: TlsMode::Disable,
            root_certificate: String::new(),
        }
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config.host(&self.host).port(self.port).user(&self.user).dbname(&self.database);
        config
    }

    fn socket(&self) -> io::Result<OwnSocket> {
        let stream = UnixStream::connect(format!("{}/.s.PGSQL.{}", self.host, self.port))?;
        stream.set_nonblocking(true)?;
        Ok(OwnSocket { socket: ReadInterestSocket::new(stream.into())?, delay: Rc::default() })
    }
}

impl Values {
    fn spec(&self) -> GeneratorSpec {
        GeneratorSpec {
            users: self.users,
            first_user: 0,
            all_users: 0,
            warehouses: self.warehouses,
            databases: 1,
            profile: Profile::Hammerdb,
            home: Home::All,
            think_times: false,
            retries: self.retries,
            seed: self.seed,
            stream: self.stream,
            rate_per_s: None,
            drain_s: 10.0,
            connections: 0,
            workers: 1,
            cores: Vec::new(),
            ledger: false,
        }
    }
}

/// Our own socket as a stream for tokio-postgres.
struct OwnSocket {
    socket: ReadInterestSocket,
    /// Of the last read. One request at a time: it belongs to the last response.
    delay: Rc<Cell<Option<Delay>>>,
}

impl AsyncRead for OwnSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { socket, delay } = self.get_mut();
        let read = ready!(socket.poll_read(context, buffer.initialize_unfilled()))?;
        buffer.advance(read);
        delay.set(socket.delay());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for OwnSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().socket.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Opens sessions of tokio-postgres.
struct Library {
    server: Server,
    own_socket: bool,
}

/// A client of tokio-postgres with its five statements.
struct LibrarySession {
    client: Client,
    statements: Vec<Statement>,
    /// The delay that our own socket reports.
    delay: Option<Rc<Cell<Option<Delay>>>>,
}

impl Connector for Library {
    type Session = LibrarySession;

    async fn open(&self) -> Result<LibrarySession, Error> {
        let (client, delay) = if self.own_socket {
            self.over_own_socket().await?
        } else {
            self.as_it_comes().await?
        };
        let mut statements = Vec::new();
        for kind in Kind::ALL {
            statements.push(
                client.prepare(request::sql(kind)).await.map_err(|error| driver_error(&error))?,
            );
        }
        Ok(LibrarySession { client, statements, delay })
    }
}

type Opened = (Client, Option<Rc<Cell<Option<Delay>>>>);

impl Library {
    async fn as_it_comes(&self) -> Result<Opened, Error> {
        let (client, connection) =
            self.server.config().connect(NoTls).await.map_err(|error| driver_error(&error))?;
        tokio::task::spawn_local(connection);
        response_arrival::watch();
        Ok((client, None))
    }

    async fn over_own_socket(&self) -> Result<Opened, Error> {
        let socket = self.server.socket().map_err(|error| Error::other(error.to_string()))?;
        let delay = Rc::clone(&socket.delay);
        let config = self.server.config();
        let (client, connection) =
            config.connect_raw(socket, NoTls).await.map_err(|error| driver_error(&error))?;
        tokio::task::spawn_local(connection);
        Ok((client, Some(delay)))
    }
}

impl LibrarySession {
    async fn call(&self, transaction: &Transaction) -> Result<u64, tokio_postgres::Error> {
        let statement = &self.statements[transaction.kind() as usize];
        match transaction {
            Transaction::NewOrder(o) => {
                let lines = [o.items(), o.suppliers(), o.quantities()];
                self.client
                    .execute(
                        statement,
                        &[&o.warehouse, &o.district, &o.customer, &lines[0], &lines[1], &lines[2]],
                    )
                    .await
            }
            Transaction::Payment(p) => {
                let (id, name) = p.customer.id_and_name();
                let (at, home) =
                    ((&p.warehouse, &p.district), (&p.customer_warehouse, &p.customer_district));
                self.client
                    .execute(statement, &[at.0, at.1, home.0, home.1, &id, &name, &p.amount_cents])
                    .await
            }
            Transaction::OrderStatus { warehouse, district, customer } => {
                let (id, name) = customer.id_and_name();
                self.client.execute(statement, &[warehouse, district, &id, &name]).await
            }
            Transaction::Delivery { warehouse, carrier } => {
                self.client.execute(statement, &[warehouse, carrier]).await
            }
            Transaction::StockLevel { warehouse, district, threshold } => {
                self.client.execute(statement, &[warehouse, district, threshold]).await
            }
        }
    }
}

impl Session for LibrarySession {
    async fn execute(&mut self, transaction: &Transaction) -> Outcome {
        match self.call(transaction).await {
            Ok(_) => Outcome::Committed,
            Err(error) => Outcome::Failed(driver_error(&error)),
        }
    }

    fn delay(&self) -> Option<Delay> {
        match &self.delay {
            Some(delay) => delay.get(),
            None => response_arrival::delay_ns().map(|ns| Delay { ns, stamped: false }),
        }
    }
}

fn generator(session: &str, values: Values) -> Result<Box<dyn LoadGenerator>, Failure> {
    let (spec, server) = (values.spec(), values.address);
    let library = |server, own_socket| {
        Box::new(ThreadedLoadGenerator::new(spec.clone(), Library { server, own_socket }))
    };
    Ok(match session {
        "own" => {
            Box::new(ThreadedLoadGenerator::new(spec, PostgresConnector::new(server.address())))
        }
        "library" => library(server, false),
        "library-own-socket" => library(server, true),
        _ => {
            return Err(format!(
                "unknown session {session:?}; known: own, library, library-own-socket"
            )
            .into());
        }
    })
}

/// Print the sums of each second. Returns the number of transactions that failed.
fn run(generator: &dyn LoadGenerator, seconds: f64) -> Result<u64, Failure> {
    let keep_waiting = || true;
    generator.ready(&keep_waiting)?;
    generator.go()?;
    let (mut now_s, mut committed, mut rolled_back, mut new_orders) = (0.0, 0, 0, 0);
    while now_s < seconds - 0.5 {
        let tick = generator.tick(&keep_waiting)?;
        now_s = tick.now_s;
        for second in &tick.seconds {
            (committed, rolled_back) =
                (committed + second.committed, rolled_back + second.rolled_back);
            new_orders +=
                if second.transaction == Kind::NewOrder.name() { second.committed } else { 0 };
        }
        println!("[{now_s}, {}, {new_orders}, {rolled_back}]", committed + rolled_back);
    }
    println!("end");
    let tally = generator.stop(&keep_waiting)?;
    Ok(tally.transactions.values().map(|one| one.whole.failed).sum())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, session, values, seconds] = &arguments[..] else {
        return Err("usage: sessions SESSION VALUES SECONDS".into());
    };
    match run(&*generator(session, serde_json::from_str(values)?)?, seconds.parse()?)? {
        0 => Ok(()),
        failed => Err(format!("{failed} transactions failed").into()),
    }
}
