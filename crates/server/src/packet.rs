//! A connection, packet by packet.

use crate::{ConnectionError, stream::Stream};
use muster_protocol::packet::{self, PacketError};
use muster_types::{ErrorCode, SqlError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Bytes gathered before they are sent.
const SEND_BYTES: usize = 128 * 1024;

/// Bytes that one read asks for. Longer packets are read for themselves.
const READ_BYTES: usize = 4096;
/// Bytes before a payload.
const HEADER_BYTES: usize = 4;

/// One end of a connection, packet by packet.
pub struct PacketStream {
    stream: Stream,
    /// Sequence number of the next packet, in either direction.
    sequence: u8,
    out: Vec<u8>,
    /// What has been read and not yet taken, from `taken` on. Nothing is read ahead before TLS may begin.
    input: Vec<u8>,
    taken: usize,
    reads_ahead: bool,
    /// Largest payload accepted (`max_allowed_packet`).
    pub max_payload: usize,
}

impl PacketStream {
    pub fn new(stream: Stream) -> PacketStream {
        PacketStream {
            stream,
            sequence: 0,
            out: Vec::new(),
            input: Vec::new(),
            taken: 0,
            reads_ahead: false,
            max_payload: 64 << 20,
        }
    }

    /// Every command starts counting anew.
    pub fn start_command(&mut self) {
        self.sequence = 0;
    }

    /// Returns true if nobody on the way can read what is sent.
    pub fn is_secure(&self) -> bool {
        self.stream.is_secure()
    }

    /// Name of the TLS cipher; `None` in the clear.
    pub fn cipher(&self) -> Option<String> {
        self.stream.cipher()
    }

    /// Replaces the transport (the TLS handshake after an SSL request).
    pub async fn upgrade(self, acceptor: &tokio_rustls::TlsAcceptor) -> Result<PacketStream, ConnectionError> {
        Ok(PacketStream { stream: self.stream.upgrade(acceptor).await?, ..self })
    }

    /// The next payload. Errors: `Closed` at the end of the stream, `Refused` (1153) when it is too large or packets
    /// are out of order.
    pub async fn read(&mut self) -> Result<Vec<u8>, ConnectionError> {
        if !self.reads_ahead {
            return Ok(packet::read(&mut self.stream, &mut self.sequence, self.max_payload).await?);
        }
        loop {
            let input = &self.input[self.taken..];
            if let Some(payload) = packet::first(input) {
                let payload = packet::read(&mut &*payload, &mut self.sequence, self.max_payload).await?;
                self.taken += HEADER_BYTES + payload.len();
                return Ok(payload);
            }
            if packet::first_length(input).is_some_and(|length| length > READ_BYTES / 2) {
                let mut rest = input.chain(&mut self.stream);
                let payload = packet::read(&mut rest, &mut self.sequence, self.max_payload).await?;
                self.input.clear();
                self.taken = 0;
                return Ok(payload);
            }
            self.input.drain(..self.taken);
            self.taken = 0;
            self.input.reserve(READ_BYTES);
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Err(ConnectionError::Closed);
            }
        }
    }

    /// From now on one read of the stream may bring more than one packet.
    pub fn read_ahead(&mut self) {
        self.reads_ahead = true;
    }

    /// The number of the next packet.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Queues whole packets, whose numbers begin with the next one and end before `sequence`.
    pub fn write_packets(&mut self, packets: &[u8], sequence: u8) {
        self.out.extend_from_slice(packets);
        self.sequence = sequence;
    }

    /// Queues a payload; sent when enough has gathered, or by [`PacketStream::flush`].
    pub async fn write(&mut self, payload: &[u8]) -> Result<(), ConnectionError> {
        packet::write(payload, &mut self.sequence, &mut self.out);
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

impl From<PacketError> for ConnectionError {
    fn from(e: PacketError) -> Self {
        let code = match e {
            PacketError::Io(e) => return ConnectionError::Io(e),
            PacketError::Closed => return ConnectionError::Closed,
            PacketError::OutOfOrder => ErrorCode::HandshakeError,
            PacketError::TooLarge => ErrorCode::NetPacketTooLarge,
        };
        ConnectionError::Refused(SqlError::new(code, e.to_string()))
    }
}
