//! Sizes on the command line: `512M`, `4G`.

use std::str::FromStr;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub usize);

impl FromStr for Size {
    type Err = String;

    /// Digits and at most one of K, M, G, T (powers of 1024, in either case).
    fn from_str(text: &str) -> Result<Size, String> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
            "" => 0,
            "K" | "KB" => 10,
            "M" | "MB" => 20,
            "G" | "GB" => 30,
            "T" | "TB" => 40,
            other => return Err(format!("unknown unit '{other}': use K, M, G or T")),
        };
        let n: usize = digits.parse().map_err(|_| format!("'{text}' is not a size such as 512M or 4G"))?;
        n.checked_mul(1 << shift).map(Size).ok_or_else(|| format!("{text} is too large"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!("4G".parse(), Ok(Size(4 << 30)));
        assert_eq!("512m".parse(), Ok(Size(512 << 20)));
        assert_eq!("100".parse(), Ok(Size(100)));
        for bad in ["", "G", "4X", "-1", "99999999999G"] {
            assert!(bad.parse::<Size>().is_err(), "{bad}");
        }
    }
}
