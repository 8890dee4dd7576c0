//! Connecting: TLS, the server's greeting and authentication, with the packets and the
//! authentication plugins of mysql_common (docs/decisions/mysql-wire.md).

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{
    AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse, SslRequest,
};
use mysql_common::proto::{MyDeserialize, MySerialize};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::packets::PacketStream;
use crate::address::{ServerAddress, TlsMode};
use crate::session::stream::{self, Socket};
use crate::session::{Error, ErrorClass, tls};

/// The name of the Unix socket in its directory.
const UNIX_SOCKET: &str = "mysqld.sock";
const MAX_PACKET_BYTES: u32 = 1 << 24;
const UTF8MB4_GENERAL_CI: u8 = 45;
/// The server's code for a wrong password, and for a connection in the clear of an account that
/// requires TLS.
const DENIED: &str = "1045";
/// The words of databases/innodb/error_hints.py for both, which gives the fix.
const TLS_UNUSED: &str = "the connection had no TLS, which the server offers";
const NO_TLS: &str = "the connection had no TLS: the server has no certificate";
const OK: u8 = 0x00;
const MORE_DATA: u8 = 0x01;
const SWITCH_PLUGIN: u8 = 0xfe;

/// What the client supports. Without DEPRECATE_EOF, so that definitions and rows end alike on every
/// server.
const CAPABILITIES: CapabilityFlags = CapabilityFlags::CLIENT_PROTOCOL_41
    .union(CapabilityFlags::CLIENT_LONG_PASSWORD)
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_LOCAL_FILES)
    .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PS_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH)
    .union(CapabilityFlags::CLIENT_CONNECT_WITH_DB)
    .union(CapabilityFlags::CLIENT_CONNECT_ATTRS);

/// An address with the settings that all its connections share.
pub struct ConnectionSettings {
    address: ServerAddress,
    /// Built by the first connection.
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// What an authentication plugin reads.
struct Credentials<'a> {
    password: &'a [u8],
    nonce: &'a [u8],
    local: bool,
    encrypted: bool,
}

impl ConnectionSettings {
    pub fn new(address: ServerAddress) -> Self {
        Self { address, tls: OnceLock::new() }
    }

    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Open an authenticated connection; tries each address of the host name in turn. With
    /// `prefer`, in the clear where TLS fails.
    pub async fn open(&self) -> Result<PacketStream, Error> {
        let encryption_failed = Cell::new(false);
        let opened = self.open_with(self.address.tls, &encryption_failed).await;
        if encryption_failed.get() && self.address.tls == TlsMode::Prefer {
            return self.open_with(TlsMode::Disable, &encryption_failed).await;
        }
        opened
    }

    async fn open_with(&self, tls: TlsMode, failed: &Cell<bool>) -> Result<PacketStream, Error> {
        let authenticate = async |socket| self.authenticate(socket, tls, failed).await;
        stream::connect(&self.address, UNIX_SOCKET, authenticate).await
    }

    /// `failed` is set where the TLS handshake fails.
    async fn authenticate(
        &self,
        socket: Socket,
        tls: TlsMode,
        failed: &Cell<bool>,
    ) -> Result<PacketStream, Error> {
        let mut packets = PacketStream::new(socket);
        let greeting = packets.receive().await?;
        let greeting: HandshakePacket<'_> = parsed(&greeting)?;
        if self.encrypts(tls, greeting.capabilities())? {
            packets = self.encrypt(packets).await.inspect_err(|_| failed.set(true))?;
        }
        let logged_in = self.log_in(&mut packets, &greeting).await;
        let offered = greeting.capabilities().contains(CapabilityFlags::CLIENT_SSL);
        let in_the_clear = !packets.is_encrypted() && !self.address.is_local_socket();
        logged_in.map(|()| packets).map_err(|mut error| {
            if in_the_clear && error.code == DENIED {
                let words = if offered { TLS_UNUSED } else { NO_TLS };
                error.message = format!("{}; {words}", error.message);
            }
            error
        })
    }

    /// Whether the connection is to be encrypted; fails if the server cannot.
    fn encrypts(&self, tls: TlsMode, server: CapabilityFlags) -> Result<bool, Error> {
        let possible = server.contains(CapabilityFlags::CLIENT_SSL);
        match tls {
            _ if self.address.is_local_socket() => Ok(false),
            TlsMode::Disable => Ok(false),
            TlsMode::Prefer => Ok(possible),
            _ if possible => Ok(true),
            _ => Err(Error::new(ErrorClass::Refused, "the server offers no TLS")),
        }
    }

