//! The session contract over two drivers: psqlodbc with Debian's PostgreSQL, MariaDB's connector
//! with Debian's MariaDB; skipped where one is not installed.

use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

use kneebench::address::ServerAddress;
use kneebench::inputs::{Kind, Transaction};
use kneebench::row_sink::{Loader, RowSink, RowWriter};
use kneebench::session::mysql::contract_server::{
    self as mariadb, DIVISION, KILL, MariadbServer, RETRY,
};
use kneebench::session::postgres::contract_server::{self as postgres, PostgresServer};
use kneebench::session::{Connector, ErrorClass, contract};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use crate::call::standard;
use crate::{Classes, OdbcConnector, Target};

const FUNCTIONS: &str = "
CREATE FUNCTION kneebench_new_order(w int, d int, c int, n int, remote int, order_lines text)
    RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    IF order_lines LIKE '%100001%' THEN
        RAISE EXCEPTION 'no such item' USING ERRCODE = 'KB001';
    END IF;
    IF length(order_lines) <> 14 * n THEN RAISE EXCEPTION 'other lines'; END IF;
    RETURN n;
END $$;
CREATE FUNCTION kneebench_payment(w int, d int, c_w int, c_d int, c int, name text, cents int)
    RETURNS int LANGUAGE sql AS 'SELECT c';
CREATE FUNCTION kneebench_order_status(w int, d int, c int, name text)
    RETURNS TABLE (line int) LANGUAGE sql AS 'SELECT n FROM generate_series(1, 12) n';
CREATE FUNCTION kneebench_delivery(w int, carrier int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    IF carrier = 40 THEN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF;
    IF carrier = 57 THEN
        PERFORM pg_terminate_backend(pg_backend_pid());
        PERFORM pg_sleep(5);
    END IF;
    RETURN 10 / (carrier - 22);
END $$;
CREATE FUNCTION kneebench_stock_level(w int, d int, threshold int)
    RETURNS int LANGUAGE sql AS 'SELECT threshold';
";

fn delivery(carrier: i32) -> Transaction {
    Transaction::Delivery { warehouse: 1, carrier }
}

/// Where Debian has a driver.
fn driver(name: &str) -> PathBuf {
    Path::new("/usr/lib").join(format!("{ARCH}-linux-gnu/odbc")).join(name)
}

fn runtime() -> LocalRuntime {
    Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap()
}

/// Whether a driver is installed; says so if not.
fn has(name: &str) -> bool {
    let there = driver(name).exists();
    if !there {
        eprintln!("skipped: needs Debian's {name}");
    }
    there
}

fn connector(name: &str, address: &ServerAddress, classes: &[(&str, ErrorClass)]) -> OdbcConnector {
    let password = &address.password.as_ref().unwrap().0;
    let driver = driver(name);
    let ServerAddress { host, port, user, database, .. } = address;
    let socket = if driver.ends_with("libmaodbc.so") {
        format!("Socket={host}/mysqld.sock")
    } else {
        format!("Servername={host};Port={port}")
    };
    let target = Target {
        connection_string: format!(
            "Driver={};{socket};Database={database};UID={user};PWD={password}",
            driver.display()
        ),
        place: database.clone(),
        settings: vec!["SELECT 1".into()],
        calls: Kind::ALL.map(standard),
        classes: Classes(classes.iter().map(|&(known, class)| (known.into(), class)).collect()),
    };
    OdbcConnector::new(target)
}

/// The clauses that leave the server running.
async fn clauses(connector: &OdbcConnector) {
    contract::the_five_transactions_commit(connector).await;
    contract::a_missing_item_is_a_rollback_by_design(connector).await;
    for (carrier, class) in [(RETRY, ErrorClass::Retry), (DIVISION, ErrorClass::Other)] {
        contract::has_code_and_message(
            &contract::fails_and_continues(connector, &delivery(carrier), class).await,
        );
    }
    contract::stays_lost(&mut Connector::open(connector).await.unwrap(), &delivery(KILL)).await;
    a_load(connector).await;
}

/// Rows come as they were written; rows that the server refuses are an error, and leave nothing.
async fn a_load(connector: &OdbcConnector) {
    const MAKE: &str = "CREATE TABLE loaded (l_id int PRIMARY KEY, l_name varchar(24), \
        l_price decimal(5,2), l_at timestamp NULL)";
    const RIGHT: &str = "CREATE TABLE checked AS SELECT count(*) AS n FROM loaded \
        WHERE l_price = -0.05 AND ((l_id = 1 AND l_name IS NULL AND l_at IS NULL) \
        OR (l_id IN (2, 3) AND l_name = 'a name' AND l_at = '2026-01-01 00:00:00'))";
    let mut ends = Vec::new();
    for before in [MAKE, "SELECT 1"] {
        let mut sink = Loader::open(connector).await.unwrap();
        sink.begin().await.unwrap();
        sink.execute(before).await.unwrap();
        let mut page = sink.fill("INSERT INTO loaded VALUES (?, ?, ?, ?)").await.unwrap();
        for row in 1..=3 {
            page.begin_row(4);
            page.integer(row);
            if row == 1 {
                page.null()
            } else {
                page.text(b"a name")
            }
            page.hundredths(-5);
            if row == 1 { page.null() } else { page.time(1_767_225_600) }
        }
        let end = match sink.finish(page).await {
            Ok(()) => sink.commit().await,
            failed => failed,
        };
        ends.push(end.map_err(|error| error.message));
        sink.close().await.unwrap();
    }
    assert!(ends[0].is_ok() && ends[1].is_err(), "{ends:?}");
    let mut sink = Loader::open(connector).await.unwrap();
    for statement in [RIGHT, "CREATE UNIQUE INDEX one_count ON checked (n)"] {
        sink.execute(statement).await.unwrap();
    }
    // three rows are right: another 3 repeats the only count
    assert!(sink.execute("INSERT INTO checked VALUES (3)").await.is_err());
    sink.close().await.unwrap();
}

#[test]
fn a_session_over_psqlodbc_keeps_every_clause_of_the_contract() {
    if !postgres::is_there() || !has("psqlodbcw.so") {
        return;
    }
    let server = PostgresServer::start(FUNCTIONS);
    let classes = [
        ("KB001", ErrorClass::RolledBack),
        ("too many clients", ErrorClass::Full),
        ("server closed the connection", ErrorClass::Lost),
        ("password authentication failed", ErrorClass::Refused),
    ];
    let at = |password| connector("psqlodbcw.so", &server.address(password), &classes);
    runtime().block_on(async {
        let connector = at(postgres::PASSWORD);
        clauses(&connector).await;
        contract::opens_nothing(&at("not-this-one"), ErrorClass::Refused).await;
        let sessions = contract::until_full(&connector, "08001").await;
        server.stop();
        contract::all_lost(&connector, sessions, &delivery(4)).await;
    });
}

#[test]
fn a_session_over_mariadbs_driver_keeps_every_clause_of_the_contract() {
    if !mariadb::is_there() || !has("libmaodbc.so") {
        return;
    }
    let mut server = MariadbServer::start();
    let classes = [
        ("KB001", ErrorClass::RolledBack),
        ("1040", ErrorClass::Full),
        ("2002", ErrorClass::Lost),
        ("1045", ErrorClass::Refused),
    ];
    let address = server.local();
    runtime().block_on(async {
        let connector = connector("libmaodbc.so", &address, &classes);
        clauses(&connector).await;
        let sessions = contract::until_full(&connector, "08004").await;
        server.stop();
        contract::all_lost(&connector, sessions, &delivery(4)).await;
    });
}
