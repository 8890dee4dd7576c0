//! The session contract over a peer that replays what a real TDS server answered, encrypted or not;
//! and over the real server that KNEEBENCH_TDS_URL names (tds://user:password@host:port/database,
//! with ?tls=MODE&root=FILE), whose answers are recorded into the file KNEEBENCH_TDS_RECORD.

mod peer;
mod real;
mod recording;

use std::time::Duration;

use tokio::runtime::{Builder, LocalOptions};

use self::peer::{Encrypted, Peer};
use self::real::Real;
use super::TdsConnector;
use super::connect::{ConnectionSettings, Purpose};
use crate::address::{Secret, ServerAddress, TlsMode};
use crate::dataset::Dataset;
use crate::inputs::{Profile, Transaction};
use crate::loading::{Load, LoadProgress, LoadingSpec, TableLoad};
use crate::session::certificate::Certificate;
use crate::session::{Connector, Error, ErrorClass, Outcome, Session, contract};

const DATABASE: &str = "kneebench_contract";
const WRONG_PASSWORD: &str = "not-this-one";
const NOWHERE: &str = "kneebench_nowhere";
/// Carriers at which the stand-ins of contract_tests/stand_ins.sql fail.
const DIVISION: i32 = 22;
const DEADLOCK: i32 = 40;
const KILLED: i32 = 57;
/// Ends the session that waits to be killed, after some time.
const KILL: &str = "DECLARE @n int, @k nvarchar(40) \
    SELECT @n = COUNT(*) FROM dbo.digits a, dbo.digits b, dbo.digits c, dbo.digits d, \
    dbo.digits e, dbo.digits f, dbo.digits g \
    SELECT @k = 'KILL ' + CAST(spid AS nvarchar(10)) FROM dbo.victim EXEC(@k)";

/// The types are those of the table, but for decimals: Babelfish reads each as one of 38 digits.
const MAKE: &str = "CREATE TABLE dbo.warehouse (w_id int NOT NULL, w_name varchar(10) NOT NULL, \
    w_street_1 varchar(20) NOT NULL, w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL, \
    w_state char(2) NOT NULL, w_zip char(9) NOT NULL, w_tax decimal(4, 4) NOT NULL, \
    w_ytd decimal(16, 2) NOT NULL)";
const FILL: &str = "INSERT BULK dbo.warehouse (w_id int, w_name varchar(10), \
    w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20), w_state char(2), \
    w_zip char(9), w_tax decimal(38, 4), w_ytd decimal(38, 2)) WITH (TABLOCK)";
const LOADED: &str = "IF (SELECT COUNT(*) FROM dbo.warehouse WHERE w_id IN (1, 2) \
    AND w_ytd = 300000.00 AND w_tax BETWEEN 0.1 AND 0.2 AND w_zip LIKE '____11111' \
    AND LEN(w_name) BETWEEN 6 AND 10 AND LEN(w_state) = 2) <> 2 \
    RAISERROR('other rows were loaded', 16, 1)";

fn delivery(warehouse: i32, carrier: i32) -> Transaction {
    Transaction::Delivery { warehouse, carrier }
}

/// A peer's address; a real server's has another user.
fn address(port: u16) -> ServerAddress {
    ServerAddress {
        host: "localhost".into(),
        port,
        user: "kneebench".into(),
        password: Some(Secret("secret-word".into())),
        database: DATABASE.into(),
        tls: TlsMode::Disable,
        root_certificate: String::new(),
    }
}

fn run(test: impl Future<Output = ()>) {
    let runtime =
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(test);
}

async fn every_clause(address: &ServerAddress) {
    let connector = TdsConnector::new(address.clone());
    contract::the_five_transactions_commit(&connector).await;
    contract::a_missing_item_is_a_rollback_by_design(&connector).await;
    contract::has_code_and_message(
        &contract::fails_and_continues(&connector, &delivery(1, DIVISION), ErrorClass::Other).await,
    );
    one_of_a_deadlock_is_to_be_retried(&connector).await;
    a_killed_session_stays_lost(address, &connector).await;
    rows_are_loaded_once(address).await;
    let refused = |change: fn(&mut ServerAddress)| {
        let mut changed = address.clone();
        change(&mut changed);
        TdsConnector::new(changed)
    };
    let wrong = refused(|address| address.password = Some(Secret(WRONG_PASSWORD.into())));
    contract::opens_nothing(&wrong, ErrorClass::Refused).await;
    let missing = refused(|address| address.database = NOWHERE.into());
    contract::opens_nothing(&missing, ErrorClass::Refused).await;
    let empty = refused(|address| address.database = "master".into());
    contract::opens_nothing(&empty, ErrorClass::Other).await;
}

async fn one_of_a_deadlock_is_to_be_retried(connector: &TdsConnector) {
    let (mut one, mut other) = (connector.open().await.unwrap(), connector.open().await.unwrap());
    let (first, second) = (delivery(1, DEADLOCK), delivery(2, DEADLOCK));
    let (first, second) = tokio::join!(one.execute(&first), other.execute(&second));
    let (victim, survivor, session) = match first {
        Outcome::Committed => (second, first, &mut other),
        Outcome::Failed(_) => (first, second, &mut one),
    };
    assert_eq!((victim.class(), survivor), (Some(ErrorClass::Retry), Outcome::Committed));
    assert!(matches!(victim, Outcome::Failed(error) if error.code == "1205"));
    assert_eq!(session.execute(&delivery(1, 4)).await, Outcome::Committed);
}

