//! Character sets and collations as SQL names them, with MySQL's errors.

use muster_types::{Collation, Result, SqlError, charset::Charset};

/// Name, description, default collation, bytes of the longest character.
pub const CHARSETS: [(&str, &str, &str, u64); 3] = [
    ("binary", "Binary pseudo charset", "binary", 1),
    ("latin1", "cp1252 West European", "latin1_swedish_ci", 1),
    ("utf8mb4", "UTF-8 Unicode", "utf8mb4_0900_ai_ci", 4),
];

/// Returns true if the collation is the default of its character set.
pub fn is_default(collation: Collation) -> bool {
    Collation::default_of_charset(collation.charset()) == Some(collation)
}

/// Bytes of the longest character.
pub fn max_bytes(collation: Collation) -> u64 {
    u64::from(collation.charset_max_bytes())
}

/// Error 1273 for one that is not known.
pub fn collation(name: &str) -> Result<Collation> {
    Collation::from_name(name).ok_or_else(|| SqlError::unknown_collation(name))
}

/// The default collation of a character set; error 1115 for one that is not known.
fn default_of(charset: &str) -> Result<Collation> {
    Collation::default_of_charset(charset).ok_or_else(|| SqlError::unknown_character_set(charset))
}

/// The collation of `CHARACTER SET c COLLATE l`; `None` without either. Error 1253 if they do not belong together.
pub fn resolve(charset: Option<&str>, collation_name: Option<&str>) -> Result<Option<Collation>> {
    let by_name = collation_name.map(collation).transpose()?;
    let Some(charset) = charset else { return Ok(by_name) };
    let default = default_of(charset)?;
    match by_name {
        Some(c) if c.charset() != default.charset() => {
            Err(SqlError::collation_of_other_charset(c.name(), default.charset()))
        }
        Some(c) => Ok(Some(c)),
        None => Ok(Some(default)),
    }
}

/// A character set that a client may speak; some of them no column can have. Error 1115.
pub fn client_charset(name: &str) -> Result<Charset> {
    Charset::from_name(name).ok_or_else(|| SqlError::unknown_character_set(name))
}

/// The collation that a client's literals have. For the parts of UTF-8 it is the one of `utf8mb4` that compares as
/// their own default collations do.
pub fn of_client(charset: Charset) -> Collation {
    match charset {
        Charset::Utf8mb4 => Collation::Utf8mb4_0900AiCi,
        Charset::Utf8mb3 | Charset::Ascii => Collation::Utf8mb4GeneralCi,
        Charset::Latin1 => Collation::Latin1SwedishCi,
        Charset::Binary => Collation::Binary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charset_and_collation_together() {
        assert_eq!(resolve(None, None).unwrap(), None);
        assert_eq!(resolve(Some("UTF8MB4"), None).unwrap(), Some(Collation::Utf8mb4_0900AiCi));
        assert_eq!(resolve(Some("utf8mb4"), Some("utf8mb4_bin")).unwrap(), Some(Collation::Utf8mb4Bin));
        assert_eq!(resolve(None, Some("latin1_swedish_ci")).unwrap(), Some(Collation::Latin1SwedishCi));
        assert_eq!(resolve(Some("latin1"), Some("utf8mb4_bin")).unwrap_err().code.number(), 1253);
        assert_eq!(resolve(Some("koi8r"), None).unwrap_err().code.number(), 1115);
        assert_eq!(resolve(None, Some("x_ci")).unwrap_err().code.number(), 1273);
    }
}
