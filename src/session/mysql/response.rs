//! Response parser: reads pieces of any size and keeps only the message of an error.
//!
//! A CALL returns its result sets, then the OK of the call itself. A result set is the number of
//! its columns, their definitions, EOF, rows, EOF; each but the last says that more follows
//! (MariaDB's manual, "Result Set Packets").

use super::errors::{ERR, ServerError};
use super::packets::{HEADER_BYTES, ok_status_at};
use crate::session::exchange::Responses;

/// The part of a payload that is looked at: an OK packet up to its status.
const HEAD_BYTES: usize = 24;
/// An EOF packet is shorter; a row that begins with the same byte is longer.
const EOF_BYTES: usize = 9;
const OK: u8 = 0x00;
const EOF: u8 = 0xfe;
const LOCAL_FILE: u8 = 0xfb;
/// SERVER_MORE_RESULTS_EXISTS in the status.
const MORE_RESULTS: u8 = 0x08;

/// What the next packet is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expected {
    /// The first packet of a result.
    #[default]
    Result,
    Definitions,
    Rows,
}

/// Parses responses, each up to the end of its last result. Definitions and rows are skipped.
#[derive(Debug, Default)]
pub struct ResponseParser {
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    /// Length of the payload, and its remaining bytes.
    length: usize,
    left: usize,
    head: [u8; HEAD_BYTES],
    head_bytes: usize,
    /// The received part of an ERR packet.
    error: Vec<u8>,
    expected: Expected,
    response: Option<Option<ServerError>>,
}

impl Responses for ResponseParser {
    type Refusal = ServerError;

    fn feed(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            bytes = self.header(bytes);
            if self.header_bytes == HEADER_BYTES {
                bytes = self.payload(bytes)?;
            }
        }
        Ok(())
    }

    fn response(&mut self) -> Option<Option<ServerError>> {
        self.response.take()
    }
}

impl ResponseParser {
    fn header<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (part, rest) = bytes.split_at(bytes.len().min(HEADER_BYTES - self.header_bytes));
        self.header[self.header_bytes..self.header_bytes + part.len()].copy_from_slice(part);
        self.header_bytes += part.len();
        if self.header_bytes == HEADER_BYTES && !part.is_empty() {
            let [a, b, c, _] = self.header;
            self.length = u32::from_le_bytes([a, b, c, 0]) as usize;
            (self.left, self.head_bytes) = (self.length, 0);
        }
        rest
    }

    fn payload<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let (part, rest) = bytes.split_at(bytes.len().min(self.left));
        self.left -= part.len();
        let kept = part.len().min(HEAD_BYTES - self.head_bytes);
        self.head[self.head_bytes..self.head_bytes + kept].copy_from_slice(&part[..kept]);
        self.head_bytes += kept;
        if self.head_bytes > 0 && self.head[0] == ERR {
            self.error.extend_from_slice(part);
        }
        if self.left == 0 {
            self.header_bytes = 0;
            self.packet()?;
        }
        Ok(rest)
    }

    /// A packet is complete.
    fn packet(&mut self) -> Result<(), String> {
        let (first, is_end) = (self.head[0], self.length < EOF_BYTES && self.head[0] == EOF);
        match self.expected {
            _ if self.length == 0 => return Err("the server sent an empty packet".into()),
            _ if first == ERR => {
                let error = ServerError::read(&std::mem::take(&mut self.error));
                self.end(Some(error));
            }
            Expected::Result if first == OK => {
                let status = ok_status_at(&self.head).and_then(|place| self.head.get(place));
                self.result(*status.unwrap_or(&0));
            }
            Expected::Result if first == LOCAL_FILE || is_end => {
                return Err(format!("the server's response is not understood: packet {first:#x}"));
            }
            Expected::Result => self.expected = Expected::Definitions,
            Expected::Definitions if is_end => self.expected = Expected::Rows,
            // warnings, then the status
            Expected::Rows if is_end => self.result(self.head[3]),
            Expected::Definitions | Expected::Rows => {}
        }
        Ok(())
    }

    /// The end of a result, with its status.
    fn result(&mut self, status: u8) {
        match status & MORE_RESULTS {
            0 => self.end(None),
            _ => self.expected = Expected::Result,
        }
    }

    fn end(&mut self, error: Option<ServerError>) {
        self.expected = Expected::Result;
        self.response = Some(error);
    }
}

#[cfg(test)]
mod tests;
