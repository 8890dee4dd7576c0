//! Debian's MariaDB for the contract, with procedures that fail on request.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::address::{Secret, ServerAddress, TlsMode};

const SERVER: &str = "/usr/sbin/mariadbd";
const NOBODY: u32 = 65_534;
pub const PASSWORD: &str = "secret-word";
/// Carriers at which the procedure fails.
pub const RETRY: i32 = 40;
pub const DIVISION: i32 = 22;
pub const KILL: i32 = 57;
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

/// Whether it is installed; says so if not.
pub fn is_there() -> bool {
    let there = Path::new(SERVER).exists();
    if !there {
        eprintln!("skipped: needs Debian's MariaDB");
    }
    there
}

/// A MariaDB in its own directory, with procedures that fail on request.
pub struct MariadbServer {
    folder: PathBuf,
    port: u16,
    process: Child,
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

impl MariadbServer {
    /// Started, with the procedures.
    pub fn start() -> Self {
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
    pub fn sql(&self, statement: &str) {
        let arguments = ["--no-defaults", "-S", "mysqld.sock", "-u", "root", "-e", statement];
        run(&self.folder, "mariadb", &arguments);
    }

    /// By the Unix socket.
    pub fn local(&self) -> ServerAddress {
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
    pub fn encrypted(&self, tls: TlsMode) -> ServerAddress {
        let root_certificate = self.folder.join("certificate.pem").display().to_string();
        ServerAddress { host: "localhost".into(), tls, root_certificate, ..self.local() }
    }

    pub fn stop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for MariadbServer {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
