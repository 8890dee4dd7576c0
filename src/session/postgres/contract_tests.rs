//! The session contract over Debian's PostgreSQL 15; skipped if it is not installed.

use tokio::runtime::{Builder, LocalOptions};

use super::PostgresConnector;
use crate::inputs::Transaction;
use crate::session::postgres::contract_server::{PASSWORD, PostgresServer, is_there};
use crate::session::{Connector, ErrorClass, contract};

/// Carriers and thresholds at which the functions below fail.
const RETRY: i32 = 40;
const DIVISION: i32 = 22;
const TERMINATE: i32 = 57;
const FUNCTIONS: &str = "
CREATE SCHEMA kneebench;
CREATE FUNCTION kneebench.new_order(
    w int4, d int4, c int4, items int4[], suppliers int4[], quantities int4[])
    RETURNS int4 LANGUAGE plpgsql AS $$
BEGIN
    IF 100001 = ANY (items) THEN RAISE EXCEPTION 'no such item' USING ERRCODE = 'KB001'; END IF;
    RETURN 1;
END $$;
CREATE FUNCTION kneebench.payment(
    w int4, d int4, c_w int4, c_d int4, c int4, c_last text, amount_cents int4)
    RETURNS int4 LANGUAGE sql AS 'SELECT c';
CREATE FUNCTION kneebench.order_status(w int4, d int4, c int4, c_last text)
    RETURNS TABLE (line int4) LANGUAGE sql AS 'SELECT n FROM generate_series(1, 12) n';
CREATE FUNCTION kneebench.delivery(w int4, carrier int4) RETURNS int4 LANGUAGE plpgsql AS $$
BEGIN
    IF carrier = 40 THEN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF;
    IF carrier = 57 THEN
        PERFORM pg_terminate_backend(pg_backend_pid());
        PERFORM pg_sleep(5);
    END IF;
    RETURN 10 / (carrier - 22);
END $$;
CREATE FUNCTION kneebench.stock_level(w int4, d int4, threshold int4)
    RETURNS int4 LANGUAGE sql AS 'SELECT threshold';
";

fn delivery(carrier: i32) -> Transaction {
    Transaction::Delivery { warehouse: 1, carrier }
}

async fn every_clause(server: &PostgresServer) {
    let connector = PostgresConnector::new(server.address(PASSWORD));
    contract::the_five_transactions_commit(&connector).await;
    contract::a_missing_item_is_a_rollback_by_design(&connector).await;
    for (carrier, class) in [(RETRY, ErrorClass::Retry), (DIVISION, ErrorClass::Other)] {
        contract::has_code_and_message(
            &contract::fails_and_continues(&connector, &delivery(carrier), class).await,
        );
    }
    contract::stays_lost(&mut connector.open().await.unwrap(), &delivery(TERMINATE)).await;
    let wrong = PostgresConnector::new(server.address("not-this-one"));
    contract::opens_nothing(&wrong, ErrorClass::Refused).await;
    let sessions = contract::until_full(&connector, "53300").await;
    server.stop();
    contract::all_lost(&connector, sessions, &delivery(4)).await;
}

#[test]
fn a_postgres_session_keeps_every_clause_of_the_contract() {
    if !is_there() {
        return;
    }
    let server = PostgresServer::start(FUNCTIONS);
    let runtime =
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(every_clause(&server));
}
