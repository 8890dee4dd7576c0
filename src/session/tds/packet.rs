//! Messages and their packets (MS-TDS 2.2.3): a header of 8 bytes before each part of a message.

pub const HEADER_BYTES: usize = 8;
pub const BATCH: u8 = 0x01;
pub const RPC: u8 = 0x03;
pub const RESPONSE: u8 = 0x04;
pub const BULK_LOAD: u8 = 0x07;
pub const LOGIN: u8 = 0x10;
pub const PRELOGIN: u8 = 0x12;
/// The sizes of packets that there are (MS-TDS 2.2.6.4).
pub const MIN_PACKET_BYTES: usize = 512;
pub const MAX_PACKET_BYTES: usize = 32_767;
/// Far above any response of the five procedures: one that does not end is refused.
const MAX_RESPONSE_BYTES: usize = 1 << 24;
/// The status of a message's last packet.
const LAST: u8 = 0x01;

/// A message in place of what the buffer contains.
pub fn message(out: &mut Vec<u8>, kind: u8, packet_bytes: usize, body: impl FnOnce(&mut Vec<u8>)) {
    out.clear();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    body(out);
    if out.len() <= packet_bytes {
        let header = header(kind, true, out.len());
        out[..HEADER_BYTES].copy_from_slice(&header);
    } else {
        let payload = out.split_off(HEADER_BYTES);
        out.clear();
        packets(out, kind, packet_bytes, &payload, true);
    }
}

/// Append the packets of a part of a message; returns the number of bytes in them. Only the last
/// part has a packet that is not full.
pub fn packets(
    out: &mut Vec<u8>,
    kind: u8,
    packet_bytes: usize,
    payload: &[u8],
    last: bool,
) -> usize {
    let room = packet_bytes - HEADER_BYTES;
    let size = if last { payload.len() } else { payload.len() / room * room };
    let mut parts = payload[..size].chunks(room).peekable();
    while let Some(part) = parts.next() {
        let ends = last && parts.peek().is_none();
        out.extend_from_slice(&header(kind, ends, HEADER_BYTES + part.len()));
        out.extend_from_slice(part);
    }
    size
}

fn header(kind: u8, last: bool, length: usize) -> [u8; HEADER_BYTES] {
    let [high, low] = (length as u16).to_be_bytes();
    [kind, if last { LAST } else { 0 }, high, low, 0, 0, 1, 0]
}

/// The length of a packet's payload. Fails if the packet is none of these kinds, or of a size that
/// there is not.
pub fn payload_bytes(header: [u8; HEADER_BYTES], kinds: &[u8]) -> Result<usize, String> {
    let [kind, _, high, low, ..] = header;
    let length = u16::from_be_bytes([high, low]) as usize;
    match (HEADER_BYTES..=MAX_PACKET_BYTES).contains(&length) && kinds.contains(&kind) {
        true => Ok(length - HEADER_BYTES),
        false => Err(format!(
            "the server's response is none of TDS: packet {kind:#04x} of {length} bytes"
        )),
    }
}

/// Puts a response together from pieces of any size.
#[derive(Debug, Default)]
pub struct Assembler {
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    /// Remaining bytes of the packet.
    left: usize,
    payload: Vec<u8>,
}

impl Assembler {
    /// The payload of a response that is these bytes and nothing else, as nearly every one is.
    pub fn whole<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (header, payload) = bytes.split_at_checked(HEADER_BYTES)?;
        let length = u16::from_be_bytes([header[2], header[3]]) as usize;
        let whole = header[0] == RESPONSE && header[1] & LAST != 0 && length == bytes.len();
        (whole && self.header_bytes == 0 && self.payload.is_empty()).then_some(payload)
    }

    /// Add a piece; true at the end of the message. Fails if the bytes are no packets of a
    /// response.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<bool, String> {
        while !bytes.is_empty() {
            bytes = self.head(bytes)?;
            if self.header_bytes < HEADER_BYTES {
                break;
            }
            let (part, rest) = bytes.split_at(bytes.len().min(self.left));
            self.payload.extend_from_slice(part);
            if self.payload.len() > MAX_RESPONSE_BYTES {
                return Err(format!(
                    "the server's response is none of TDS: above {MAX_RESPONSE_BYTES} bytes"
                ));
            }
            self.left -= part.len();
            bytes = rest;
            if self.left == 0 {
                self.header_bytes = 0;
                if self.header[1] & LAST != 0 {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let (part, rest) = bytes.split_at(bytes.len().min(HEADER_BYTES - self.header_bytes));
        self.header[self.header_bytes..self.header_bytes + part.len()].copy_from_slice(part);
        self.header_bytes += part.len();
        if self.header_bytes == HEADER_BYTES && !part.is_empty() {
            self.left = payload_bytes(self.header, &[RESPONSE])?;
        }
        Ok(rest)
    }

    /// What was put together so far; the next message starts.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_in_pieces_of_any_size_is_the_same_message() {
        let payload: Vec<u8> = (0..=255).cycle().take(2_000).collect();
        let mut bytes = Vec::new();
        packets(&mut bytes, RESPONSE, 512, &payload, true);
        for size in [1, 3, 7, 8, 9, 511, 512, 513, bytes.len()] {
            let mut assembler = Assembler::default();
            let ends: Vec<bool> =
                bytes.chunks(size).map(|piece| assembler.feed(piece).unwrap()).collect();
            assert!(ends.iter().rev().skip(1).all(|&end| !end) && ends[ends.len() - 1]);
            assert_eq!(assembler.take(), payload);
        }
    }

    #[test]
    fn a_response_in_one_packet_is_not_copied() {
        let (mut bytes, assembler) = (Vec::new(), Assembler::default());
        packets(&mut bytes, RESPONSE, 512, b"done", true);
        assert_eq!(assembler.whole(&bytes), Some(&b"done"[..]));
        assert_eq!(assembler.whole(&bytes[..11]), None);
        assert_eq!(assembler.whole(&[&bytes[..], b"more"].concat()), None);
    }

    #[test]
    fn other_bytes_are_refused() {
        let refused = Assembler::default().feed(b"HTTP/1.1 400").unwrap_err();
        assert!(refused.contains("none of TDS"), "{refused}");
    }

    #[test]
    fn a_response_that_never_ends_is_refused() {
        let (mut packet, mut assembler) = (Vec::new(), Assembler::default());
        packets(&mut packet, RESPONSE, MAX_PACKET_BYTES, &[0; 32_759], true);
        packet[1] = 0;
        let refused = (0..=MAX_RESPONSE_BYTES / 32_759)
            .find_map(|_| assembler.feed(&packet).err())
            .unwrap_or_default();
        assert!(refused.contains("none of TDS"), "{refused}");
    }

    #[test]
    fn only_the_last_packet_of_a_message_is_not_full() {
        let mut out = Vec::new();
        assert_eq!(packets(&mut out, BULK_LOAD, 512, &[7; 1_200], false), 1_008);
        assert_eq!((out.len(), out[1], out[513]), (1_024, 0, 0));
        message(&mut out, BATCH, 512, |out| out.extend_from_slice(&[7; 600]));
        assert_eq!((out.len(), out[1], out[513]), (616, 0, LAST));
        message(&mut out, BATCH, 512, |out| out.extend_from_slice(&[7; 504]));
        assert_eq!((out.len(), &out[..4]), (512, &[BATCH, LAST, 2, 0][..]));
    }
}