    async fn encrypt(&self, mut packets: PacketStream) -> Result<PacketStream, Error> {
        let built = self.tls.get_or_init(|| {
            tls::client_config(&self.address, rustls::DEFAULT_VERSIONS).map(Arc::new)
        });
        let connector = TlsConnector::from(built.clone().map_err(Error::other)?);
        let name = ServerName::try_from(self.address.host.clone())
            .map_err(|error| Error::other(format!("TLS: {error}")))?;
        let capabilities = CAPABILITIES | CapabilityFlags::CLIENT_SSL;
        let request = SslRequest::new(capabilities, MAX_PACKET_BYTES, UTF8MB4_GENERAL_CI);
        packets.send(&serialized(&request)).await?;
        packets
            .upgrade(async |socket| connector.connect(name, socket).await)
            .await
            .map_err(|error| Error::lost(format!("error performing TLS handshake: {error}")))
    }

    async fn log_in(
        &self,
        packets: &mut PacketStream,
        greeting: &HandshakePacket<'_>,
    ) -> Result<(), Error> {
        let nonce = greeting.nonce();
        // the account may have another plugin; the server then switches
        let plugin = greeting
            .auth_plugin()
            .filter(|plugin| supported(plugin))
            .unwrap_or(AuthPlugin::MysqlNativePassword);
        let mut procedure = started(&plugin)?;
        let first = self.step(&mut procedure, packets, &nonce, &nonce)?;
        packets.send(&self.response(packets, first, plugin)).await?;
        self.challenges(packets, procedure, nonce).await
    }

    /// Answer the server's challenges until it accepts.
    async fn challenges(
        &self,
        packets: &mut PacketStream,
        mut procedure: AuthProc,
        mut nonce: Vec<u8>,
    ) -> Result<(), Error> {
        loop {
            let payload = packets.receive().await?;
            let answer = match payload.split_first() {
                Some((&OK, _)) => return Ok(()),
                Some((&MORE_DATA, challenge)) => {
                    self.step(&mut procedure, packets, &nonce, challenge)?
                }
                Some((&SWITCH_PLUGIN, _)) => {
                    let switch: AuthSwitchRequest<'_> = parsed(&payload)?;
                    procedure = started(&switch.auth_plugin())?;
                    nonce = switch.plugin_data().to_vec();
                    self.step(&mut procedure, packets, &nonce, &nonce)?
                }
                _ => return Err(Error::other("the server's authentication is not understood")),
            };
            if let Some(answer) = answer {
                packets.send(&answer).await?;
            }
        }
    }

    /// One step of a plugin; returns what to send, if anything.
    fn step(
        &self,
        procedure: &mut AuthProc,
        packets: &PacketStream,
        nonce: &[u8],
        challenge: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        let credentials = Credentials {
            password: self.address.password.as_ref().map_or(&[], |secret| secret.0.as_bytes()),
            nonce,
            local: self.address.is_local_socket(),
            encrypted: packets.is_encrypted(),
        };
        match procedure.run(credentials, challenge) {
            Ok(response) => Ok(response.data().map(<[u8]>::to_vec)),
            Err(error) => Err(Error::other(format!("authentication: {error}"))),
        }
    }

    fn response(
        &self,
        packets: &PacketStream,
        first: Option<Vec<u8>>,
        plugin: AuthPlugin<'_>,
    ) -> Vec<u8> {
        let ServerAddress { user, database, .. } = &self.address;
        let encrypted = if packets.is_encrypted() {
            CapabilityFlags::CLIENT_SSL
        } else {
            CapabilityFlags::empty()
        };
        serialized(&HandshakeResponse::new(
            first,
            (8, 0, 0),
            Some(user.as_bytes()),
            Some(database.as_bytes()),
            Some(plugin.into_owned()),
            CAPABILITIES | encrypted,
            Some(HashMap::from([("program_name".to_owned(), "kneebench".to_owned())])),
            MAX_PACKET_BYTES,
        ))
    }
}

impl Context for Credentials<'_> {
    fn pass(&self) -> &[u8] {
        self.password
    }

    fn is_ipc_transport(&self) -> bool {
        self.local
    }

    fn is_tls_transport(&self) -> bool {
        self.encrypted
    }

    fn scramble(&self) -> &[u8] {
        self.nonce
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

/// Not those that send the password as it is, or nearly so.
fn supported(plugin: &AuthPlugin<'_>) -> bool {
    matches!(
        plugin,
        AuthPlugin::MysqlNativePassword
            | AuthPlugin::CachingSha2Password
            | AuthPlugin::Sha256Password
    )
}

fn started(plugin: &AuthPlugin<'_>) -> Result<AuthProc, Error> {
    let refused = || {
        let name = String::from_utf8_lossy(plugin.as_bytes());
        let message = format!("the authentication plugin {name:?} of the account is not supported");
        Error::new(ErrorClass::Refused, message)
    };
    if supported(plugin) { plugin.init().map_err(|_| refused()) } else { Err(refused()) }
}

fn parsed<'a, T: MyDeserialize<'a, Ctx = ()>>(payload: &'a [u8]) -> Result<T, Error> {
    ParseBuf(payload)
        .parse(())
        .map_err(|error| Error::other(format!("the server's greeting is not understood: {error}")))
}

fn serialized(packet: &impl MySerialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.serialize(&mut bytes);
    bytes
}
