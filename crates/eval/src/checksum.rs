//! Checksums of bytes.

/// The polynomial of ISO 3309 (x^32 + x^26 + .. + 1), lowest power in the highest bit.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// What each value of a byte changes.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            remainder = if remainder & 1 == 1 { remainder >> 1 ^ POLYNOMIAL } else { remainder >> 1 };
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

/// The checksum that zlib, PNG and MySQL's CRC32() compute.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| sum >> 8 ^ TABLE[usize::from(sum as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_standard() {
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"a"), 3_904_355_907);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b"MySQL"), 3_259_397_556);
    }
}
