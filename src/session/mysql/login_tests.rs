//! Logging in with caching_sha2_password, the default of MySQL 8, which no server here has: a peer
//! scripted from its manual ("Caching SHA-2 Pluggable Authentication") and the documentation of its
//! source ("Caching_sha2 authentication exchange"). **Not tried on MySQL 8.**

mod peer;

use tokio::runtime::{Builder, LocalOptions};

use self::peer::{Account, PASSWORD, Peer, Proof, Transport};
use super::connect::ConnectionSettings;
use crate::address::{Secret, ServerAddress, TlsMode};
use crate::session::{Error, ErrorClass};

const TRANSPORTS: [Transport; 3] = [Transport::UnixSocket, Transport::Tcp, Transport::Tls];

/// Log in once; returns what the client sent to prove the password, too.
fn login(peer: &Peer, account: Account, password: &str) -> (Result<(), Error>, Vec<Proof>) {
    let tls = if peer.transport == Transport::Tls { TlsMode::VerifyFull } else { TlsMode::Disable };
    login_with(peer, account, password, tls)
}

fn login_with(
    peer: &Peer,
    account: Account,
    password: &str,
    tls: TlsMode,
) -> (Result<(), Error>, Vec<Proof>) {
    let serving = peer.serve_one(account);
    let settings = ConnectionSettings::new(ServerAddress {
        host: peer.host(),
        port: peer.port(),
        user: "kneebench".into(),
        password: Some(Secret(password.into())),
        database: "kneebench".into(),
        tls,
        root_certificate: peer.root_certificate(),
    });
    let runtime =
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    let opened = runtime.block_on(settings.open()).map(drop);
    (opened, serving.join().unwrap().unwrap())
}

#[test]
fn a_server_that_knows_the_account_needs_the_scramble_alone() {
    for transport in TRANSPORTS {
        let peer = Peer::new(transport);
        for switches in [false, true] {
            let account = Account { cached: true, switches };
            let seen = login(&peer, account, PASSWORD);
            assert_eq!(seen, (Ok(()), vec![Proof::Scramble]), "{transport:?}, {account:?}");
        }
    }
}

#[test]
fn a_server_that_does_not_gets_the_password_where_nobody_can_read_it_else_encrypted() {
    for transport in TRANSPORTS {
        let peer = Peer::new(transport);
        let password = match transport {
            Transport::Tcp => Proof::EncryptedPassword,
            _ => Proof::Password,
        };
        for switches in [false, true] {
            let account = Account { cached: false, switches };
            let seen = login(&peer, account, PASSWORD);
            let proofs = vec![Proof::Scramble, password];
            assert_eq!(seen, (Ok(()), proofs), "{transport:?}, {account:?}");
        }
    }
}

#[test]
fn with_prefer_a_connection_is_in_the_clear_where_tls_fails_and_with_require_there_is_none() {
    let peer = Peer::new(Transport::BrokenTls);
    let account = Account { cached: true, switches: false };
    let another = peer.serve_one(account);
    let (opened, one) = login_with(&peer, account, PASSWORD, TlsMode::Prefer);
    let proofs = [one, another.join().unwrap().unwrap()].concat();
    assert_eq!((opened, proofs), (Ok(()), vec![Proof::Scramble]));
    let (opened, proofs) = login_with(&peer, account, PASSWORD, TlsMode::Require);
    assert_eq!((opened.unwrap_err().class, proofs), (ErrorClass::Lost, vec![]));
}

#[test]
fn a_wrong_password_is_refused_in_the_servers_words() {
    for transport in TRANSPORTS {
        let peer = Peer::new(transport);
        for cached in [true, false] {
            let (opened, _) = login(&peer, Account { cached, switches: false }, "not-this-one");
            let error = opened.unwrap_err();
            assert_eq!((error.class, error.code.as_str()), (ErrorClass::Refused, "1045"));
            assert!(error.message.starts_with("Access denied"), "{error}");
        }
    }
}

#[test]
fn an_account_without_a_password_proves_nothing() {
    for switches in [false, true] {
        let peer = Peer::new(Transport::Tcp);
        let (opened, proofs) = login(&peer, Account { cached: true, switches }, "");
        let refused = opened.unwrap_err();
        assert_eq!((refused.class, proofs), (ErrorClass::Refused, vec![Proof::None]));
    }
}
