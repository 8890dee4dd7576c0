//! TLS by rustls.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::address::{ServerAddress, TlsMode};

/// The TLS configuration for this address; also built for `disable`, which does not use it.
pub fn client_config(address: &ServerAddress) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match address.tls {
        TlsMode::VerifyFull => chain(address, &provider)?,
        // `require` verifies the issuer if a root certificate is given
        TlsMode::Require if address.root_certificate.is_empty() => {
            Arc::new(Verifier { chain: None, provider: Arc::clone(&provider) })
        }
        TlsMode::Require | TlsMode::VerifyCa => Arc::new(Verifier {
            chain: Some(chain(address, &provider)?),
            provider: Arc::clone(&provider),
        }),
        TlsMode::Disable | TlsMode::Prefer => {
            Arc::new(Verifier { chain: None, provider: Arc::clone(&provider) })
        }
    };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS: {error}"))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

fn chain(
    address: &ServerAddress,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    WebPkiServerVerifier::builder_with_provider(
        Arc::new(roots(&address.root_certificate)?),
        Arc::clone(provider),
    )
    .build()
    .map_err(|error| format!("TLS: {error}"))
}

/// The file of the machine's own root certificates: SSL_CERT_FILE, or the place of its
/// distribution.
pub fn system_roots() -> Option<PathBuf> {
    openssl_probe::probe().cert_file
}

fn roots(file: &str) -> Result<RootCertStore, String> {
    let path = match file {
        "" | "system" => system_roots()
            .ok_or("the system has no file of root certificates; name one with sslrootcert")?,
        _ => file.into(),
    };
    let unread = |error| format!("root certificate {path:?}: {error}");
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(&path).map_err(unread)?.collect();
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(certificates.map_err(unread)?);
    if store.is_empty() {
        Err(format!("root certificate {path:?} contains no certificate"))
    } else {
        Ok(store)
    }
}

/// A verifier that is weaker than a browser's: with `chain` the issuer but not the name
/// (verify-ca), without it nothing (require).
#[derive(Debug)]
struct Verifier {
    chain: Option<Arc<WebPkiServerVerifier>>,
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
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
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
