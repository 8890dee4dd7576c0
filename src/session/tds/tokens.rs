//! Response parser (MS-TDS 2.2.7): reads a response's tokens, skips rows, keeps errors and the
//! changes that later requests depend on.

mod cursor;
mod types;

use self::cursor::Cursor;
use self::types::Width;
use super::errors::ServerError;
use super::packet::{MAX_PACKET_BYTES, MIN_PACKET_BYTES};

/// The collation of SQL Server's default installation, until the server has reported its own.
const DEFAULT_COLLATION: [u8; 5] = [0x09, 0x04, 0xd0, 0x00, 0x34];
/// Flags in the status of a DONE token: an error, and one of the server's own.
const DONE_ERROR: u16 = 0x0002;
const DONE_SERVER_ERROR: u16 = 0x0100;

/// What responses have changed so far, and the error of the current one.
#[derive(Debug)]
pub struct Tokens {
    /// The columns of the rows that follow; reused.
    columns: Vec<Width>,
    /// The current transaction, which each request must name; 0 outside one.
    pub transaction: [u8; 8],
    pub collation: [u8; 5],
    /// The size of packets, once the server has set one.
    pub packet_bytes: Option<usize>,
    pub logged_in: bool,
    /// Another server to log in to.
    pub redirected: Option<String>,
    /// The first error of the response, or the one that ends the connection.
    error: Option<ServerError>,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            columns: Vec::new(),
            transaction: [0; 8],
            collation: DEFAULT_COLLATION,
            packet_bytes: None,
            logged_in: false,
            redirected: None,
            error: None,
        }
    }
}

impl Tokens {
    /// Read a response. Fails if the bytes are no tokens, or end in the middle of one.
    pub fn read(&mut self, response: &[u8]) -> Result<(), String> {
        let mut cursor = Cursor::new(response);
        let mut failed = false;
        while let Some(token) = cursor.next_token() {
            match token {
                0x81 => self.column_metadata(&mut cursor)?,
                0xd1 => self.columns.iter().try_for_each(|column| column.skip(&mut cursor))?,
                0xd2 => self.row_with_nulls(&mut cursor)?,
                0xfd..=0xff => failed |= done_with_error(&mut cursor)?,
                0x79 => cursor.skip(4)?,
                0xac => return_value(&mut cursor)?,
                0xaa => self.server_error(&mut cursor)?,
                0xe3 => self.change(&mut cursor)?,
                0xad => {
                    self.logged_in = true;
                    cursor.sized_u16()?;
                }
                0xa4 | 0xa5 | 0xa9 | 0xab | 0xed => drop(cursor.sized_u16()?),
                0xe4 | 0xee => drop(cursor.sized_u32()?),
                0xae => features(&mut cursor)?,
                _ => {
                    return Err(format!("the server's response has an unknown token {token:#04x}"));
                }
            }
        }
        if failed && self.error.is_none() {
            self.error = Some(ServerError {
                message: "the request failed; the server gave no reason".into(),
                ..ServerError::default()
            });
        }
        Ok(())
    }

    /// The error of the last response, if any.
    pub fn take_error(&mut self) -> Option<ServerError> {
        self.error.take()
    }

    fn column_metadata(&mut self, cursor: &mut Cursor<'_>) -> Result<(), String> {
        self.columns.clear();
        let count = cursor.u16()?;
        if count == u16::MAX {
            return Ok(());
        }
        for _ in 0..count {
            self.columns.push(Width::of_column(cursor)?);
            cursor.skip_short_text()?;
        }
        Ok(())
    }

    fn row_with_nulls(&self, cursor: &mut Cursor<'_>) -> Result<(), String> {
        let nulls = cursor.take(self.columns.len().div_ceil(8))?;
        for (number, column) in self.columns.iter().enumerate() {
            if nulls[number / 8] >> (number % 8) & 1 == 0 {
                column.skip(cursor)?;
            }
        }
        Ok(())
    }

    fn server_error(&mut self, cursor: &mut Cursor<'_>) -> Result<(), String> {
        let mut body = Cursor::new(cursor.sized_u16()?);
        let number = body.u32()? as i32;
        body.skip(1)?;
        let severity = body.u8()?;
        let characters = body.u16()?;
        let message = body.text(characters as usize)?;
        body.skip_short_text()?;
        let characters = body.u8()?;
        let procedure = body.text(characters as usize)?;
        let error = ServerError { number, severity, message, procedure, line: body.u32()? };
        if error.fatal() || self.error.is_none() {
            self.error = Some(error);
        }
        Ok(())
    }

    /// ENVCHANGE.
    fn change(&mut self, cursor: &mut Cursor<'_>) -> Result<(), String> {
        let mut body = Cursor::new(cursor.sized_u16()?);
        match body.u8()? {
            4 => {
                let characters = body.u8()?;
                let announced = body.text(characters as usize)?.parse().ok();
                self.packet_bytes =
                    announced.filter(|size| (MIN_PACKET_BYTES..=MAX_PACKET_BYTES).contains(size));
            }
            7 => {
                if let [a, b, c, d, e] = *body.sized_u8()? {
                    self.collation = [a, b, c, d, e];
                }
            }
            8 => self.transaction = body.sized_u8()?.try_into().unwrap_or_default(),
            9 | 10 | 17 => self.transaction = [0; 8],
            20 => {
                body.skip(3)?;
                let (port, characters) = (body.u16()?, body.u16()?);
                self.redirected = Some(format!("{}:{port}", body.text(characters as usize)?));
            }
            _ => {}
        }
        Ok(())
    }
}

/// A DONE token: whether it reports an error.
fn done_with_error(cursor: &mut Cursor<'_>) -> Result<bool, String> {
    let status = cursor.u16()?;
    cursor.skip(10)?;
    Ok(status & (DONE_ERROR | DONE_SERVER_ERROR) != 0)
}

fn return_value(cursor: &mut Cursor<'_>) -> Result<(), String> {
    cursor.skip(2)?;
    cursor.skip_short_text()?;
    cursor.skip(1)?;
    Width::of_column(cursor)?.skip(cursor)
}

/// FEATUREEXTACK.
fn features(cursor: &mut Cursor<'_>) -> Result<(), String> {
    while cursor.u8()? != 0xff {
        cursor.sized_u32()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
