//! Packets: a three-byte length, a sequence number, a payload. A payload of 2^24 - 1 bytes goes on in the next packet.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Largest payload of one packet.
pub const PAYLOAD_MAX: usize = 0xFF_FFFF;

/// Why there is no payload.
#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The stream ended, between packets or within one.
    #[error("closed by the client")]
    Closed,
    #[error("Got packets out of order")]
    OutOfOrder,
    #[error("Got a packet bigger than 'max_allowed_packet' bytes")]
    TooLarge,
}

/// The next payload, of at most `max` bytes. `sequence`: the number that its first packet must have; afterwards that of
/// the packet that comes next, in either direction.
pub async fn read<R: AsyncRead + Unpin>(stream: &mut R, sequence: &mut u8, max: usize) -> Result<Vec<u8>, PacketError> {
    let mut payload = Vec::new();
    loop {
        let mut header = [0; 4];
        match stream.read_exact(&mut header).await {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Err(PacketError::Closed),
            other => other?,
        };
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        if header[3] != *sequence {
            return Err(PacketError::OutOfOrder);
        }
        *sequence = sequence.wrapping_add(1);
        if payload.len() + length > max {
            return Err(PacketError::TooLarge);
        }
        // Memory grows with what has come, not with what a header claims.
        let got = (&mut *stream).take(length as u64).read_to_end(&mut payload).await?;
        if got < length {
            return Err(PacketError::Closed);
        }
        if length < PAYLOAD_MAX {
            return Ok(payload);
        }
    }
}

/// The length of the payload that `input` begins with; `None` if there is not yet a header.
pub fn first_length(input: &[u8]) -> Option<usize> {
    let header = input.get(..4)?;
    Some(u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize)
}

/// The packet that `input` begins with, if it is there as a whole and the payload does not go on in another.
pub fn first(input: &[u8]) -> Option<&[u8]> {
    let length = first_length(input).filter(|length| *length < PAYLOAD_MAX)?;
    input.get(..4 + length)
}

/// Appends a payload as one or more packets.
pub fn write(payload: &[u8], sequence: &mut u8, out: &mut Vec<u8>) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::ready;

    #[test]
    fn a_payload_of_exactly_the_largest_size_ends_with_an_empty_packet() {
        let (mut out, mut sequence) = (Vec::new(), 0);
        write(&vec![7; PAYLOAD_MAX], &mut sequence, &mut out);
        assert_eq!(sequence, 2);
        assert_eq!(out.len(), PAYLOAD_MAX + 8);
        assert_eq!(&out[out.len() - 4..], [0, 0, 0, 1]);
        let mut sequence = 0;
        let payload = ready(read(&mut &out[..], &mut sequence, usize::MAX)).unwrap();
        assert_eq!((payload.len(), sequence), (PAYLOAD_MAX, 2));
    }

    #[test]
    fn a_packet_is_taken_when_it_is_whole() {
        let packet = [2, 0, 0, 7, 5, 6];
        assert_eq!(first(&[&packet[..], &[9, 9]].concat()), Some(&packet[..]));
        for cut in 0..packet.len() {
            assert_eq!(first(&packet[..cut]), None);
            assert_eq!(first_length(&packet[..cut]), (cut >= 4).then_some(2));
        }
        assert_eq!(first(&[&[0xFF; 4][..], &[0; 100]].concat()), None);
    }

    #[test]
    fn what_is_no_packet() {
        let read_one = |bytes: &[u8], max| ready(read(&mut &bytes[..], &mut 0, max));
        assert_eq!(read_one(&[2, 0, 0, 0, 5, 6], 2).unwrap(), [5, 6]);
        assert!(matches!(read_one(&[2, 0, 0, 0, 5, 6], 1), Err(PacketError::TooLarge)));
        assert!(matches!(read_one(&[2, 0, 0, 1, 5, 6], 2), Err(PacketError::OutOfOrder)));
        for cut in 0..6 {
            assert!(matches!(read_one(&[2, 0, 0, 0, 5, 6][..cut], 2), Err(PacketError::Closed)));
        }
    }
}
