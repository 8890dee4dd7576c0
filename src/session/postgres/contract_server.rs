//! Debian's PostgreSQL 15 for the contract.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::address::{Secret, ServerAddress, TlsMode};

const BIN: &str = "/usr/lib/postgresql/15/bin";
pub const PASSWORD: &str = "secret-word";

/// Whether it is installed; says so if not.
pub fn is_there() -> bool {
    let there = Path::new(BIN).exists();
    if !there {
        eprintln!("skipped: needs Debian's PostgreSQL 15");
    }
    there
}

/// A PostgreSQL 15 in its own directory, which takes 12 connections.
pub struct PostgresServer {
    folder: PathBuf,
    account: Option<(u32, u32)>,
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

impl PostgresServer {
    /// Started, with these functions.
    pub fn start(functions: &str) -> Self {
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
                functions,
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

    pub fn stop(&self) {
        self.output("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }

    /// By the Unix socket.
    pub fn address(&self, password: &str) -> ServerAddress {
        ServerAddress {
            host: self.folder.display().to_string(),
            port: 5432,
            user: "kneebench".into(),
            password: Some(Secret(password.into())),
            database: "postgres".into(),
            tls: TlsMode::Disable,
            root_certificate: String::new(),
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
