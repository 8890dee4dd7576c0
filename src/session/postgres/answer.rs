//! What the server says, read as it comes: pieces of any size, nothing kept but the words of an error.

use crate::session::Outcome;

/// What the function `kneebench.new_order` raises for an item that does not exist.
const ROLLED_BACK_BY_DESIGN: &str = "KB001";
/// A tag and a length.
const HEAD_BYTES: usize = 5;
/// No message of ours is near it: where lengths are larger the bytes are no messages.
const LONGEST_BYTES: i32 = 1 << 30;

/// An ErrorResponse (PostgreSQL's manual, "Error and Notice Message Fields").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    severity: String,
    /// FATAL or PANIC: the connection ends, perhaps after the commit.
    pub fatal: bool,
    code: String,
    message: String,
    /// Detail and hint.
    more: String,
}

/// Reads answers, each up to its ReadyForQuery. Rows, notices and the like are skipped as they are.
#[derive(Debug, Default)]
pub struct Listener {
    head: [u8; HEAD_BYTES],
    headed: usize,
    /// Bytes of the message's body that are still to come.
    left: usize,
    /// The body of an ErrorResponse as far as it has come.
    error: Vec<u8>,
    refusal: Option<Refusal>,
    answer: Option<Option<Refusal>>,
}

impl Listener {
    /// Hear the next bytes. The error: they are no messages.
    pub fn hear(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            bytes = self.head(bytes)?;
            if self.headed == HEAD_BYTES {
                bytes = self.body(bytes);
            }
        }
        Ok(())
    }

    fn head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let (more, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.headed));
        self.head[self.headed..self.headed + more.len()].copy_from_slice(more);
        self.headed += more.len();
        if self.headed == HEAD_BYTES && !more.is_empty() {
            let [tag, a, b, c, d] = self.head;
            let length = i32::from_be_bytes([a, b, c, d]);
            if !(4..=LONGEST_BYTES).contains(&length) {
                return Err(format!("the server's answer is none of PostgreSQL's: message {:?} of {length} bytes", tag as char));
            }
            self.left = length as usize - 4;
        }
        Ok(rest)
    }

    fn body<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (more, rest) = bytes.split_at(bytes.len().min(self.left));
        self.left -= more.len();
        let tag = self.head[0];
        if tag == b'E' {
            self.error.extend_from_slice(more);
        }
        if self.left == 0 {
            self.headed = 0;
            match tag {
                b'E' => self.refusal = Some(Refusal::read(&std::mem::take(&mut self.error))),
                b'Z' => self.answer = Some(self.refusal.take()),
                _ => {}
            }
        }
        rest
    }

    /// The answer once it is complete: None without an error.
    pub fn answer(&mut self) -> Option<Option<Refusal>> {
        self.answer.take()
    }

    /// The last words of a server that ends the connection.
    pub fn farewell(&self) -> Option<String> {
        self.refusal.as_ref().filter(|refusal| refusal.fatal).map(Refusal::words)
    }
}

impl Refusal {
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
                b'D' | b'H' => read.more += &format!("; {text}"),
                _ => {}
            }
        }
        read
    }

    /// What the server said.
    pub fn words(&self) -> String {
        let Self { severity, message, more, code, .. } = self;
        format!("{severity}: {message}{more} (SQLSTATE {code})")
    }

    /// How a transaction ended that was answered so.
    pub fn outcome(self) -> Outcome {
        match self.code.as_str() {
            _ if self.fatal => Outcome::Lost { message: self.words() },
            ROLLED_BACK_BY_DESIGN => Outcome::RolledBack,
            "40001" | "40P01" => Outcome::Retry { code: self.code },
            _ => Outcome::Failed { message: self.words(), code: self.code },
        }
    }
}

#[cfg(test)]
mod tests;
