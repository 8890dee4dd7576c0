//! The session contract over Debian's MariaDB, by its Unix socket and by TLS; skipped if it is not
//! installed.

use tokio::runtime::{Builder, LocalOptions};

use super::MysqlConnector;
use crate::address::{Secret, ServerAddress, TlsMode};
use crate::inputs::Transaction;
use crate::row_sink::{Loader, RowSink, RowWriter};
use crate::session::mysql::contract_server::{DIVISION, KILL, MariadbServer, RETRY, is_there};
use crate::session::{Connector, ErrorClass, contract};

fn delivery(carrier: i32) -> Transaction {
    Transaction::Delivery { warehouse: 1, carrier }
}

/// The clauses that leave the server running.
async fn clauses(address: ServerAddress) {
    let connector = MysqlConnector::new(address.clone());
    contract::the_five_transactions_commit(&connector).await;
    contract::a_missing_item_is_a_rollback_by_design(&connector).await;
    for (carrier, class) in [(RETRY, ErrorClass::Retry), (DIVISION, ErrorClass::Other)] {
        contract::has_code_and_message(
            &contract::fails_and_continues(&connector, &delivery(carrier), class).await,
        );
    }
    contract::stays_lost(&mut Connector::open(&connector).await.unwrap(), &delivery(KILL)).await;
    let wrong = Some(Secret("not-this-one".into()));
    let connector = MysqlConnector::new(ServerAddress { password: wrong, ..address.clone() });
    contract::opens_nothing(&connector, ErrorClass::Refused).await;
    let connector = MysqlConnector::new(ServerAddress { database: "other".into(), ..address });
    contract::opens_nothing(&connector, ErrorClass::Refused).await;
}

/// How a connection is encrypted, and which are not opened.
async fn ways_to_connect(server: &MariadbServer) {
    for tls in [TlsMode::Prefer, TlsMode::Require, TlsMode::VerifyCa, TlsMode::VerifyFull] {
        Connector::open(&MysqlConnector::new(server.encrypted(tls))).await.map(drop).unwrap();
    }
    server.sql("ALTER USER kneebench REQUIRE SSL");
    let plain = MysqlConnector::new(server.encrypted(TlsMode::Disable));
    contract::opens_nothing(&plain, ErrorClass::Refused).await;
    server.sql("ALTER USER kneebench REQUIRE NONE");
    contract::the_five_transactions_commit(&plain).await;
    let another =
        ServerAddress { host: "127.0.0.1".into(), ..server.encrypted(TlsMode::VerifyFull) };
    contract::opens_nothing(&MysqlConnector::new(another), ErrorClass::Lost).await;
}

/// Rows come as they were written; rows that the server skips are an error.
async fn a_load(connector: &MysqlConnector) {
    const FILL: &str = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE item";
    const CHECK: &str = "CREATE TABLE checked AS \
        SELECT 1 / (count(*) = 3 AND sum(i_price) = -0.15 AND max(i_name) IS NULL) AS is_right \
         FROM item";
    let mut sink = Loader::open(connector).await.unwrap();
    let mut ends = Vec::new();
    for price in [-5, 0] {
        sink.begin().await.unwrap();
        let mut page = sink.fill(FILL).await.unwrap();
        for item in 1..=3 {
            page.begin_row(3);
            page.integer(item);
            page.null();
            page.hundredths(price);
            page = sink.send(page).await.unwrap();
        }
        ends.push(sink.finish(page).await.map_err(|error| error.message));
        sink.commit().await.unwrap();
    }
    let skipped = ends[1].clone().unwrap_err();
    assert!(ends[0].is_ok() && skipped.contains("Skipped: 3"), "{ends:?}");
    // a division by zero is an error of this statement
    sink.execute(CHECK).await.unwrap();
    sink.close().await.unwrap();
}

async fn until_the_server_is_full_and_ends(server: &mut MariadbServer) {
    let connector = MysqlConnector::new(server.local());
    let sessions = contract::until_full(&connector, "1040").await;
    server.stop();
    contract::all_lost(&connector, sessions, &delivery(4)).await;
}

#[test]
fn a_mysql_session_keeps_every_clause_of_the_contract() {
    if !is_there() {
        return;
    }
    let mut server = MariadbServer::start();
    let runtime =
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(async {
        clauses(server.local()).await;
        clauses(server.encrypted(TlsMode::VerifyFull)).await;
        ways_to_connect(&server).await;
        a_load(&MysqlConnector::new(server.local())).await;
        until_the_server_is_full_and_ends(&mut server).await;
    });
}
