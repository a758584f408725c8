//! Weights that follow from the number of a character (UTS #10, "Implicit Weights"), in the ranges that MySQL 8.0.33
//! computes them for.

/// The version of the algorithm, which decides what is computed and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    V9_0_0,
    V5_2_0,
    /// Characters beyond U+FFFF all weigh the same.
    V4_0_0,
    /// Weights of `latin1_german2_ci`: characters that are not of the character set weigh as `?`.
    Latin1,
}

/// Weights of the second and third level of what is computed.
const LOWER_LEVELS: [u16; 3] = [0, 0x20, 0x02];

/// The weights of a character that no table has.
pub fn append(version: Version, c: char, level: usize, out: &mut Vec<u16>) {
    let code = c as u32;
    if level > 0 {
        return out.extend(LOWER_LEVELS.get(level));
    }
    let base = match (version, code) {
        (Version::Latin1, _) => return out.push(u16::from(b'?')),
        (Version::V4_0_0, 0x10000..) => return out.push(0xFFFD),
        (Version::V9_0_0, 0x17000..=0x18AFF) => return out.extend([0xFB00, (code - 0x17000) as u16 | 0x8000]),
        (_, 0x3400..=0x4DB5) => 0xFB80,
        (Version::V9_0_0, 0x20000..=0x2A6D6 | 0x2A700..=0x2B734 | 0x2B740..=0x2B81D | 0x2B820..=0x2CEA1) => 0xFB80,
        (Version::V9_0_0, 0x4E00..=0x9FD5) | (_, 0x4E00..=0x9FA5 | 0xFA0E..=0xFA29) => 0xFB40,
        _ => 0xFBC0,
    };
    out.extend([base + (code >> 15) as u16, code as u16 & 0x7FFF | 0x8000]);
}

/// The letters that a syllable of Hangul is written with, which UCA 9.0.0 weighs in its place.
pub fn hangul_letters(version: Version, c: char) -> Option<impl Iterator<Item = char>> {
    let place = (c as u32).checked_sub(0xAC00).filter(|place| *place < 11_172 && version == Version::V9_0_0)?;
    let last = place % 28;
    let letters = [0x1100 + place / 588, 0x1161 + place % 588 / 28, 0x11A7 + last];
    Some(letters.into_iter().take(if last == 0 { 2 } else { 3 }).filter_map(char::from_u32))
}
