//! The header of small files: what kind of file it is, and a checksum of its content.
//!
//! ```text
//!   0  magic            8 bytes, names the kind of file
//!   8  format version   u32, little-endian
//!  12  CRC32C           u32, over everything behind it
//!  16  length           u64, of the body
//!  24  body
//! ```

use crate::page::{u32_at, u64_at};

/// Bytes before the body.
pub const HEADER_BYTES: usize = 24;
/// A body larger than this is taken for corrupt before memory is asked for.
pub const BODY_BYTES_MAX: u64 = 1 << 30;

/// A kind of file, in one version of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKind {
    pub magic: [u8; 8],
    pub version: u32,
}

/// The bytes of a file with this body.
pub fn seal(kind: FileKind, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
    bytes.extend_from_slice(&kind.magic);
    bytes.extend_from_slice(&kind.version.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(body);
    let checksum = crc32c::crc32c(&bytes[16..]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The body of a file, and the version of its format. The kind has the highest version that the caller reads. Errors:
/// why the file is not as it was written.
pub fn open(bytes: &[u8], kind: FileKind) -> Result<(u32, &[u8]), String> {
    if bytes.len() < HEADER_BYTES {
        return Err(format!("truncated at {} bytes", bytes.len()));
    }
    let (header, body) = bytes.split_at(HEADER_BYTES);
    if header[..8] != kind.magic {
        return Err("not a file of Muster of this kind".to_string());
    }
    let version = u32_at(header, 8);
    if version > kind.version {
        let supported = kind.version;
        return Err(format!("written by a newer version (format {version}, this build reads up to {supported})"));
    }
    let length = u64_at(header, 16);
    if length > BODY_BYTES_MAX || length != body.len() as u64 {
        return Err(format!("{} bytes of content where {length} were written", body.len()));
    }
    if crc32c::crc32c(&bytes[16..]) != u32_at(header, 12) {
        return Err("wrong checksum".to_string());
    }
    Ok((version, body))
}

/// The kind that a file says it is of; `None` if it is too short for that.
pub(crate) fn kind_of(bytes: &[u8]) -> Option<FileKind> {
    let header = bytes.get(..HEADER_BYTES)?;
    Some(FileKind { magic: *header.first_chunk()?, version: u32_at(header, 8) })
}