async fn a_killed_session_stays_lost(address: &ServerAddress, connector: &TdsConnector) {
    let mut victim = connector.open().await.unwrap();
    let kill = async {
        let settings = ConnectionSettings::new(address.clone());
        settings.open(Purpose::Session).await.unwrap().run(KILL).await.unwrap();
    };
    let losing = delivery(1, KILLED);
    tokio::join!(contract::stays_lost(&mut victim, &losing), kill);
}

/// A load is there as it was made; a second one fails with the server's reason.
async fn rows_are_loaded_once(address: &ServerAddress) {
    let two_warehouses = Dataset::TprocC { warehouses: 2, profile: Profile::Hammerdb, seed: 1 };
    let load = |before: &[&str]| {
        let load = Load::new(
            LoadingSpec {
                streams: 1,
                tables: vec![TableLoad {
                    table: two_warehouses.table("warehouse").unwrap(),
                    before: before.iter().map(|&statement| statement.into()).collect(),
                    fill: FILL.into(),
                }],
            },
            TdsConnector::new(address.clone()),
        );
        load.start().unwrap();
        while !load.wait(Duration::from_secs(1))? {}
        Ok::<_, Error>(load.progress()[0])
    };
    assert_eq!(load(&[MAKE]), Ok(("rows", 2)));
    let settings = ConnectionSettings::new(address.clone());
    settings.open(Purpose::Session).await.unwrap().run(LOADED).await.unwrap();
    let refused = load(&["CREATE TABLE dbo.warehouse (w_id int NOT NULL)"]).unwrap_err();
    assert!(refused.message.starts_with("creating warehouse: "), "{refused}");
    assert!(!refused.code.is_empty(), "{refused:?}");
}

#[test]
fn a_tds_session_keeps_every_clause_of_the_contract() {
    let peer = Peer::start(Encrypted::Never);
    run(every_clause(&address(peer.port())));
}

#[test]
fn an_encrypted_tds_session_keeps_every_clause_of_the_contract() {
    let (own, other) = (Certificate::new("own"), Certificate::new("other"));
    let peer = Peer::start(Encrypted::Always(own.server_config()));
    let connector = |tls: TlsMode, root: &str| {
        let root_certificate = root.into();
        TdsConnector::new(ServerAddress { tls, root_certificate, ..address(peer.port()) })
    };
    run(async {
        for tls in [TlsMode::VerifyFull, TlsMode::VerifyCa, TlsMode::Require, TlsMode::Prefer] {
            contract::the_five_transactions_commit(&connector(tls, own.file())).await;
        }
        let trusting = connector(TlsMode::Require, "");
        contract::the_five_transactions_commit(&trusting).await;
        for tls in [TlsMode::VerifyFull, TlsMode::VerifyCa] {
            contract::opens_nothing(&connector(tls, other.file()), ErrorClass::Lost).await;
        }
        contract::opens_nothing(&connector(TlsMode::Disable, ""), ErrorClass::Other).await;
        let of_no_name = |tls: TlsMode| {
            let (host, root_certificate) = ("127.0.0.1".into(), own.file().into());
            TdsConnector::new(ServerAddress { host, tls, root_certificate, ..address(peer.port()) })
        };
        contract::the_five_transactions_commit(&of_no_name(TlsMode::VerifyCa)).await;
        contract::opens_nothing(&of_no_name(TlsMode::VerifyFull), ErrorClass::Lost).await;
        let verified = ServerAddress {
            tls: TlsMode::VerifyFull,
            root_certificate: own.file().into(),
            ..address(peer.port())
        };
        every_clause(&verified).await;
    });
}

/// Many times what TLS, the socket and its buffer take at once.
#[test]
fn each_packet_of_a_long_request_is_a_record_of_its_own() {
    let own = Certificate::new("records");
    let peer = Peer::start(Encrypted::Always(own.server_config()));
    let long = format!("{LOADED}\n{}", " ".repeat(2_000_000));
    run(async {
        let address = ServerAddress { tls: TlsMode::Require, ..address(peer.port()) };
        let settings = ConnectionSettings::new(address);
        for purpose in [Purpose::Session, Purpose::Loading] {
            let mut connection = settings.open(purpose).await.unwrap();
            connection.run(&long).await.unwrap();
            connection.run(LOADED).await.unwrap();
        }
    });
}

#[test]
fn a_server_without_encryption_is_refused_unless_it_was_only_preferred() {
    let peer = Peer::start(Encrypted::Never);
    run(async {
        for tls in [TlsMode::Require, TlsMode::VerifyFull] {
            let connector = TdsConnector::new(ServerAddress { tls, ..address(peer.port()) });
            contract::opens_nothing(&connector, ErrorClass::Other).await;
        }
        let preferred = ServerAddress { tls: TlsMode::Prefer, ..address(peer.port()) };
        contract::the_five_transactions_commit(&TdsConnector::new(preferred)).await;
    });
}

#[test]
fn without_a_server_nothing_is_opened_and_open_sessions_are_lost() {
    let peer = Peer::start(Encrypted::Never);
    let connector = TdsConnector::new(address(peer.port()));
    run(async {
        let mut session = connector.open().await.unwrap();
        drop(peer);
        contract::stays_lost(&mut session, &delivery(1, 4)).await;
        contract::opens_nothing(&connector, ErrorClass::Lost).await;
    });
}

#[test]
fn a_session_on_a_real_server_keeps_every_clause_of_the_contract() {
    let Some(real) = Real::from_environment() else {
        eprintln!("skipped: KNEEBENCH_TDS_URL names no TDS server");
        return;
    };
    run(async {
        real.install().await;
        every_clause(&real.address()).await;
        real.remove().await;
    });
    if let Some(file) = real.recording() {
        run(async {
            real.install().await;
            let tap = recording::Tap::start(&real.address());
            every_clause(&tap.address()).await;
            tap.write(&file);
            real.remove().await;
        });
    }
}
