//! Packets: a three-byte length, a sequence number, a payload. A payload of 2^24 - 1 bytes goes on in the next packet.

use crate::{ConnectionError, stream::Stream};
use muster_types::{ErrorCode, SqlError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Largest payload of one packet.
pub const PAYLOAD_MAX: usize = 0xFF_FFFF;
/// Bytes gathered before they are sent.
const SEND_BYTES: usize = 128 * 1024;

/// One end of a connection, packet by packet.
pub struct PacketStream {
    stream: Stream,
    /// Sequence number of the next packet, in either direction.
    sequence: u8,
    out: Vec<u8>,
    /// Largest payload accepted (`max_allowed_packet`).
    pub max_payload: usize,
}

impl PacketStream {
    pub fn new(stream: Stream) -> PacketStream {
        PacketStream { stream, sequence: 0, out: Vec::new(), max_payload: 64 << 20 }
    }

    /// Every command starts counting anew.
    pub fn start_command(&mut self) {
        self.sequence = 0;
    }

    pub fn is_tls(&self) -> bool {
        self.stream.is_tls()
    }

    /// Name of the TLS cipher; `None` in the clear.
    pub fn cipher(&self) -> Option<String> {
        self.stream.cipher()
    }

    /// Replaces the transport (the TLS handshake after an SSL request).
    pub async fn upgrade(self, acceptor: &tokio_rustls::TlsAcceptor) -> Result<PacketStream, ConnectionError> {
        Ok(PacketStream { stream: self.stream.upgrade(acceptor).await?, ..self })
    }

    /// The next payload. Errors: `Closed` at the end of the stream, `Refused` (1153) when it is too large or packets are
    /// out of order.
    pub async fn read(&mut self) -> Result<Vec<u8>, ConnectionError> {
        let mut payload = Vec::new();
        loop {
            let mut header = [0; 4];
            match self.stream.read_exact(&mut header).await {
                Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Err(ConnectionError::Closed),
                other => other?,
            };
            let (length, sequence) = decode_header(header);
            if sequence != self.sequence {
                let message = "Got packets out of order";
                return Err(ConnectionError::Refused(SqlError::new(ErrorCode::HandshakeError, message)));
            }
            self.sequence = self.sequence.wrapping_add(1);
            if payload.len() + length > self.max_payload {
                let message = "Got a packet bigger than 'max_allowed_packet' bytes";
                return Err(ConnectionError::Refused(SqlError::new(ErrorCode::NetPacketTooLarge, message)));
            }
            // Memory grows with what has come, not with what a header claims.
            let got = (&mut self.stream).take(length as u64).read_to_end(&mut payload).await?;
            if got < length {
                return Err(ConnectionError::Closed);
            }
            if length < PAYLOAD_MAX {
                return Ok(payload);
            }
        }
    }

    /// Queues a payload; sent when enough has gathered, or by [`PacketStream::flush`].
    pub async fn write(&mut self, payload: &[u8]) -> Result<(), ConnectionError> {
        encode(payload, &mut self.sequence, &mut self.out);
        if self.out.len() >= SEND_BYTES { self.flush().await } else { Ok(()) }
    }

    pub async fn flush(&mut self) -> Result<(), ConnectionError> {
        self.stream.write_all(&self.out).await?;
        self.out.clear();
        self.stream.flush().await?;
        Ok(())
    }

    /// Resolves when the client has closed its side; never while it sends or waits.
    pub async fn closed(&self) {
        self.stream.closed().await
    }
}

fn decode_header(header: [u8; 4]) -> (usize, u8) {
    (u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize, header[3])
}

/// Appends a payload as one or more packets.
fn encode(payload: &[u8], sequence: &mut u8, out: &mut Vec<u8>) {
    let mut rest = payload;
    loop {
        let (now, later) = rest.split_at(rest.len().min(PAYLOAD_MAX));
        out.extend_from_slice(&(now.len() as u32).to_le_bytes()[..3]);
        out.push(*sequence);
        *sequence = sequence.wrapping_add(1);
        out.extend_from_slice(now);
        if now.len() < PAYLOAD_MAX {
            return;
        }
        rest = later;
    }
}

/// Reads fields of a payload; every read is checked.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(payload: &'a [u8]) -> Fields<'a> {
        Fields { rest: payload }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (now, later) = self.rest.split_at_checked(n)?;
        self.rest = later;
        Some(now)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length-encoded integer.
    pub fn length(&mut self) -> Option<u64> {
        Some(match self.u8()? {
            n @ 0..=0xFA => n as u64,
            0xFC => self.u16()? as u64,
            0xFD => {
                let b = self.array::<3>()?;
                u32::from_le_bytes([b[0], b[1], b[2], 0]) as u64
            }
            0xFE => self.u64()?,
            _ => return None,
        })
    }

    /// A length-encoded string.
    pub fn length_bytes(&mut self) -> Option<&'a [u8]> {
        let n = self.length()?;
        self.bytes(usize::try_from(n).ok()?)
    }

    /// Up to a zero byte, which is taken too; the rest where there is none.
    pub fn null_bytes(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|b| *b == 0);
        let (now, later) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = later.get(1..).unwrap_or(&[]);
        now
    }

    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
}

/// Appends a length-encoded integer.
pub fn put_length(n: u64, out: &mut Vec<u8>) {
    match n {
        0..=0xFA => out.push(n as u8),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&(n as u16).to_le_bytes());
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&(n as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&n.to_le_bytes());
        }
    }
}

/// Appends a length-encoded string.
pub fn put_length_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_length(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lengths_go_both_ways(n: u64) {
            for n in [n, n & 0xFF, n & 0xFFFF, n & 0xFF_FFFF] {
                let mut out = Vec::new();
                put_length(n, &mut out);
                let mut fields = Fields::new(&out);
                prop_assert_eq!(fields.length(), Some(n));
                prop_assert!(fields.is_empty());
            }
        }

        #[test]
        fn fields_of_garbage_never_panic(bytes: Vec<u8>, script: Vec<u8>) {
            let mut fields = Fields::new(&bytes);
            for step in script {
                match step % 8 {
                    0 => { fields.u8(); }
                    1 => { fields.u16(); }
                    2 => { fields.u32(); }
                    3 => { fields.u64(); }
                    4 => { fields.length(); }
                    5 => { fields.length_bytes(); }
                    6 => { fields.null_bytes(); }
                    _ => { fields.bytes(step as usize); }
                }
            }
        }
    }

    #[test]
    fn a_payload_of_exactly_the_largest_size_ends_with_an_empty_packet() {
        let (mut out, mut sequence) = (Vec::new(), 0);
        encode(&vec![7; PAYLOAD_MAX], &mut sequence, &mut out);
        assert_eq!(sequence, 2);
        assert_eq!(out.len(), PAYLOAD_MAX + 8);
        assert_eq!(&out[out.len() - 4..], [0, 0, 0, 1]);
    }
}
