//! Addresses as text, in MySQL's forms.

use std::net::Ipv4Addr;

/// The number of an address whose parts may be fewer than four: `127.1` is 127.0.0.1. A part may be missing, but not
/// the last one.
pub fn read_short_ipv4(text: &[u8]) -> Option<u32> {
    let parts: Vec<&[u8]> = text.split(|b| *b == b'.').collect();
    let (last, first) = parts.split_last()?;
    if last.is_empty() || first.len() > 3 {
        return None;
    }
    let mut number = 0u32;
    for part in first {
        number = number << 8 | u32::from(short_part(part)?);
    }
    // The parts that are missing stand in front of the last one.
    let missing = match first.len() {
        0 => 0,
        count => 3 - count,
    };
    let number = u64::from(number) << (8 * (missing + 1)) | u64::from(short_part(last)?);
    u32::try_from(number).ok()
}

/// A number below 256 in any number of digits; 0 without one.
fn short_part(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0u8, |number, b| {
        let digit = (*b as char).to_digit(10)?;
        number.checked_mul(10)?.checked_add(digit as u8)
    })
}

/// An address of four parts of one to three digits.
pub fn read_ipv4(text: &[u8]) -> Option<[u8; 4]> {
    let mut address = [0; 4];
    let mut parts = text.split(|b| *b == b'.');
    for byte in &mut address {
        let part = parts.next().filter(|part| (1..=3).contains(&part.len()))?;
        *byte = short_part(part)?;
    }
    parts.next().is_none().then_some(address)
}

/// An address of eight groups of one to four hexadecimal digits. `::` stands for the groups of zeros that are
/// missing; an address of version 4 may stand for the last two.
pub fn read_ipv6(text: &[u8]) -> Option<[u8; 16]> {
    let text = std::str::from_utf8(text).ok()?;
    let (front, back) = match text.split_once("::") {
        Some((front, back)) => (front, Some(back)),
        None => (text, None),
    };
    let mut groups = read_groups(front, back.is_none())?;
    if let Some(back) = back {
        let back = read_groups(back, true)?;
        let missing = 8usize.checked_sub(groups.len() + back.len()).filter(|missing| *missing > 0)?;
        groups.extend(std::iter::repeat_n(0, missing));
        groups.extend(back);
    }
    let groups = <[u16; 8]>::try_from(groups).ok()?;
    let mut address = [0; 16];
    for (bytes, group) in address.as_chunks_mut::<2>().0.iter_mut().zip(groups) {
        *bytes = group.to_be_bytes();
    }
    Some(address)
}

/// Groups with colons between them. `is_end`: the last one may be an address of version 4.
fn read_groups(text: &str, is_end: bool) -> Option<Vec<u16>> {
    let mut groups = Vec::new();
    if text.is_empty() {
        return Some(groups);
    }
    let mut parts = text.split(':').peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        if is_end && is_last && part.contains('.') {
            let [a, b, c, d] = read_ipv4(part.as_bytes())?;
            groups.extend([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]);
            continue;
        }
        if !(1..=4).contains(&part.len()) || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        groups.push(u16::from_str_radix(part, 16).ok()?);
    }
    Some(groups)
}

/// An address with the longest run of groups of zeros as `::`, also if that is one group; addresses of version 4 within
/// those of version 6 as such.
pub fn printed_ipv6(address: [u8; 16]) -> String {
    let number = u128::from_be_bytes(address);
    let groups: Vec<u16> = (0..8).rev().map(|i| (number >> (16 * i)) as u16).collect();
    let (mut longest, mut at) = (0..0, 0);
    while at < groups.len() {
        let length = groups[at..].iter().take_while(|group| **group == 0).count();
        if length > longest.len() {
            longest = at..at + length;
        }
        at += length.max(1);
    }
    let is_ipv4 = longest == (0..6) || longest.start == 0 && longest.end == 5 && groups[5] == 0xFFFF;
    let (groups, ipv4) = match is_ipv4 {
        true => (&groups[..6], Some(Ipv4Addr::from(number as u32).to_string())),
        false => (&groups[..], None),
    };
    let texts = |groups: &[u16]| groups.iter().map(|group| format!("{group:x}")).collect::<Vec<_>>();
    if longest.is_empty() {
        return texts(groups).join(":");
    }
    let mut back = texts(&groups[longest.end.min(groups.len())..]);
    back.extend(ipv4);
    format!("{}::{}", texts(&groups[..longest.start]).join(":"), back.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_few_parts() {
        for (text, want) in [
            ("10.0.5.9", Some(167_773_449)),
            ("127.1", Some(2_130_706_433)),
            ("127", Some(127)),
            ("1.2.3", Some(16_908_291)),
            ("1..2", Some(16_777_218)),
            (".1", Some(1)),
            ("001.02.3.4", Some(16_909_060)),
            ("1.2.3.4.5", None),
            ("256.0.0.1", None),
            ("1.2.", None),
            ("", None),
        ] {
            assert_eq!(read_short_ipv4(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn addresses_of_version_6_lead_back() {
        for (text, want) in [
            ("fdfe::5a55:caff:fefa:9089", Some("fdfe::5a55:caff:fefa:9089")),
            ("::", Some("::")),
            ("::1", Some("::1")),
            ("::ffff:1.2.3.4", Some("::ffff:1.2.3.4")),
            ("::1.2.3.4", Some("::1.2.3.4")),
            ("1:0:0:1:0:0:0:1", Some("1:0:0:1::1")),
            ("1:0:1:1:1:1:1:1", Some("1::1:1:1:1:1:1")),
            ("1:0:0:1:0:0:1:1", Some("1::1:0:0:1:1")),
            ("::1:1", Some("::0.1.0.1")),
            ("::1234", Some("::1234")),
            ("1:1:1:1:1:1:1:0", Some("1:1:1:1:1:1:1::")),
            ("0:0:0:0:1:0:0:0", Some("::1:0:0:0")),
            ("1:2:3:4:5:6:1.2.3.4", Some("1:2:3:4:5:6:102:304")),
            ("1:2:3", None),
            ("1::2::3", None),
            ("12345::", None),
            (":1", None),
            ("1:2:3:4::5:6:7:8", None),
            ("::1%eth0", None),
        ] {
            assert_eq!(read_ipv6(text.as_bytes()).map(printed_ipv6).as_deref(), want, "{text}");
        }
    }
}
