//! TLS by rustls.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    SupportedProtocolVersion,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::address::{ServerAddress, TlsMode};

/// The TLS configuration for this address, for a protocol that allows these versions of TLS; also
/// built for `disable`, which does not use it.
pub fn client_config(
    address: &ServerAddress,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let issuers = match address.tls {
        // `require` verifies the issuer if a root certificate is given
        TlsMode::Require if address.root_certificate.is_empty() => None,
        TlsMode::Disable | TlsMode::Prefer => None,
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => {
            Some(Issuers::new(address, &provider)?)
        }
    };
    let verifier = Arc::new(Verifier {
        issuers,
        names: address.tls == TlsMode::VerifyFull,
        provider: Arc::clone(&provider),
    });
    Ok(ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(|error| format!("TLS: {error}"))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

/// Who may have issued the server's certificate.
#[derive(Debug)]
struct Issuers {
    /// These certificates themselves are trusted, too: one that signs itself has no other issuer.
    trusted: Vec<CertificateDer<'static>>,
    chain: Arc<WebPkiServerVerifier>,
}

impl Issuers {
    fn new(address: &ServerAddress, provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let (trusted, roots) = roots(&address.root_certificate)?;
        let chain =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|error| format!("TLS: {error}"))?;
        Ok(Self { trusted, chain })
    }
}

/// The file of the machine's own root certificates: SSL_CERT_FILE, or the place of its
/// distribution.
pub fn system_roots() -> Option<PathBuf> {
    openssl_probe::probe().cert_file
}

fn roots(file: &str) -> Result<(Vec<CertificateDer<'static>>, RootCertStore), String> {
    let path = match file {
        "" | "system" => system_roots()
            .ok_or("the system has no file of root certificates; name one with sslrootcert")?,
        _ => file.into(),
    };
    let unread = |error| format!("root certificate {path:?}: {error}");
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(&path).map_err(unread)?.collect();
    let certificates = certificates.map_err(unread)?;
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(certificates.iter().cloned());
    if store.is_empty() {
        Err(format!("root certificate {path:?} contains no certificate"))
    } else {
        Ok((certificates, store))
    }
}

/// Verifies the issuer, unless there are none to verify by, and then the name, unless it may be any
/// (verify-ca).
#[derive(Debug)]
struct Verifier {
    issuers: Option<Issuers>,
    names: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(Issuers { trusted, chain }) = &self.issuers else {
            return Ok(ServerCertVerified::assertion());
        };
        if trusted.iter().any(|one| one == end_entity) {
            return match self.names {
                true => verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)
                    .map(|()| ServerCertVerified::assertion()),
                false => Ok(ServerCertVerified::assertion()),
            };
        }
        match chain.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.names => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
