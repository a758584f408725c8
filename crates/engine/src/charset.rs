//! Character sets and collations as SQL names them, with MySQL's errors.

use muster_types::{Collation, ErrorCode, Result, SqlError};

/// Name, description, default collation, bytes of the longest character.
pub const CHARSETS: [(&str, &str, &str, u64); 3] = [
    ("binary", "Binary pseudo charset", "binary", 1),
    ("latin1", "cp1252 West European", "latin1_swedish_ci", 1),
    ("utf8mb4", "UTF-8 Unicode", "utf8mb4_0900_ai_ci", 4),
];

/// Whether the collation is the default of its character set.
pub fn is_default(collation: Collation) -> bool {
    Collation::default_of_charset(collation.charset()) == Some(collation)
}

/// Bytes of the longest character.
pub fn max_bytes(collation: Collation) -> u64 {
    u64::from(collation.charset_max_bytes())
}

/// Error 1273 for one that is not known.
pub fn collation(name: &str) -> Result<Collation> {
    Collation::from_name(name)
        .ok_or_else(|| SqlError::new(ErrorCode::UnknownCollation, format!("Unknown collation: '{name}'")))
}

/// The default collation of a character set; error 1115 for one that is not known.
pub fn default_of(charset: &str) -> Result<Collation> {
    Collation::default_of_charset(charset)
        .ok_or_else(|| SqlError::new(ErrorCode::UnknownCharacterSet, format!("Unknown character set: '{charset}'")))
}

/// What `CHARACTER SET c COLLATE l` means; `None` without either. Error 1253 when they do not belong together.
pub fn resolve(charset: Option<&str>, collation_name: Option<&str>) -> Result<Option<Collation>> {
    let by_name = collation_name.map(collation).transpose()?;
    let Some(charset) = charset else { return Ok(by_name) };
    let default = default_of(charset)?;
    match by_name {
        Some(c) if c.charset() != default.charset() => {
            let message = format!("COLLATION '{}' is not valid for CHARACTER SET '{}'", c.name(), default.charset());
            Err(SqlError::new(ErrorCode::CollationCharsetMismatch, message))
        }
        Some(c) => Ok(Some(c)),
        None => Ok(Some(default)),
    }
}

/// Character sets that a client may speak, also some that no column can have.
pub fn client_charset(name: &str) -> Result<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "utf8mb4" => Ok("utf8mb4"),
        "utf8" | "utf8mb3" => Ok("utf8mb3"),
        "binary" => Ok("binary"),
        "latin1" => Ok("latin1"),
        "ascii" => Ok("ascii"),
        _ => Err(SqlError::new(ErrorCode::UnknownCharacterSet, format!("Unknown character set: '{name}'"))),
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
