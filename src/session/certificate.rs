//! A certificate for localhost that signs itself, made by openssl.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Its files are removed when it is dropped.
pub struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
}

impl Certificate {
    pub fn new(name: &str) -> Self {
        let file = |suffix: &str| {
            std::env::temp_dir()
                .join(format!("kneebench-certificate-{}-{name}.{suffix}", std::process::id()))
        };
        let made = Self { certificate: file("crt"), key: file("key") };
        let done = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=DNS:localhost"])
            .args(["-keyout".as_ref(), made.key.as_os_str()])
            .args(["-out".as_ref(), made.certificate.as_os_str()])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        made
    }

    pub fn file(&self) -> &str {
        self.certificate.to_str().unwrap()
    }

    pub fn server_config(&self) -> Arc<ServerConfig> {
        let certificate = CertificateDer::from_pem_file(&self.certificate).unwrap();
        let key = PrivateKeyDer::from_pem_file(&self.key).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        Arc::new(config)
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        for file in [&self.certificate, &self.key] {
            let _ = std::fs::remove_file(file);
        }
    }
}
