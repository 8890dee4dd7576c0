//! The session contract over Debian's MariaDB, by its Unix socket and by TLS; skipped if it is not
//! installed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, LocalOptions};

use super::MysqlConnector;
use crate::address::{Secret, ServerAddress, TlsMode};
use crate::inputs::Transaction;
use crate::row_sink::{Loader, RowSink, RowWriter};
use crate::session::{Connector, ErrorClass, contract};

const SERVER: &str = "/usr/sbin/mariadbd";
const NOBODY: u32 = 65_534;
const PASSWORD: &str = "secret-word";
/// Carriers at which the procedure below fails.
const RETRY: i32 = 40;
const DIVISION: i32 = 22;
const KILL: i32 = 57;
const PROCEDURES: &str = r"
CREATE DATABASE kneebench;
CREATE USER kneebench IDENTIFIED BY 'secret-word';
GRANT ALL ON kneebench.* TO kneebench;
USE kneebench
CREATE TABLE item (i_id int PRIMARY KEY, i_name varchar(24), i_price decimal(5,2));
DELIMITER //
CREATE PROCEDURE kneebench_new_order(w int, d int, c int, n int, remote int, order_lines text)
BEGIN
    IF order_lines LIKE '%100001%' THEN
        SIGNAL SQLSTATE 'KB001' SET MYSQL_ERRNO = 45001, MESSAGE_TEXT = 'no such item';
    END IF;
    SELECT json_length(order_lines);
END//
CREATE PROCEDURE kneebench_payment(
    w int, d int, c_w int, c_d int, c int, last_name varchar(16), amount_cents int) SELECT c//
CREATE PROCEDURE kneebench_order_status(w int, d int, c int, last_name varchar(16))
BEGIN
    SELECT seq, repeat('x', 300) FROM seq_1_to_12;
    SELECT repeat('y', 70000) AS long_row;
END//
CREATE PROCEDURE kneebench_delivery(w int, carrier int)
BEGIN
    IF carrier = 40 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF;
    IF carrier = 22 THEN SELECT carrier; SIGNAL SQLSTATE '22012' SET MYSQL_ERRNO = 1365; END IF;
    IF carrier = 57 THEN KILL CONNECTION_ID(); DO SLEEP(5); END IF;
END//
CREATE PROCEDURE kneebench_stock_level(w int, d int, threshold int) SELECT threshold//
";

/// A MariaDB in its own directory, with procedures that fail on request.
struct Server {
    folder: PathBuf,
    port: u16,
    process: Child,
}

fn delivery(carrier: i32) -> Transaction {
    Transaction::Delivery { warehouse: 1, carrier }
}

/// Run a program in this folder to its end.
fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    let printed = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{program}: {}{}", printed(&done.stdout), printed(&done.stderr));
}

/// Whether a server that we start must be given to another user.
fn is_root() -> bool {
    // SAFETY: no arguments, no effects.
    unsafe { libc::geteuid() == 0 }
}

fn folder_with_data_and_certificate() -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("kneebench-contract-mysql-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let data = format!("--datadir={}", folder.join("data").display());
    let install = ["--no-defaults", &data, "--auth-root-authentication-method=normal"];
    let more = ["--skip-test-db", "--innodb-log-file-size=8M"];
    run(&folder, "mariadb-install-db", &[&install[..], &more].concat());
    let certificate = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
                       -addext subjectAltName=DNS:localhost -addext basicConstraints=CA:FALSE \
                       -keyout key.pem -out certificate.pem";
    run(&folder, "openssl", &certificate.split_whitespace().collect::<Vec<_>>());
    if is_root() {
        run(&folder, "chown", &["-R", &NOBODY.to_string(), "."]);
        chown(&folder, Some(NOBODY), None).unwrap();
    }
    folder
}

impl Server {
    fn start() -> Self {
        let folder = folder_with_data_and_certificate();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let path = |name: &str| folder.join(name).display().to_string();
        let process = Command::new(SERVER)
            .arg("--no-defaults")
            .args(is_root().then_some("--user=nobody"))
            .args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--max-connections=12"])
            .args(["--innodb-flush-log-at-trx-commit=0", "--innodb-log-file-size=8M"])
            .arg(format!("--port={port}"))
            .arg(format!("--datadir={}", path("data")))
            .arg(format!("--socket={}", path("mysqld.sock")))
            .arg(format!("--ssl-cert={}", path("certificate.pem")))
            .arg(format!("--ssl-key={}", path("key.pem")))
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        let server = Self { folder, port, process };
        server.wait_until_ready();
        fs::write(server.folder.join("procedures.sql"), PROCEDURES).unwrap();
        server.sql("source procedures.sql");
        server
    }

    fn wait_until_ready(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.folder.join("mysqld.sock").exists() {
            let log = || fs::read_to_string(self.folder.join("log")).unwrap();
            assert!(Instant::now() < until, "the server does not start: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// As root, who needs no password.
    fn sql(&self, statement: &str) {
        let arguments = ["--no-defaults", "-S", "mysqld.sock", "-u", "root", "-e", statement];
        run(&self.folder, "mariadb", &arguments);
    }

    /// By the Unix socket.
    fn local(&self) -> ServerAddress {
        ServerAddress {
            host: self.folder.display().to_string(),
            port: self.port,
            user: "kneebench".into(),
            password: Some(Secret(PASSWORD.into())),
            database: "kneebench".into(),
            tls: TlsMode::Disable,
            root_certificate: String::new(),
        }
    }

    /// By TCP and TLS, with the server's certificate as the root.
    fn encrypted(&self, tls: TlsMode) -> ServerAddress {
        let root_certificate = self.folder.join("certificate.pem").display().to_string();
        ServerAddress { host: "localhost".into(), tls, root_certificate, ..self.local() }
    }

    fn stop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
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
async fn ways_to_connect(server: &Server) {
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

async fn until_the_server_is_full_and_ends(server: &mut Server) {
    let connector = MysqlConnector::new(server.local());
    let sessions = contract::until_full(&connector, "1040").await;
    server.stop();
    contract::all_lost(&connector, sessions, &delivery(4)).await;
}

#[test]
fn a_mysql_session_keeps_every_clause_of_the_contract() {
    if !Path::new(SERVER).exists() {
        eprintln!("skipped: needs Debian's MariaDB");
        return;
    }
    let mut server = Server::start();
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
