//! What a statement may still have, with a warning: parts of a column definition (MySQL 8.0's manual 13.1.1, 13.1.6,
//! 13.3.1), and the character set of three bytes a character (12.9.2).

use muster_types::{Collation, ErrorCode, SqlError, charset::Charset};
use std::borrow::Cow;

/// The warning for a character set that a statement names: 3719 for `utf8`, 1287 for `utf8mb3`.
pub fn deprecated_charset(name: &str) -> Option<SqlError> {
    DeprecatedPart::of_charset(name).map(|part| part.warning())
}

/// The warning 3778 for a collation of utf8mb3 that a definition or a SET statement names.
pub fn deprecated_collation(name: &str) -> Option<SqlError> {
    DeprecatedPart::of_collation(name).map(|part| part.warning())
}

/// A part of a column definition that a later MySQL will not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeprecatedPart {
    /// `INT(11)`
    DisplayWidth,
    Zerofill,
    /// UNSIGNED of a DECIMAL, FLOAT or DOUBLE.
    UnsignedFraction,
    /// `FLOAT(7,2)`
    FloatDigits,
    /// `VARCHAR(10) BINARY`
    BinaryAttribute,
    /// `NCHAR(10)`
    National,
    /// `YEAR(4)`
    YearWidth,
    /// `CHAR(10) ASCII`
    Ascii,
    /// `CHAR(10) UNICODE`
    Unicode,
    /// `CHARACTER SET utf8`
    Utf8,
    /// `CHARACTER SET utf8mb3`
    Utf8mb3,
    /// `COLLATE utf8mb3_bin`
    Utf8mb3Collation(Collation),
}

impl DeprecatedPart {
    /// What a character set of this name is.
    pub fn of_charset(name: &str) -> Option<DeprecatedPart> {
        match name.to_ascii_lowercase().as_str() {
            "utf8" => Some(DeprecatedPart::Utf8),
            "utf8mb3" => Some(DeprecatedPart::Utf8mb3),
            _ => None,
        }
    }

    /// What a collation of this name is.
    pub fn of_collation(name: &str) -> Option<DeprecatedPart> {
        let collation = Collation::from_name(name).filter(|known| known.character_set() == Charset::Utf8mb3)?;
        Some(DeprecatedPart::Utf8mb3Collation(collation))
    }

    /// The warning: 1287, 1681, 3719, 3720 or 3778.
    pub fn warning(self) -> SqlError {
        let code = match self {
            DeprecatedPart::DisplayWidth
            | DeprecatedPart::Zerofill
            | DeprecatedPart::UnsignedFraction
            | DeprecatedPart::FloatDigits => ErrorCode::DeprecatedWithoutReplacement,
            DeprecatedPart::BinaryAttribute
            | DeprecatedPart::YearWidth
            | DeprecatedPart::Ascii
            | DeprecatedPart::Unicode
            | DeprecatedPart::Utf8mb3 => ErrorCode::DeprecatedSyntax,
            DeprecatedPart::National => ErrorCode::DeprecatedNational,
            DeprecatedPart::Utf8 => ErrorCode::DeprecatedUtf8Alias,
            DeprecatedPart::Utf8mb3Collation(_) => ErrorCode::DeprecatedCollation,
        };
        SqlError::new(code, self.message())
    }

    fn message(self) -> Cow<'static, str> {
        let fixed = match self {
            DeprecatedPart::DisplayWidth => {
                "Integer display width is deprecated and will be removed in a future release."
            }
            DeprecatedPart::Zerofill => {
                "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD function \
                 to zero-pad numbers, or store the formatted numbers in a CHAR column."
            }
            DeprecatedPart::UnsignedFraction => {
                "UNSIGNED for decimal and floating point data types is deprecated and support for it will be removed \
                 in a future release."
            }
            DeprecatedPart::FloatDigits => {
                "Specifying number of digits for floating point data types is deprecated and will be removed in a \
                 future release."
            }
            DeprecatedPart::BinaryAttribute => {
                "'BINARY as attribute of a type' is deprecated and will be removed in a future release. Please use a \
                 CHARACTER SET clause with _bin collation instead"
            }
            DeprecatedPart::National => {
                "NATIONAL/NCHAR/NVARCHAR implies the character set UTF8MB3, which will be replaced by UTF8MB4 in a \
                 future release. Please consider using CHAR(x) CHARACTER SET UTF8MB4 in order to be unambiguous."
            }
            DeprecatedPart::YearWidth => {
                "'YEAR(4)' is deprecated and will be removed in a future release. Please use YEAR instead"
            }
            DeprecatedPart::Ascii => {
                "'ASCII' is deprecated and will be removed in a future release. Please use CHARACTER SET charset_name \
                 instead"
            }
            DeprecatedPart::Unicode => {
                "'UNICODE' is deprecated and will be removed in a future release. Please use CHARACTER SET \
                 charset_name instead"
            }
            DeprecatedPart::Utf8 => {
                "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a \
                 future release. Please consider using UTF8MB4 in order to be unambiguous."
            }
            DeprecatedPart::Utf8mb3 => {
                "'utf8mb3' is deprecated and will be removed in a future release. Please use utf8mb4 instead"
            }
            DeprecatedPart::Utf8mb3Collation(collation) => {
                let name = collation.name();
                return Cow::Owned(format!(
                    "'{name}' is a collation of the deprecated character set UTF8MB3. Please consider using UTF8MB4 \
                     with an appropriate collation instead."
                ));
            }
        };
        Cow::Borrowed(fixed)
    }
}
