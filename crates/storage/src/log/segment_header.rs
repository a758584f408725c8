//! The header of a segment as bytes.

use super::geometry::{Geometry, SEGMENT_HEADER};
use crate::page::{u32_at, u64_at};

const MAGIC: [u8; 8] = *b"MUSTREDO";
/// The version of a segment's format: of its header and of groups. What records there are is the checkpoint's version.
const LOG_VERSION: u32 = 2;

/// The values that all segments of a log have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentFormat {
    pub geometry: Geometry,
    /// Bytes of a page of the data directory.
    pub page_size: u32,
    /// The random number by which the directory is known.
    pub identity: u64,
}

impl SegmentFormat {
    /// The header of a segment.
    pub fn header(self, number: u64) -> [u8; SEGMENT_HEADER as usize] {
        let mut bytes = [0; SEGMENT_HEADER as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[12..16].copy_from_slice(&LOG_VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&number.to_le_bytes());
        bytes[24..28].copy_from_slice(&(self.geometry.segment_bytes() as u32).to_le_bytes());
        bytes[28..32].copy_from_slice(&self.page_size.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.identity.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Checks the header of a segment. Errors: why it is not the one that is expected.
    pub fn check(self, bytes: &[u8; SEGMENT_HEADER as usize], number: u64) -> Result<(), String> {
        if bytes[..8] != MAGIC {
            return Err("not a segment of a log".to_string());
        }
        if u32_at(bytes, 8) != crc32c::crc32c(&bytes[12..]) {
            return Err("the segment's header has a wrong checksum".to_string());
        }
        let version = u32_at(bytes, 12);
        if version != LOG_VERSION {
            return Err(format!("the segment has format {version}, this build reads {LOG_VERSION}"));
        }
        if u64_at(bytes, 32) != self.identity {
            return Err("the segment belongs to another data directory".to_string());
        }
        if u64_at(bytes, 16) != number {
            return Err(format!("the segment says that it is number {}, not {number}", u64_at(bytes, 16)));
        }
        if *bytes != self.header(number) {
            return Err("the segment's sizes are not those of the log".to_string());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::geometry::SEGMENT_MIN;
    use proptest::prelude::*;

    fn format() -> SegmentFormat {
        let geometry = Geometry::new(SEGMENT_MIN).unwrap();
        SegmentFormat { geometry, page_size: 4096, identity: 77 }
    }

    #[test]
    fn a_header_is_that_of_its_segment_and_directory() {
        let header = format().header(5);
        assert_eq!(format().check(&header, 5), Ok(()));
        assert_eq!((u64_at(&header, 16), u32_at(&header, 24), u32_at(&header, 28)), (5, SEGMENT_MIN as u32, 4096));
        let reason = |format: SegmentFormat, number| format.check(&header, number).unwrap_err();
        assert_eq!(reason(format(), 6), "the segment says that it is number 5, not 6");
        let other = SegmentFormat { identity: 78, ..format() };
        assert_eq!(reason(other, 5), "the segment belongs to another data directory");
        let other = SegmentFormat { page_size: 8192, ..format() };
        assert_eq!(reason(other, 5), "the segment's sizes are not those of the log");
        assert_eq!(format().check(&[0; 512], 5).unwrap_err(), "not a segment of a log");
    }

    proptest! {
        #[test]
        fn any_changed_bit_is_found(bit in 0usize..8 * 512) {
            let mut header = format().header(5);
            header[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(format().check(&header, 5).is_err());
        }
    }
}
