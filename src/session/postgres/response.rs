//! Response parser: reads pieces of any size and keeps only the message of an error.

use super::errors;
use crate::session::exchange::Responses;
use crate::session::{Error, ErrorClass};

/// A tag and a length.
const HEADER_BYTES: usize = 5;
/// Far above any message of the five functions: bytes with a larger length are no messages.
const MAX_MESSAGE_BYTES: i32 = 1 << 24;

/// An ErrorResponse (PostgreSQL's manual, "Error and Notice Message Fields").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorResponse {
    severity: String,
    /// FATAL or PANIC: the connection ends, perhaps after the commit.
    pub fatal: bool,
    code: String,
    message: String,
    /// Detail and hint.
    details: String,
}

/// Parses responses, each up to its ReadyForQuery. Rows, notices and the like are skipped.
#[derive(Debug, Default)]
pub struct ResponseParser {
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    /// Remaining bytes of the message's body.
    left: usize,
    /// The received part of the body of an ErrorResponse.
    error: Vec<u8>,
    error_response: Option<ErrorResponse>,
    response: Option<Option<ErrorResponse>>,
}

impl Responses for ResponseParser {
    type Refusal = ErrorResponse;

    fn feed(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            bytes = self.header(bytes)?;
            if self.header_bytes == HEADER_BYTES {
                bytes = self.body(bytes);
            }
        }
        Ok(())
    }

    fn response(&mut self) -> Option<Option<ErrorResponse>> {
        self.response.take()
    }

    fn termination(&self) -> Option<Error> {
        self.error_response
            .as_ref()
            .filter(|error_response| error_response.fatal)
            .cloned()
            .map(ErrorResponse::outcome_error)
    }
}

impl ResponseParser {
    fn header<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let (details, rest) = bytes.split_at(bytes.len().min(HEADER_BYTES - self.header_bytes));
        self.header[self.header_bytes..self.header_bytes + details.len()].copy_from_slice(details);
        self.header_bytes += details.len();
        if self.header_bytes == HEADER_BYTES && !details.is_empty() {
            let [tag, a, b, c, d] = self.header;
            let length = i32::from_be_bytes([a, b, c, d]);
            if !(4..=MAX_MESSAGE_BYTES).contains(&length) {
                return Err(format!(
                    "the server's response is none of PostgreSQL's: message {:?} of {length} bytes",
                    tag as char
                ));
            }
            self.left = length as usize - 4;
        }
        Ok(rest)
    }

    fn body<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (details, rest) = bytes.split_at(bytes.len().min(self.left));
        self.left -= details.len();
        let tag = self.header[0];
        if tag == b'E' {
            self.error.extend_from_slice(details);
        }
        if self.left == 0 {
            self.header_bytes = 0;
            match tag {
                b'E' => {
                    self.error_response =
                        Some(ErrorResponse::read(&std::mem::take(&mut self.error)))
                }
                b'Z' => self.response = Some(self.error_response.take()),
                _ => {}
            }
        }
        rest
    }
}

impl ErrorResponse {
    fn read(body: &[u8]) -> Self {
        let mut read = Self::default();
        for field in body.split(|&byte| byte == 0) {
            let Some((&tag, text)) = field.split_first() else { continue };
            let text = String::from_utf8_lossy(text);
            match tag {
                b'S' => read.severity = text.into(),
                // the severity that no language changes (since 9.6)
                b'V' => read.fatal = matches!(&*text, "FATAL" | "PANIC"),
                b'C' => read.code = text.into(),
                b'M' => read.message = text.into(),
                b'D' | b'H' => read.details += &format!("; {text}"),
                _ => {}
            }
        }
        read
    }

    /// The error as the server reports it.
    pub fn error(self) -> Error {
        let Self { severity, message, details, code, .. } = self;
        errors::error(&severity, message, details, code)
    }

    /// The error of a transaction. If it is fatal, the connection is lost, and the transaction may
    /// have committed.
    pub fn outcome_error(self) -> Error {
        let fatal = self.fatal;
        let error = self.error();
        if fatal { Error { class: ErrorClass::Lost, ..error } } else { error }
    }
}

#[cfg(test)]
mod tests;
