//! Looks over an Arrow IPC file before it is read: no length in it may reach beyond the file, for the reader would ask
//! for the memory first.

use arrow_ipc::{reader::read_footer_length, root_as_footer, root_as_message};
use std::io::{self, Read, Seek, SeekFrom};

/// The bytes in front of a message's length in all but the oldest streams.
const CONTINUATION: [u8; 4] = [0xFF; 4];
/// Footer length and magic at the end of a file.
const TRAILER_BYTES: u64 = 10;

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not an Arrow IPC file, or damaged: {what}"))
}

/// Checks the blocks that the footer names.
pub(super) fn check_file(file: &mut (impl Read + Seek)) -> io::Result<()> {
    let bytes = file.seek(SeekFrom::End(0))?;
    if bytes < TRAILER_BYTES {
        return Err(broken("it is too short"));
    }
    file.seek(SeekFrom::Start(bytes - TRAILER_BYTES))?;
    let mut trailer = [0; TRAILER_BYTES as usize];
    file.read_exact(&mut trailer)?;
    let footer_bytes = read_footer_length(trailer).map_err(|e| broken(&e.to_string()))? as u64;
    let start = (bytes - TRAILER_BYTES).checked_sub(footer_bytes).ok_or_else(|| broken("no room for the footer"))?;
    file.seek(SeekFrom::Start(start))?;
    let mut footer = vec![0; footer_bytes as usize];
    file.read_exact(&mut footer)?;
    let footer = root_as_footer(&footer).map_err(|e| broken(&e.to_string()))?;
    let blocks = footer.recordBatches().into_iter().flatten().chain(footer.dictionaries().into_iter().flatten());
    for block in blocks {
        let end = u64::try_from(block.offset()).ok().and_then(|offset| {
            let metadata = u64::try_from(block.metaDataLength()).ok()?;
            offset.checked_add(metadata)?.checked_add(u64::try_from(block.bodyLength()).ok()?)
        });
        if end.is_none_or(|end| end > bytes) {
            return Err(broken("a block reaches beyond the file"));
        }
    }
    Ok(())
}

/// Checks every message of a stream.
pub(super) fn check_stream(file: &mut (impl Read + Seek)) -> io::Result<()> {
    let bytes = file.seek(SeekFrom::End(0))?;
    let mut at = 0;
    // Each message takes bytes of the file, so this ends.
    while at < bytes {
        file.seek(SeekFrom::Start(at))?;
        let mut length = [0; 4];
        file.read_exact(&mut length)?;
        at += 4;
        if length == CONTINUATION {
            file.read_exact(&mut length)?;
            at += 4;
        }
        let length = u64::try_from(i32::from_le_bytes(length)).map_err(|_| broken("a negative length"))?;
        if length == 0 {
            break;
        }
        if length > bytes - at {
            return Err(broken("a message reaches beyond the file"));
        }
        let mut message = vec![0; length as usize];
        file.read_exact(&mut message)?;
        let body = root_as_message(&message).map_err(|e| broken(&e.to_string()))?.bodyLength();
        at += length;
        match u64::try_from(body) {
            Ok(body) if body <= bytes - at => at += body,
            _ => return Err(broken("a message's body reaches beyond the file")),
        }
    }
    Ok(())
}
