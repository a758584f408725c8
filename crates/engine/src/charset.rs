//! Character sets and collations as SQL names them, with MySQL's errors.

use muster_types::{Collation, ErrorCode, Result, SqlError, charset::Charset};

/// Returns true if the collation is the default of its character set.
pub fn is_default(collation: Collation) -> bool {
    collation.character_set().default_collation() == collation
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

/// A character set by name. Error 1115.
pub fn of_name(name: &str) -> Result<Charset> {
    Charset::from_name(name).ok_or_else(|| SqlError::unknown_character_set(name))
}

/// A character set that a client may speak. Errors 1115; 1231 for one whose ASCII has several bytes a character.
pub fn client_charset(name: &str) -> Result<Charset> {
    let charset = of_name(name)?;
    if charset.min_bytes() > 1 {
        let message = format!("Variable 'character_set_client' can't be set to the value of '{}'", charset.name());
        return Err(SqlError::new(ErrorCode::WrongValueForVar, message));
    }
    Ok(charset)
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
        assert_eq!(resolve(Some("koi8r"), None).unwrap(), Some(Collation::Koi8rGeneralCi));
        assert_eq!(resolve(Some("koi9"), None).unwrap_err().code.number(), 1115);
        assert_eq!(client_charset("ucs2").unwrap_err().code.number(), 1231);
        assert_eq!(resolve(None, Some("x_ci")).unwrap_err().code.number(), 1273);
    }
}
