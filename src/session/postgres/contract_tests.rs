//! The session contract over Debian's PostgreSQL 15; skipped if it is not installed.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tokio::runtime::{Builder, LocalOptions};

use super::PostgresConnector;
use crate::address::{Secret, ServerAddress, TlsMode};
use crate::inputs::Transaction;
use crate::session::{Connector, ErrorClass, contract};

const BIN: &str = "/usr/lib/postgresql/15/bin";
const PASSWORD: &str = "secret-word";
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

/// A PostgreSQL 15 in its own directory, with functions that fail on request.
struct Server {
    folder: PathBuf,
    account: Option<(u32, u32)>,
}

fn delivery(carrier: i32) -> Transaction {
    Transaction::Delivery { warehouse: 1, carrier }
}

/// The unprivileged account for a server started by root.
fn account() -> Option<(u32, u32)> {
    let number = |flag| {
        String::from_utf8(Command::new("id").args([flag, "postgres"]).output().unwrap().stdout)
            .unwrap()
            .trim()
            .parse()
    };
    // SAFETY: no arguments, no effects.
    let root = unsafe { libc::geteuid() } == 0;
    root.then(|| (number("-u").unwrap(), number("-g").unwrap()))
}

impl Server {
    fn start() -> Self {
        let folder =
            std::env::temp_dir().join(format!("kneebench-contract-{}", std::process::id()));
        let server = Self { folder, account: account() };
        fs::create_dir_all(&server.folder).unwrap();
        fs::write(server.folder.join("password"), PASSWORD).unwrap();
        if let Some((user, group)) = server.account {
            chown(&server.folder, Some(user), Some(group)).unwrap();
        }
        let (data, folder) = (server.data(), server.folder.display().to_string());
        server.run(
            "initdb",
            &[
                "-D",
                &data,
                "-U",
                "kneebench",
                "-A",
                "scram-sha-256",
                "--pwfile",
                &format!("{folder}/password"),
            ],
        );
        let options = format!(
            "-c listen_addresses='' -c unix_socket_directories={folder} \
             -c fsync=off -c max_connections=12"
        );
        server.run(
            "pg_ctl",
            &["-D", &data, "-l", &format!("{folder}/log"), "-o", &options, "-w", "start"],
        );
        server.run(
            "psql",
            &[
                "-X",
                "-q",
                "-v",
                "ON_ERROR_STOP=1",
                "-h",
                &folder,
                "-U",
                "kneebench",
                "-d",
                "postgres",
                "-c",
                FUNCTIONS,
            ],
        );
        server
    }

    fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let done = self.output(program, arguments);
        assert!(
            done.status.success(),
            "{program}: {}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
    }

    fn output(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(Path::new(BIN).join(program));
        command.args(arguments).env("PGPASSWORD", PASSWORD).current_dir(&self.folder);
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        // a server keeps the streams that it inherits: files end, pipes would not
        let (out, log) = (
            self.folder.join(format!("{program}.out")),
            self.folder.join(format!("{program}.err")),
        );
        command.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&log).unwrap());
        let status = command.status().unwrap();
        Output { status, stdout: fs::read(out).unwrap(), stderr: fs::read(log).unwrap() }
    }

    fn stop(&self) {
        self.output("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }

    fn connector(&self, password: &str) -> PostgresConnector {
        PostgresConnector::new(ServerAddress {
            host: self.folder.display().to_string(),
            port: 5432,
            user: "kneebench".into(),
            password: Some(Secret(password.into())),
            database: "postgres".into(),
            tls: TlsMode::Disable,
            root_certificate: String::new(),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

async fn every_clause(server: &Server) {
    let connector = server.connector(PASSWORD);
    contract::the_five_transactions_commit(&connector).await;
    contract::a_missing_item_is_a_rollback_by_design(&connector).await;
    for (carrier, class) in [(RETRY, ErrorClass::Retry), (DIVISION, ErrorClass::Other)] {
        contract::has_code_and_message(
            &contract::fails_and_continues(&connector, &delivery(carrier), class).await,
        );
    }
    contract::stays_lost(&mut connector.open().await.unwrap(), &delivery(TERMINATE)).await;
    contract::opens_nothing(&server.connector("not-this-one"), ErrorClass::Refused).await;
    let sessions = contract::until_full(&connector, "53300").await;
    server.stop();
    contract::all_lost(&connector, sessions, &delivery(4)).await;
}

#[test]
fn a_postgres_session_keeps_every_clause_of_the_contract() {
    if !Path::new(BIN).exists() {
        eprintln!("skipped: needs Debian's PostgreSQL 15");
        return;
    }
    let server = Server::start();
    let runtime =
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(every_clause(&server));
}
