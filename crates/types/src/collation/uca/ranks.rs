//! Weights as bytes of sort keys.

/// ASCII in the order of UCA 9.0.0; letters stand for both cases.
const ORDER: &[u8] = b"\t\n\x0B\x0C\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz";

/// Rank of each ASCII character under `utf8mb4_0900_ai_ci`; 0: weighs nothing. A test compares them with the table.
const ASCII_RANKS: [u8; 128] = {
    let mut rank = [0; 128];
    let mut i = 0;
    while i < ORDER.len() {
        rank[ORDER[i] as usize] = 2 * (i as u8 + 1);
        rank[ORDER[i].to_ascii_uppercase() as usize] = 2 * (i as u8 + 1);
        i += 1;
    }
    rank
};

/// The rank of an ASCII character under `utf8mb4_0900_ai_ci`.
pub fn ascii(byte: u8) -> u8 {
    ASCII_RANKS[byte as usize & 0x7F]
}

/// Weights of the second and third level below this are one byte.
const SHORT_WEIGHTS: u16 = 0xFF;

/// Appends a weight of the second or third level.
pub fn push_lower_level(weight: u16, out: &mut Vec<u8>) {
    if weight >= SHORT_WEIGHTS {
        out.push(SHORT_WEIGHTS as u8);
        return out.extend(weight.to_be_bytes());
    }
    out.push(weight as u8);
}

/// The ranks of all weights of the first level in one table.
pub struct Ranks {
    of: Box<[u8]>,
}

impl Ranks {
    /// `ascii`: the weights that ASCII characters have, at most 127 different ones.
    pub fn new(mut ascii: Vec<u16>) -> Ranks {
        ascii.sort_unstable();
        ascii.dedup();
        let mut below = 0u8;
        let rank = |weight: u16| match ascii.get(usize::from(below)) {
            Some(next) if *next == weight => {
                below += 1;
                2 * below
            }
            _ => 2 * below + 1,
        };
        Ranks { of: (0..=u16::MAX).map(rank).collect() }
    }

    #[inline]
    pub fn push(&self, weight: u16, out: &mut Vec<u8>) {
        let rank = self.of[usize::from(weight)];
        out.push(rank);
        if rank & 1 == 1 {
            out.extend(weight.to_be_bytes());
        }
    }
}
