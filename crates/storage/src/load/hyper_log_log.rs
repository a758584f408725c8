//! Number of distinct values, estimated (Flajolet et al., "HyperLogLog", 2007; small counts by linear counting).

/// Registers, as a power of two: 4096 give a standard error of 1.6 %.
const BITS: u32 = 12;
const REGISTERS: usize = 1 << BITS;

#[derive(Debug, Clone)]
pub(super) struct HyperLogLog {
    registers: Box<[u8; REGISTERS]>,
}

impl HyperLogLog {
    pub fn new() -> HyperLogLog {
        HyperLogLog { registers: Box::new([0; REGISTERS]) }
    }

    /// Adds a value by its hash, all 64 bits of which must be good.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        let register = &mut self.registers[(hash >> (64 - BITS)) as usize];
        // The guard bit ends the count of zeros behind the register's number.
        let rank = (hash << BITS | 1 << (BITS - 1)).leading_zeros() as u8 + 1;
        if rank > *register {
            *register = rank;
        }
    }

    pub fn estimate(&self) -> f64 {
        let m = REGISTERS as f64;
        let sum: f64 = self.registers.iter().map(|r| (-(*r as f64)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let zeros = self.registers.iter().filter(|r| **r == 0).count();
        if raw <= 2.5 * m && zeros > 0 { m * (m / zeros as f64).ln() } else { raw }
    }
}

/// Mixes 64 bits so that every one of the result depends on all of them (the finisher of SplitMix64, Steele et al.).
#[inline]
pub(super) fn hash_u64(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

#[inline]
pub(super) fn hash_u128(x: u128) -> u64 {
    hash_u64(x as u64 ^ hash_u64((x >> 64) as u64 ^ 0x9E37_79B9_7F4A_7C15))
}

#[inline]
pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut hash = bytes.len() as u64 ^ 0x9E37_79B9_7F4A_7C15;
    for chunk in chunks {
        let product = (hash ^ u64::from_le_bytes(*chunk)) as u128 * 0xD6E8_FEB8_6659_FD93_u128;
        hash = product as u64 ^ (product >> 64) as u64;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    hash_u64(hash ^ u64::from_le_bytes(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, hash: impl Fn(u64) -> u64) {
        let mut counter = HyperLogLog::new();
        let mut n = 0u64;
        for want in [0, 1, 2, 25, 1000, 5000, 12_000, 100_000, 1_000_000] {
            while n < want {
                counter.add(hash(n));
                counter.add(hash(n / 2));
                n += 1;
            }
            let got = counter.estimate();
            assert!((got - want as f64).abs() <= 0.06 * want as f64 + 0.5, "{name}: {got} for {want}");
        }
    }

    #[test]
    fn estimates_are_near() {
        check("u64", hash_u64);
        check("multiples", |n| hash_u64(n * 1_000_000));
        check("u128", |n| hash_u128((n as u128) << 64 | 7));
        check("text", |n| hash_bytes(format!("Customer#{n:09}").as_bytes()));
        check("long text", |n| hash_bytes(format!("{n} of a rather long text that is the same behind it").as_bytes()));
    }
}
