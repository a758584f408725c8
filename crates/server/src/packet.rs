//! A connection, packet by packet.

use crate::{ConnectionError, stream::Stream};
use muster_protocol::packet::{self, PacketError};
use muster_types::{ErrorCode, SqlError};
use tokio::io::AsyncWriteExt;

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

    /// The next payload. Errors: `Closed` at the end of the stream, `Refused` (1153) when it is too large or packets are
    /// out of order.
    pub async fn read(&mut self) -> Result<Vec<u8>, ConnectionError> {
        Ok(packet::read(&mut self.stream, &mut self.sequence, self.max_payload).await?)
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
