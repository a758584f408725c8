//! Numbers and strings in a payload.

/// Reads fields of a payload; every read is checked.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(payload: &'a [u8]) -> Fields<'a> {
        Fields { rest: payload }
    }

    /// Bytes left.
    pub fn len(&self) -> usize {
        self.rest.len()
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
    }
}
