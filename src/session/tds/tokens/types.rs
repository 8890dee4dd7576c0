//! The width of a column's values, by its type (MS-TDS 2.2.5.4): enough to skip them.

use super::cursor::Cursor;

/// How long a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Fixed(u8),
    /// The length is in one byte before the value; 0: NULL.
    InByte,
    /// In two bytes; 0xffff: NULL.
    InShort,
    /// In four bytes; 0: NULL.
    InLong,
    /// In chunks.
    Chunks,
}

impl Width {
    /// The width of a column: after its user type and flags, its type.
    pub fn of_column(cursor: &mut Cursor<'_>) -> Result<Self, String> {
        cursor.skip(6)?;
        let of_type = cursor.u8()?;
        let (width, description_bytes) = match of_type {
            0x1f => (Width::Fixed(0), 0),
            0x30 | 0x32 => (Width::Fixed(1), 0),
            0x34 => (Width::Fixed(2), 0),
            0x38 | 0x3a | 0x3b | 0x7a => (Width::Fixed(4), 0),
            0x3c | 0x3d | 0x3e | 0x7f => (Width::Fixed(8), 0),
            // date
            0x28 => (Width::InByte, 0),
            // integers, bits, floats, moneys, times, and short texts and bytes of old
            0x24..=0x27 | 0x29..=0x2b | 0x2d | 0x2f | 0x68 | 0x6d..=0x6f => (Width::InByte, 1),
            // decimals
            0x37 | 0x3f | 0x6a | 0x6c => (Width::InByte, 3),
            0x62 => (Width::InLong, 4),
            // bytes, texts with their collation
            0xa5 | 0xad => (Width::InShort, 0),
            0xa7 | 0xaf | 0xe7 | 0xef => (Width::InShort, 5),
            _ => return Err(format!("the server's response has a column of type {of_type:#04x}")),
        };
        let chunks = width == Width::InShort && cursor.u16()? == u16::MAX;
        cursor.skip(description_bytes)?;
        Ok(if chunks { Width::Chunks } else { width })
    }

    pub fn skip(self, cursor: &mut Cursor<'_>) -> Result<(), String> {
        match self {
            Width::Fixed(bytes) => cursor.skip(bytes.into()),
            Width::InByte => cursor.sized_u8().map(drop),
            Width::InShort => match cursor.u16()? {
                u16::MAX => Ok(()),
                bytes => cursor.skip(bytes.into()),
            },
            Width::InLong => cursor.sized_u32().map(drop),
            Width::Chunks => skip_chunks(cursor),
        }
    }
}

/// A total of 8 bytes, all of them set for NULL; then chunks, the last of them empty.
fn skip_chunks(cursor: &mut Cursor<'_>) -> Result<(), String> {
    if cursor.take(8)? == [0xff; 8] {
        return Ok(());
    }
    while !cursor.sized_u32()?.is_empty() {}
    Ok(())
}
