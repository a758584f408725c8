//! LOAD DATA LOCAL: the engine asks for a file from a blocking thread; the connection asks the client and passes on
//! what it sends, at the pace the engine reads.

use crate::{ConnectionError, packet::PacketStream};
use muster_engine::{InfileSource, LocalFiles};
use muster_types::{ErrorCode, Result, SqlError};
use mysql_common::{packets::LocalInfilePacket, proto::MySerialize};
use std::{
    io::{self, Read},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use tokio::sync::mpsc;

/// Packets of a file that may wait for the engine.
const PACKETS_AHEAD: usize = 4;

/// A file the engine wants, and where its bytes go.
pub struct InfileRequest {
    name: String,
    packets: mpsc::Sender<Vec<u8>>,
}

/// The engine's side: opens files of the client.
pub struct ClientFiles {
    /// True if the client said, when it logged in, that it gives files.
    pub allowed: Arc<AtomicBool>,
    pub requests: mpsc::UnboundedSender<InfileRequest>,
}

impl LocalFiles for ClientFiles {
    fn open(&self, name: &str) -> Result<InfileSource> {
        let (sender, packets) = mpsc::channel(PACKETS_AHEAD);
        let request = InfileRequest { name: name.to_string(), packets: sender };
        if !self.allowed.load(Relaxed) || self.requests.send(request).is_err() {
            let message = "Loading local data is disabled; this must be enabled on both the client and server sides";
            return Err(SqlError::new(ErrorCode::NotAllowedCommand, message));
        }
        Ok(Box::new(ClientFile { packets, packet: Vec::new(), at: 0, ended: false }))
    }
}

/// A file under way. An empty packet ends it; a closed channel means that the connection broke.
struct ClientFile {
    packets: mpsc::Receiver<Vec<u8>>,
    packet: Vec<u8>,
    at: usize,
    ended: bool,
}

impl Read for ClientFile {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.at == self.packet.len() && !self.ended {
            self.packet = self.packets.blocking_recv().ok_or(io::ErrorKind::ConnectionAborted)?;
            self.at = 0;
            self.ended = self.packet.is_empty();
        }
        let n = buf.len().min(self.packet.len() - self.at);
        buf[..n].copy_from_slice(&self.packet[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// Asks the client for the file and passes its packets on. When the engine has stopped reading, the rest is read and
/// dropped: the protocol has no way to stop the client.
pub async fn serve(packets: &mut PacketStream, request: InfileRequest) -> Result<(), ConnectionError> {
    let mut payload = Vec::new();
    LocalInfilePacket::new(request.name.as_bytes()).serialize(&mut payload);
    packets.write(&payload).await?;
    packets.flush().await?;
    loop {
        let packet = packets.read().await?;
        let last = packet.is_empty();
        let _ = request.packets.send(packet).await;
        if last {
            return Ok(());
        }
    }
}
