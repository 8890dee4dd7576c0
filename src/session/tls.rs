//! TLS by rustls, as libpq's sslmode means it.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::{Address, TlsMode};

/// How to encrypt to this address; also made for `disable`, where it is not used.
pub fn connector(address: &Address) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match address.sslmode {
        TlsMode::VerifyFull => chain(address, &provider)?,
        // as libpq does, `require` verifies the issuer where a root certificate is named
        TlsMode::Require if address.sslrootcert.is_empty() => Arc::new(Verifier { chain: None, provider: Arc::clone(&provider) }),
        TlsMode::Require | TlsMode::VerifyCa => {
            Arc::new(Verifier { chain: Some(chain(address, &provider)?), provider: Arc::clone(&provider) })
        }
        TlsMode::Disable | TlsMode::Prefer => Arc::new(Verifier { chain: None, provider: Arc::clone(&provider) }),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|wrong| format!("TLS: {wrong}"))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn chain(address: &Address, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, String> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots(&address.sslrootcert)?), Arc::clone(provider))
        .build()
        .map_err(|wrong| format!("TLS: {wrong}"))
}

fn roots(file: &str) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    if matches!(file, "" | "system") {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    } else {
        let unread = |wrong: &dyn std::fmt::Display| format!("sslrootcert {file:?}: {wrong}");
        for certificate in CertificateDer::pem_file_iter(file).map_err(|wrong| unread(&wrong))? {
            store.add(certificate.map_err(|wrong| unread(&wrong))?).map_err(|wrong| unread(&wrong))?;
        }
    }
    if store.is_empty() { Err(format!("sslrootcert {file:?} holds no certificate")) } else { Ok(store) }
}

/// Verifies less than a browser would: with `chain` the issuer but not the name (verify-ca), without it nothing (require).
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
            Err(Error::InvalidCertificate(CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. })) => {
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
