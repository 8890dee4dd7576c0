//! The real server of the environment, with a database of the test's own.

use super::DATABASE;
use crate::address::{Secret, ServerAddress, TlsMode};
use crate::session::tds::connect::{ConnectionSettings, Purpose};

/// A server where the test may make a database.
pub struct Real(ServerAddress);

impl Real {
    /// The server that KNEEBENCH_TDS_URL names.
    pub fn from_environment() -> Option<Self> {
        let url = std::env::var("KNEEBENCH_TDS_URL").ok()?;
        Some(Self(read(&url).unwrap_or_else(|| panic!("KNEEBENCH_TDS_URL is no tds:// address"))))
    }

    /// The file that answers are recorded into.
    pub fn recording(&self) -> Option<String> {
        std::env::var("KNEEBENCH_TDS_RECORD").ok()
    }

    /// The test's own database.
    pub fn address(&self) -> ServerAddress {
        ServerAddress { database: database(), ..self.0.clone() }
    }

    /// Make the database, with the stand-ins of the procedures.
    pub async fn install(&self) {
        let drop = format!("DROP DATABASE IF EXISTS {}", database());
        self.run(&self.0, [&*drop, &*format!("CREATE DATABASE {}", database())]).await;
        let batches = include_str!("stand_ins.sql").split("\nGO\n").filter(|sql| !sql.is_empty());
        self.run(&self.address(), batches).await;
    }

    pub async fn remove(&self) {
        self.run(&self.0, [&*format!("DROP DATABASE {}", database())]).await;
    }

    async fn run<'a>(&self, address: &ServerAddress, batches: impl IntoIterator<Item = &'a str>) {
        let settings = ConnectionSettings::new(address.clone());
        let mut connection = settings.open(Purpose::Session).await.unwrap();
        for batch in batches {
            connection.run(batch).await.unwrap_or_else(|error| panic!("{error}: {batch}"));
        }
    }
}

/// Tests at the same time have a database each.
fn database() -> String {
    format!("{DATABASE}_{}", std::process::id())
}

fn read(url: &str) -> Option<ServerAddress> {
    let (account, place) = url.strip_prefix("tds://")?.split_once('@')?;
    let (user, password) = account.split_once(':')?;
    let (place, query) = place.split_once('?').unwrap_or((place, ""));
    let (server, database) = place.split_once('/')?;
    let (host, port) = server.split_once(':')?;
    let option = |name: &str| {
        query.split('&').filter_map(|one| one.split_once('=')).find(|(key, _)| *key == name)
    };
    Some(ServerAddress {
        host: host.into(),
        port: port.parse().ok()?,
        user: user.into(),
        password: Some(Secret(password.into())),
        database: database.into(),
        tls: option("tls").map_or(Some(TlsMode::VerifyFull), |(_, mode)| mode.parse().ok())?,
        root_certificate: option("root").map_or("", |(_, file)| file).into(),
    })
}
