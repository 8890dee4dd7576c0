//! A position in a response; numbers are little-endian.

pub struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next token; None at the end.
    pub fn next_token(&mut self) -> Option<u8> {
        let (&token, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(token)
    }

    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self
            .0
            .split_at_checked(bytes)
            .ok_or("the server's response ends in the middle of a token")?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn skip(&mut self, bytes: usize) -> Result<(), String> {
        self.take(bytes).map(drop)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], String> {
        Ok(self.take(N)?.try_into().unwrap_or([0; N]))
    }

    pub fn u8(&mut self) -> Result<u8, String> {
        self.number().map(u8::from_le_bytes)
    }

    pub fn u16(&mut self) -> Result<u16, String> {
        self.number().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, String> {
        self.number().map(u32::from_le_bytes)
    }

    /// Bytes after their number in one byte, in two, in four.
    pub fn sized_u8(&mut self) -> Result<&'a [u8], String> {
        let size = self.u8()?;
        self.take(size as usize)
    }

    pub fn sized_u16(&mut self) -> Result<&'a [u8], String> {
        let size = self.u16()?;
        self.take(size as usize)
    }

    pub fn sized_u32(&mut self) -> Result<&'a [u8], String> {
        let size = self.u32()?;
        self.take(size as usize)
    }

    /// A text of this many UTF-16 characters.
    pub fn text(&mut self, characters: usize) -> Result<String, String> {
        let (pairs, _) = self.take(2 * characters)?.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|&pair| u16::from_le_bytes(pair)).collect();
        Ok(String::from_utf16_lossy(&units))
    }

    /// A text after its number of characters in one byte.
    pub fn skip_short_text(&mut self) -> Result<(), String> {
        let characters = self.u8()?;
        self.skip(2 * characters as usize)
    }
}
